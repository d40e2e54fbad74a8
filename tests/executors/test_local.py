"""The executor `local`: how many stages it computes at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from ticketlab.core.errors import UsageError
from ticketlab.core.plugin_selection import PluginSelection
from ticketlab.executors.base import Session
from ticketlab.executors.here import Here
from ticketlab.executors.local import Local
from ticketlab.executors.processes import Processes


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make this machine look as if it had 8 cores and some GPUs."""

    def set_up(*gpus: str) -> None:
        monkeypatch.setattr("ticketlab.executors.base.cores", lambda: 8)
        monkeypatch.setattr("ticketlab.executors.local.cores", lambda: 8)
        monkeypatch.setattr("ticketlab.executors.local.visible_gpus", lambda: list(gpus))

    return set_up


@pytest.mark.parametrize(
    ("gpus", "jobs", "setting", "expected"),
    [((), None, None, 1), ((), 3, None, 3), ((), None, 4, 4), (("0", "1"), None, None, 2), (("0", "1"), 1, None, 1), (("0",), 2, None, 2)],
)
def test_there_are_as_many_slots_as_requested_or_gpus(
    machine: Any, gpus: tuple[str, ...], jobs: int | None, setting: int | None, expected: int
) -> None:
    machine(*gpus)
    local = Local(jobs=setting)
    assert local.slots(jobs) == expected
    assert local.cpus(jobs) == 8 // expected
    assert local.shares_machines(jobs) is (expected > 1)
    session = Session("lab", Path("log.jsonl"), jobs, 1, PluginSelection())
    with local.open(session, lambda message: None) as running:
        assert isinstance(running, Here if expected == 1 else Processes)
        if isinstance(running, Processes):
            assert (running.slots, tuple(running.gpus)) == (expected, gpus)


@pytest.mark.parametrize(("setting", "available", "expected"), [(None, 5, 5), (None, None, None), (2.5, 5, 2_500_000_000)])
def test_stages_may_need_the_available_memory_unless_the_setting_says_otherwise(
    machine: Any, monkeypatch: pytest.MonkeyPatch, setting: float | None, available: int | None, expected: int | None
) -> None:
    machine()
    monkeypatch.setattr("ticketlab.executors.local.available_memory", lambda: available)
    session = Session("lab", Path("log.jsonl"), 2, 1, PluginSelection())
    with Local(memory=setting).open(session, lambda message: None) as running:
        assert isinstance(running, Processes)
        assert running.memory == expected


@pytest.mark.parametrize(
    ("jobs", "setting", "message"),
    [
        (9, None, "--jobs 9: choose between 1 and 8"),
        (None, 9, "executor.jobs = 9: choose"),
        (2, 3, "asks for 2 at a time .* and the executor for 3 .*: give one of them"),
    ],
)
def test_impossible_numbers_of_jobs_are_refused(machine: Any, jobs: int | None, setting: int | None, message: str) -> None:
    machine()
    with pytest.raises(UsageError, match=message):
        Local(jobs=setting).slots(jobs)


def test_threads_are_divided_among_the_slots(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 5)
    assert [Local().threads(jobs) for jobs in (None, 2, 8)] == [5, 2, 1]


def test_visible_gpus_are_called_as_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from ticketlab.backbone.device import visible_gpus

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert visible_gpus() == ["0", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4, GPU-1")
    assert visible_gpus() == ["4", "GPU-1"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert visible_gpus() == []
