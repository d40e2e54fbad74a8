"""An execution on a Ray cluster of this machine: outcomes, lost workers and nodes, nodes that differ or join late, stopping."""

import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from support.ray_cluster import claim, cluster, hide_the_token, join
from support.small_study import NOISE

from ticketlab.core import registry
from ticketlab.core.errors import UsageError
from ticketlab.core.plugin_selection import PluginSelection
from ticketlab.executors.base import Session, Work, WorkResources

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]
ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def two_nodes():
    with cluster() as started:
        join(started, "second")
        yield started


@pytest.fixture
def opened(tmp_path):
    """Open an execution; it is closed at the end of the test."""
    from ticketlab.executors.ray import Ray

    runs = []

    def open_(where, *, plugins=PluginSelection(), jobs=None, received=None, **settings):  # noqa: B008
        session = Session(str(tmp_path / "lab"), tmp_path / "log.jsonl", jobs, 1, plugins)
        run = Ray(address=where and where.address, num_cpus=1, **settings).open(session, (received if received is not None else []).append)
        runs.append(run)
        return run

    yield open_
    for run in runs:
        run.close()


def work(key, function="describe", **arguments):
    return Work(key, f"work {key}", f"support.works:{function}", arguments, WorkResources(1))


def results(run, works):
    """Return the outcomes by key. Works are started when there is room, and lost ones again."""
    left, running, found = list(works), {}, {}
    while left or running:
        while left and run.accepts(left[0].resources):
            started = left.pop(0)
            running[started.key] = started
            run.start(started)
        outcome = run.wait(1)
        if outcome is not None:
            started = running.pop(outcome.key)
            if outcome.lost:
                left.append(started)
            found.setdefault(outcome.key, []).append(outcome)
    return found


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def children():
    return {process.pid for process in psutil.Process().children(recursive=True)}


def test_works_are_answered_with_their_messages_in_order(two_nodes, opened):
    received = []
    run = opened(two_nodes, received=received)
    found = results(run, [*(work(str(n), messages=50) for n in range(6)), work("fails", "fail")])
    (failed,) = found.pop("fails")
    assert failed.error == "ValueError: the value is wrong"
    assert not failed.lost
    for key, (outcome,) in found.items():
        assert outcome.answer["threads"] == 1
        assert outcome.answer["gpus"] == ""
        messages = [message for message in received if message.key == key]
        assert [message.payload for message in messages] == list(range(50))
        assert {message.place for message in messages} == {outcome.place}


def test_no_more_are_started_than_there_are_cores_or_jobs(two_nodes, opened):
    run = opened(two_nodes)
    for key in "ab":
        assert run.accepts(WorkResources(1))
        run.start(work(key, seconds=1))
    assert not run.accepts(WorkResources(1))
    assert {run.wait().key, run.wait().key} == {"a", "b"}
    run.close()
    limited = opened(two_nodes, jobs=1)
    limited.start(work("a"))
    assert not limited.accepts(WorkResources(1))


def test_a_stage_that_no_node_has_room_for_is_refused(two_nodes, opened):
    with pytest.raises(UsageError, match="no node of the Ray cluster has 1 CPUs and 1 GPUs"):
        opened(two_nodes, num_gpus=1).accepts(WorkResources(1))


def test_the_work_of_a_killed_worker_is_lost(two_nodes, opened, tmp_path):
    run = opened(two_nodes)
    run.start(work("killed", "train", place=str(tmp_path / "pid")))
    run.start(work("other", seconds=1))
    pid = wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    os.kill(int(pid), signal.SIGKILL)
    found = {outcome.key: outcome for outcome in (run.wait(), run.wait())}
    assert found["killed"].lost
    assert found["killed"].place.split()[1] == pid
    assert "worker process has died" in found["killed"].error
    assert not found["other"].error


def test_a_node_that_joins_late_is_used_and_one_that_leaves_is_survived(opened):
    with cluster() as started:
        run = opened(started)
        run.start(work("first", seconds=5))
        assert not run.accepts(WorkResources(1))
        late = join(started, "late")
        wait_for(lambda: run.wait(5) is None and run.accepts(WorkResources(1)))
        run.start(work("second", seconds=60))
        wait_for(lambda: run.wait(0.5) is None and "second" in run._places)
        started.remove_node(late, allow_graceful=False)
        outcomes = {}
        while len(outcomes) < 2:
            if (outcome := run.wait(1)) is not None:
                outcomes[outcome.key] = outcome
        assert outcomes["second"].lost
        assert "has left the Ray cluster" in outcomes["second"].error
        assert not outcomes["first"].error
        run.close()


def test_nodes_that_differ_are_named_and_not_used(opened, tmp_path, capsys):
    with cluster() as started:
        join(started, "old", claim(tmp_path / "old", "torch", "0.0.1"))
        run = opened(started)
        warning = capsys.readouterr().err
        assert "is not used: it has torch 0.0.1 (here " in warning
        join(started, "apart", hide_the_token(tmp_path / "apart"))
        wait_for(lambda: run.wait(5) is None and len(run.nodes._present) == 3)
        found = results(run, [work(str(n), seconds=0.5) for n in range(6)])
        assert {outcome.answer["node"] for (outcome,) in found.values()} == {"head"}
        warning = capsys.readouterr().err
        assert warning.count("is not used") == 1
        assert "is not the same directory there; put it on a shared file system" in warning
        run.close()


def test_a_cluster_without_a_usable_node_is_refused(two_nodes, opened, monkeypatch):
    from ticketlab.executors import ray_driver

    here = ray_driver.package_versions.computing_versions() | {"torch": "0.0.1"}
    monkeypatch.setattr(ray_driver.package_versions, "computing_versions", lambda: here)
    with pytest.raises(UsageError, match="no node of the Ray cluster can be used"):
        opened(two_nodes)


def test_a_plugin_file_travels_and_has_the_same_version_there(two_nodes, opened, tmp_path):
    plugin = tmp_path / "some_noise.py"
    plugin.write_text(NOISE)
    known = registry.load([plugin], entry_points=False)
    version = known.version(known.get("adversary", "noise")())
    run = opened(two_nodes, plugins=PluginSelection((str(plugin),), installed=False))
    plugin.unlink()
    (outcome,) = results(run, [work("a", "version_of", kind="adversary", name="noise")])["a"]
    assert outcome.answer == version != ""


def test_closing_lets_works_write_a_checkpoint_and_ends_our_cluster(opened, tmp_path, monkeypatch):
    before = children()
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]))
    run = opened(None)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == handlers
    run.start(work("a", "train", place=str(tmp_path / "pid")))
    wait_for((tmp_path / "pid").exists)
    time.sleep(0.5)
    run.close()
    assert (tmp_path / "pid.checkpoint").exists()
    assert not list((tmp_path / "lab").iterdir())
    wait_for(lambda: not children() - before, 30)


def test_a_cluster_of_others_is_left_alone(two_nodes, opened):
    opened(two_nodes).close()
    (outcome,) = results(opened(two_nodes), [work("a")])["a"]
    assert not outcome.error


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:9", "no Ray cluster answers at 127.0.0.1:9"),
        ("127.0.0.1", "not `auto`, and not HOST:PORT"),
        ("ray://127.0.0.1:10001", "run the command on a node of the cluster"),
    ],
)
def test_an_address_without_a_cluster_is_one_line_after_seconds(tmp_path, address, message):
    from ticketlab.executors.ray import Ray

    session = Session(str(tmp_path / "lab"), tmp_path / "log.jsonl", None, 1, PluginSelection())
    began = time.monotonic()
    with pytest.raises(UsageError, match=message):
        Ray(address=address).open(session, print)
    assert time.monotonic() - began < 30
