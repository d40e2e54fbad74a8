"""What an execution on Ray makes of nodes that come, go and cannot be used. Ray itself is replaced."""

from types import SimpleNamespace

import pytest

from ticketlab.core import progress
from ticketlab.core.errors import UsageError
from ticketlab.core.plugin_selection import PluginSelection
from ticketlab.executors.base import Session, Work, WorkResources

ray = pytest.importorskip("ray")
from ticketlab.executors import ray_nodes, ray_run, ray_warnings  # noqa: E402

ON_CPU, ON_GPU = WorkResources(), WorkResources(gpus=1)
HEAD, GPU = {"CPU": 4.0}, {"CPU": 4.0, "GPU": 1.0}


def node(name, has, ip="10.0.0.1"):
    return {"NodeID": name, "NodeManagerHostname": name, "NodeManagerAddress": ip, "Resources": has, "Alive": True}


class Clock:
    """A time that passes only while something sleeps."""

    def __init__(self):
        self.now = 1000.0
        self.sleeps = 0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.sleeps += 1


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (ray_run, ray_nodes, ray_warnings):
        monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def opened(tmp_path, monkeypatch, clock):
    """Open an execution on nodes that the test may change, and return both."""

    def open_(*nodes, waiting=0):
        present = {found["NodeID"]: found for found in nodes}
        monkeypatch.setattr(ray_run.ray, "nodes", lambda: list(present.values()))
        monkeypatch.setattr(ray_run.RayRun, "_deliver", lambda self: None)
        session = Session(str(tmp_path), tmp_path / "log.jsonl", None, 1, PluginSelection())
        run = ray_run.RayRun(session, print, lambda needed: {"CPU": needed.cpus, "GPU": needed.gpus}, waiting, ray_nodes.Nodes(None), None)
        run.nodes.look(now=True)
        return run, present

    return open_


def test_a_stage_waits_for_a_node_that_has_left_and_joins_again(opened):
    run, present = opened(node("head", HEAD), node("gpu", GPU))
    assert run.accepts(ON_GPU)
    del present["gpu"]
    run.nodes.look(now=True)
    assert not run.accepts(ON_GPU)
    assert run.accepts(ON_CPU)
    present["again"] = node("again", GPU)
    assert run.wait(10) is None
    assert run.accepts(ON_GPU)


def test_a_stage_that_no_usable_node_ever_had_room_for_is_refused(opened):
    run, _ = opened(node("head", HEAD), node("gpu", GPU))
    run.nodes.refuse("gpu", "it has torch 0.0.1")
    with pytest.raises(UsageError, match="no node of the Ray cluster has 1 CPUs and 1 GPUs"):
        run.accepts(ON_GPU)
    waiting, _ = opened(node("head", HEAD), waiting=1)
    assert waiting.accepts(ON_GPU)


def test_without_a_node_waiting_takes_its_time_and_warns_rarely(opened, clock, capsys):
    run, present = opened(node("gpu", GPU))
    present.clear()
    run.nodes.look(now=True)
    with progress.warnings_once():
        began = clock.now
        while clock.now < began + 25 * 60:
            assert not run.accepts(ON_GPU)
            assert run.wait(0.5) is None
    assert clock.sleeps <= 4 * (clock.now - began) + 2
    warnings = capsys.readouterr().err.splitlines()
    assert len(warnings) == 3
    assert "has 1 CPUs and 1 GPUs any more: nothing can run until one joins" in warnings[0]
    assert "any more since 10 min: nothing" in warnings[1]


@pytest.fixture
def failing(opened, monkeypatch):
    """Return a function that ends a task with an error of Ray, on a machine with two nodes of which some cannot import ticketlab."""
    run, _ = opened(node("a", HEAD), node("b", HEAD))
    submitted = []

    def submit(work):
        task = f"task {len(submitted)}"
        submitted.append(work.key)
        run._works[task], run._avoided[task] = work, run.nodes.avoided()
        return task

    def fail(task, *broken):
        def get(_):
            raise ray.exceptions.RayTaskError("run", "Traceback\nImportError: no ticketlab", ImportError(), "run", 1, "10.0.0.1")

        monkeypatch.setattr(ray_run.ray, "get", get)
        monkeypatch.setattr(ray_run.RayRun, "_submit", lambda self, work: submit(work))
        monkeypatch.setattr(ray_nodes.Nodes, "_problems", lambda self, nodes: {name: "cannot import" for name in nodes if name in broken})
        return run._outcome(task)

    return SimpleNamespace(run=run, submit=submit, fail=fail, submitted=submitted)


def test_only_the_node_that_cannot_import_is_refused_of_those_with_its_address(failing):
    first, second = (failing.submit(Work(key, key, "module:function", {})) for key in "xy")
    assert failing.fail(first, "b") is None
    assert failing.run.nodes.unsuitable == {"b"}
    assert failing.fail(second, "b") is None  # it was on the same node, which has been refused since
    assert failing.submitted == ["x", "y", "x", "y"]


def test_a_task_that_fails_on_sound_nodes_is_not_submitted_again(failing):
    outcome = failing.fail(failing.submit(Work("x", "x", "module:function", {})))
    assert outcome.error == "ImportError: no ticketlab"
    assert not failing.run.nodes.unsuitable
    failing.run.nodes.refuse("a", "it is too old")
    assert failing.fail(failing.submit(Work("y", "y", "module:function", {}))).error
