"""The time limit of an example."""

from __future__ import annotations

import time

import pytest
from support.misbehaving_attack import TEXTS, MisbehavingAttack, attack, needs_textattack, rows


@needs_textattack
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("text", ["good film sleeps", "good film spins", "good film backtracks"])
def test_an_example_that_takes_too_long_is_given_up_and_the_others_continue(victim, text, workers):
    calm = attack(victim, rows("good film", *TEXTS))
    begun = time.monotonic()
    found = attack(victim, rows(text, *TEXTS), how=MisbehavingAttack(), timeout=1.0, workers=workers)
    assert time.monotonic() - begun < 30
    assert (found[0].status, found[0].message) == ("timeout", "given up after 1 seconds")
    assert found[1:] == calm[1:]


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
