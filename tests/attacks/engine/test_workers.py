"""Several worker processes give the same records, and one that dies loses one example."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import signal
import time
from pathlib import Path
from typing import ClassVar

import pytest
from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.engine import workers
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.core import registry
from ticketlab.core.errors import OutOfMemory, TicketlabError
from ticketlab.core.settings import build_component
from ticketlab.resources.textattack_import import installed
from ticketlab.tasks.base import Example

pytestmark = [
    pytest.mark.skipif(not installed(), reason="textattack is not installed"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are forked and looked up as Linux does"),
]

NAMES = ("negative", "positive")
WORDS = [
    "the",
    "film",
    "was",
    "good",
    "and",
    "acting",
    "great",
    "plot",
    "dull",
    "but",
    "music",
    "not",
    "bad",
    "very",
    "awful",
    "story",
    "fine",
]


def examples(count: int) -> list[Example]:
    draw = random.Random(4)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(1, 12))) for _ in range(count)]
    return [Example(f"row-{number}", (text,), draw.randint(0, 1)) for number, text in enumerate(texts)]


def attack(victim, rows, *, how=None, records=None, **more):
    records = records if records is not None else RecordFile(None, "c")
    return run_attack(how or DeepWordBug(), victim, rows, columns=("text",), label_names=NAMES, records=records, seed=3, **more)


@pytest.mark.parametrize(("in_flight", "workers"), [(64, 1), (5, 2), (64, 2), (2, 3)])
def test_records_do_not_depend_on_how_many_are_attacked_at_once(victim, in_flight, workers, tmp_path):
    rows = examples(24)
    alone, many = RecordFile(tmp_path / "alone", "c"), RecordFile(tmp_path / "many", "c")
    assert attack(victim, rows, records=alone, in_flight=1) == attack(victim, rows, records=many, in_flight=in_flight, workers=workers)
    for records in (alone, many):
        records.finish([example.id for example in rows])
    assert (tmp_path / "alone").read_bytes() == (tmp_path / "many").read_bytes()
    assert {record.status for record in many} >= {"success", "skipped"}


def test_queries_of_all_processes_are_counted_in_the_parent(victim):
    rows, before = examples(24), victim.rows
    attack(victim, rows, workers=2)
    here, everywhere = victim.rows, victim.rows_everywhere
    assert everywhere - here > len(rows)
    assert here - before <= 1  # trying the attack out
    attack(victim, rows, workers=1)
    assert victim.rows_everywhere - everywhere == victim.rows - here > len(rows)


@pytest.mark.system
def test_spawned_processes_load_the_plugins_of_this_one_and_give_the_same_records(victim, monkeypatch, own_registry):
    file = Path(__file__).parents[2] / "third_party" / "failing.py"
    monkeypatch.setattr(registry, "_current", registry.load([file], entry_points=False))
    how = build_component("attack", {"name": "failing", "word": "nothing"}, "attack")
    rows = examples(6)
    expected = attack(victim, rows, how=how)
    spawn = multiprocessing.get_context("spawn")
    monkeypatch.setattr(multiprocessing, "get_context", lambda _=None: spawn)
    before = victim.rows_everywhere
    assert attack(victim, rows, how=how, workers=2) == expected
    assert victim.rows_everywhere > before


@frozen
class Deadly(DeepWordBug):
    """Ends its process on texts that request it."""

    name: ClassVar[str] = "deadly"
    summary: ClassVar[str] = "deadly"

    def build(self, victim, resources):
        built = super().build(victim, resources)
        attack = built.attack

        def deadly(text, label):
            if "exit" in text.text:
                os._exit(7)
            if "kill" in text.text:
                os.kill(os.getpid(), signal.SIGKILL)
            return attack(text, label)

        built.attack = deadly
        return built


def test_a_process_that_dies_loses_only_the_example_that_killed_it(victim, capsys):
    rows = examples(20)
    rows[3] = Example("dies", ("exit",), 0)
    rows[12] = Example("is killed", ("kill",), 0)
    found = {record.id: record for record in attack(victim, rows, how=Deadly(), workers=2)}
    assert found["dies"].status == found["is killed"].status == "error"
    assert found["dies"].message == "the worker process died: exit code 7"
    assert found["is killed"].message == "the worker process died: SIGKILL"
    warned = "warning: a process of the attack was killed, possibly because memory ran out; if so, lower in_flight (now 10 per process) or"
    assert warned in capsys.readouterr().err
    healthy = [row for row in rows if row.id.startswith("row")]
    assert [found[row.id] for row in healthy] == attack(victim, healthy)


LOWER = r"lower in_flight \(now 10 per process\) or workers \(now 2\)"


@pytest.mark.parametrize(
    ("problem", "kind", "said"),
    [
        (OSError("no such device"), TicketlabError, "a process of the attack failed: OSError: no such device"),
        (MemoryError(), OutOfMemory, rf"there is not enough memory \(.*\); {LOWER}; finished work is kept"),
    ],
    ids=["a broken device", "no memory"],
)
def test_a_process_that_fails_outside_an_example_ends_the_run(victim, monkeypatch, problem, kind, said):
    parent = os.getpid()
    tell = type(victim).evaluating

    def broken(self):
        if os.getpid() != parent:
            raise problem
        return tell(self)

    monkeypatch.setattr(type(victim), "evaluating", broken)
    with pytest.raises(kind, match=said):
        attack(victim, examples(20), workers=2)


@pytest.mark.parametrize(
    ("number", "kind", "said"),
    [
        (errno.EAGAIN, TicketlabError, rf"process 2 of the attack cannot be started \(.*\): {LOWER}"),
        (errno.ENOMEM, OutOfMemory, rf"there is not enough memory \(.*\); {LOWER}"),
    ],
)
def test_a_process_that_cannot_be_started_is_reported_in_one_line(victim, monkeypatch, number, kind, said):
    start, begun = multiprocessing.context.ForkProcess.start, []

    def limited(process):
        if begun:
            raise OSError(number, os.strerror(number))
        begun.append(process)
        start(process)

    monkeypatch.setattr(multiprocessing.context.ForkProcess, "start", limited)
    with pytest.raises(kind, match=said):
        attack(victim, examples(20), workers=2)
    assert not begun[0].is_alive()


def test_processes_are_distributed_over_devices(victim, monkeypatch, tmp_path):
    monkeypatch.setattr(workers, "_move_to_device", lambda _, __, number: (tmp_path / str(number)).touch())
    attack(victim, examples(4), workers=2)
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1"}


def test_the_time_limit_holds_in_worker_processes(victim):
    @frozen
    class Slow(Attack):
        name: ClassVar[str] = "slow"
        summary: ClassVar[str] = "slow"

        def build(self, victim, resources):
            class Built:
                def attack(self, text, label):
                    if "sleep" in text.text:
                        time.sleep(60)
                    return DeepWordBug().build(victim, resources).attack(text, label)

            return Built()

    rows = [*examples(10), Example("slow", ("sleep",), 0)]
    found = attack(victim, rows, how=Slow(), workers=2, timeout=3.0)
    assert [record.id for record in found if record.status == "timeout"] == ["slow"]


@pytest.mark.system
@pytest.mark.parametrize("workers", [1, 2])
def test_records_are_the_same_after_kills_at_random_moments(workers, victim, tmp_path):
    rows = examples(60)
    straight, path = RecordFile(tmp_path / "straight", "c"), tmp_path / "killed"
    attack(victim, rows, records=straight, in_flight=1)
    straight.finish([row.id for row in rows])
    fork = multiprocessing.get_context("fork")

    def whole():
        records = RecordFile(path, "c")
        attack(victim, rows, records=records, in_flight=4, workers=workers)
        records.finish([row.id for row in rows])

    draw = random.Random(workers)
    for _ in range(10):
        held = lines(path)
        process = fork.Process(target=whole)
        process.start()
        goal = min(held + draw.randint(0, 6), 58)
        while lines(path) < goal and process.is_alive():
            time.sleep(0.001)
        time.sleep(draw.random() * 0.05)
        process.kill()
        process.join()
        with path.open("ab") as file:  # as a kill in the middle of a line leaves it
            file.write(b'{"id": "row-')
    whole()
    assert path.read_bytes() == (tmp_path / "straight").read_bytes()
    assert "error" not in {record.status for record in straight}


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_worker_processes_end_when_their_parent_is_killed(victim, tmp_path):
    fork = multiprocessing.get_context("fork")

    @frozen
    class Telling(Attack):
        name: ClassVar[str] = "telling"
        summary: ClassVar[str] = "telling"

        def build(self, victim, resources):
            (tmp_path / str(os.getpid())).touch()
            return DeepWordBug().build(victim, resources)

    process = fork.Process(target=lambda: attack(victim, examples(500), how=Telling(), workers=2, in_flight=2))
    process.start()
    while len(list(tmp_path.iterdir())) < 3:
        time.sleep(0.01)
    process.kill()
    process.join()
    children = [int(file.name) for file in tmp_path.iterdir() if int(file.name) != process.pid]
    begin = time.monotonic()
    while any(alive(child) for child in children):
        assert time.monotonic() - begin < 60
        time.sleep(0.05)


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
