"""The time limit of an example."""

from __future__ import annotations

import signal
import threading
import time

import pytest
from support.misbehaving_attack import TEXTS, MisbehavingAttack, attack, needs_textattack, rows

TAKING_TIME = ("good film sleeps", "good film spins", "good film backtracks")


@needs_textattack
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("text", TAKING_TIME)
def test_an_example_that_takes_too_long_is_given_up_and_the_others_continue(victim, text, workers):
    calm = attack(victim, rows("good film", *TEXTS))
    begun = time.monotonic()
    found = attack(victim, rows(text, *TEXTS), how=MisbehavingAttack(), timeout=1.0, workers=workers)
    assert time.monotonic() - begun < 30
    assert (found[0].status, found[0].message) == ("timeout", "given up after 1 seconds")
    assert found[1:] == calm[1:]


@needs_textattack
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("text", [TAKING_TIME[0], *(pytest.param(text, marks=pytest.mark.system) for text in TAKING_TIME[1:])])
def test_without_timer_signals_a_worker_that_exceeds_the_limit_is_ended_and_loses_one_example(victim, text, workers, monkeypatch):
    calm = attack(victim, rows("good film", *TEXTS))
    monkeypatch.delattr(signal, "setitimer")
    monkeypatch.delattr(signal, "SIGALRM")
    begun = time.monotonic()
    found = attack(victim, rows(text, *TEXTS), how=MisbehavingAttack(), timeout=1.0, workers=workers)
    assert time.monotonic() - begun < 30
    assert (found[0].status, found[0].message) == ("timeout", "given up after 1 seconds")
    assert found[1:] == calm[1:]


@needs_textattack
@pytest.mark.system
def test_several_examples_may_exceed_the_limit_without_timer_signals(victim, monkeypatch):
    monkeypatch.delattr(signal, "setitimer")
    texts = ["good film sleeps", "bad film", "film sleeps", "sleeps", "great music", "good film killed"]
    found = attack(victim, rows(*texts), how=MisbehavingAttack(), workers=2, timeout=0.5)
    assert [record.status for record in found if record.status in ("timeout", "error")] == ["timeout"] * 3 + ["error"]


@needs_textattack
def test_the_limit_holds_outside_the_main_thread(victim):
    found = []
    thread = threading.Thread(
        target=lambda: found.extend(attack(victim, rows("good film sleeps", *TEXTS), how=MisbehavingAttack(), timeout=1.0))
    )
    thread.start()
    thread.join(60)
    assert [record.status == "timeout" for record in found] == [True] + [False] * len(TEXTS)


@needs_textattack
def test_only_the_time_spent_on_an_example_counts(victim):
    texts = [f"{text} busy" for text in TEXTS]
    begun = time.monotonic()
    found = attack(victim, rows(*texts), how=MisbehavingAttack(), timeout=2.5)
    assert time.monotonic() - begun > 2.5
    assert {record.status for record in found} <= {"success", "failed", "skipped"}


@needs_textattack
def test_endless_recursion_is_an_error_of_its_example(victim):
    found = attack(victim, rows("good film recurses", *TEXTS), how=MisbehavingAttack())
    assert found[0].message.startswith("RecursionError")
    assert found[1:] == attack(victim, rows("good film", *TEXTS))[1:]
