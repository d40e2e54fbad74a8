"""A killed attack loses only the examples in flight, and resumes from its file of records."""

from __future__ import annotations

import functools
import multiprocessing
import os
import random
import signal
import time

import pytest
from support.misbehaving_attack import EXAMPLES, MisbehavingAttack, attack, needs_textattack

from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.core.errors import UsageError
from ticketlab.tasks.base import Example


def wait_until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.002)


def _longer(lines, goal) -> bool:
    return lines() >= goal


@needs_textattack
@pytest.mark.parametrize(("in_flight", "workers"), [*(pytest.param(*case, marks=pytest.mark.system) for case in [(1, 1), (4, 1)]), (4, 2)])
def test_a_killed_run_loses_only_the_examples_in_flight(victim, tmp_path, in_flight, workers):
    path = tmp_path / "records.jsonl"
    examples = [Example(f"{turn}/{example.id}", (f"{example.texts[0]} naps",), example.label) for turn in range(5) for example in EXAMPLES]
    whole = attack(victim, examples, how=MisbehavingAttack())

    def lines() -> int:
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def run():
        attack(victim, examples, how=MisbehavingAttack(), records=RecordFile(path, "c"), in_flight=in_flight, workers=workers)

    for _ in range(3):
        before = lines()
        process = multiprocessing.get_context("fork").Process(target=run)
        process.start()
        wait_until(functools.partial(_longer, lines, before + random.randint(1, 7)))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert lines() > before
        with path.open("ab") as file:
            file.write(b'{"id": "half')  # as a kill in the middle of a line leaves it
    kept = len(RecordFile(path, "c"))
    assert 0 < kept < len(examples)
    before = victim.rows
    file = RecordFile(path, "c")
    assert attack(victim, examples, how=MisbehavingAttack(), records=file) == whole
    assert victim.rows > before
    assert list(RecordFile(path, "c")) == whole
    before = victim.rows
    attack(victim, examples, how=MisbehavingAttack(), records=RecordFile(path, "c"))
    assert victim.rows - before <= 1  # at most the check that the attack can be built: nothing is attacked again


@needs_textattack
def test_a_resumed_run_leaves_the_same_file_as_an_uninterrupted_one(victim, tmp_path):
    path, whole = tmp_path / "records.jsonl", tmp_path / "whole.jsonl"
    attack(victim, records=RecordFile(whole, "c"))
    attack(victim, records=RecordFile(path, "c"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:1] + lines[4:7]) + lines[7][:-9])
    attack(victim, records=RecordFile(path, "c"))
    assert path.read_bytes() == whole.read_bytes()


@needs_textattack
def test_records_of_another_configuration_are_refused(victim, tmp_path):
    attack(victim, records=RecordFile(tmp_path / "records.jsonl", "one"))
    before = (tmp_path / "records.jsonl").read_bytes()
    with pytest.raises(UsageError, match="another configuration"):
        RecordFile(tmp_path / "records.jsonl", "another")
    assert (tmp_path / "records.jsonl").read_bytes() == before
