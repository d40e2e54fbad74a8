"""Workers that die, hang or raise lose only the example that caused it."""

from __future__ import annotations

import multiprocessing
import re
import time

import pytest
from support.misbehaving_attack import TEXTS, MisbehavingAttack, attack, needs_textattack, rows


@needs_textattack
def test_workers_on_the_cpu_give_the_same_records(victim):
    assert attack(victim, workers=2) == attack(victim)


@needs_textattack
@pytest.mark.parametrize("in_flight", [1, 64])
@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("good film exits", "exit code 3"),
        ("good film exits quietly", "exit code"),
        ("good film killed", "SIGKILL"),
    ],
)
def test_a_worker_that_dies_loses_only_the_example_that_killed_it(victim, text, how, in_flight):
    calm = attack(victim, rows("good film", *TEXTS))
    begun = time.monotonic()
    found = attack(victim, rows(text, *TEXTS), how=MisbehavingAttack(), workers=2, in_flight=in_flight)
    assert time.monotonic() - begun < 60
    assert (found[0].status, found[0].original) == ("error", (text,))
    assert how in found[0].message
    assert found[1:] == calm[1:]


@needs_textattack
def test_all_workers_may_die_repeatedly(victim):
    texts = ["good film exits", "bad film", "killed film", "exits", "great music", "killed killed"]
    found = attack(victim, rows(*texts), how=MisbehavingAttack(), workers=3)
    assert [record.status == "error" for record in found] == [True, False, True, True, False, True]


@needs_textattack
def test_an_example_that_hangs_in_a_worker_times_out(victim):
    begun = time.monotonic()
    found = attack(victim, rows("good film sleeps", *TEXTS[:4]), how=MisbehavingAttack(), workers=2, timeout=1.0)
    assert time.monotonic() - begun < 30
    assert [record.status == "timeout" for record in found] == [True, False, False, False, False]


@needs_textattack
@pytest.mark.parametrize("text", ["good film raises", "good film recurses"])
def test_an_exception_in_a_worker_is_an_error_of_its_example(victim, text):
    found = attack(victim, rows(text, *TEXTS[:4]), how=MisbehavingAttack(), workers=2)
    assert [record.status == "error" for record in found] == [True, False, False, False, False]
    assert re.match(r"RuntimeError: broken attack|RecursionError", found[0].message)


@needs_textattack
def test_no_worker_process_is_left_running(victim):
    before = multiprocessing.active_children()
    attack(victim, rows("good film killed", *TEXTS), how=MisbehavingAttack(), workers=2)
    assert multiprocessing.active_children() == before
