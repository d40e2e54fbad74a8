"""The settings of the executor `ray`, which need no cluster."""

import pytest
import torch

from ticketlab.core.errors import UsageError
from ticketlab.executors import base
from ticketlab.executors import ray as ray_executor
from ticketlab.executors.base import WorkResources
from ticketlab.executors.ray import Ray
from ticketlab.studies.study import build_executor


@pytest.fixture
def four_threads(monkeypatch):
    monkeypatch.setattr(ray_executor, "find_spec", lambda name: object())
    monkeypatch.setattr(base, "cores", lambda: 8)
    torch.set_num_threads(4)  # the fixture for all tests restores them


def test_without_the_package_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(ray_executor, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r'pip install "ticketlab\[ray\]"'):
        build_executor("ray")


@pytest.mark.parametrize(
    ("settings", "jobs", "cpus", "threads"),
    [
        ({}, None, 8, 4),
        ({}, 2, 4, 2),
        ({"address": "auto"}, 2, 4, 4),
        ({"num_cpus": 3}, 2, 3, 3),
        ({"address": "auto", "num_cpus": 3}, None, 3, 3),
    ],
    ids=["a cluster of its own", "and two stages at a time", "another cluster", "cores of a stage", "and another cluster"],
)
def test_jobs_divide_the_threads_of_this_machine_only(four_threads, settings, jobs, cpus, threads):
    executor = Ray(**settings)
    assert (executor.cpus(jobs), executor.threads(jobs)) == (cpus, threads)


@pytest.mark.parametrize(
    ("settings", "needs"),
    [
        ({}, {"CPU": 2, "GPU": 1, "memory": 5}),
        ({"num_cpus": 4, "num_gpus": 0.5, "memory": 1.5}, {"CPU": 4, "GPU": 0.5, "memory": 1_500_000_000}),
        ({"num_gpus": 0}, {"CPU": 2, "GPU": 0, "memory": 5}),
    ],
    ids=["as estimated", "as set", "no GPU"],
)
def test_settings_replace_the_estimated_needs(four_threads, settings, needs):
    assert Ray(**settings).needs(WorkResources(2, 1, 5)) == needs
