from __future__ import annotations

import json

import pytest

from ticketlab.attacks.metrics import Share, measure
from ticketlab.attacks.records import Record


def records(*rows):
    for number, (status, queries, changed, total) in enumerate(rows):
        yield Record(id=str(number), status=status, original=["x"], label="a", queries=queries, words_changed=changed, words_total=total)


MIXED = (
    ("success", 10, 1, 4),
    ("success", 20, 3, 4),
    ("failed", 30, 5, 8),
    ("skipped", 1, 0, 3),
    ("skipped", 1, 0, 3),
    ("error", 0, 0, 0),
    ("timeout", 0, 0, 0),
)


def test_numbers_are_textattacks():
    found = measure(records(*MIXED))
    assert (found.n, found.successes, found.failures, found.skipped, found.errors, found.timeouts) == (5, 2, 1, 2, 1, 1)
    assert found.clean == Share(3, 5)
    assert found.aua == Share(1, 5)
    assert found.suc == Share(2, 3)
    assert found.queries == 20.0
    assert found.words_changed == 0.5


@pytest.mark.parametrize(
    ("rows", "clean", "aua", "suc", "queries", "changed"),
    [
        pytest.param([], None, None, None, None, None, id="nothing"),
        pytest.param([("error", 0, 0, 0)], None, None, None, None, None, id="all errors"),
        pytest.param([("skipped", 1, 0, 2)], 0.0, 0.0, None, None, None, id="all skipped"),
        pytest.param([("failed", 7, 0, 2)], 1.0, 1.0, 0.0, 7.0, None, id="all held"),
        pytest.param([("success", 4, 1, 0)], 1.0, 0.0, 1.0, 4.0, None, id="success on no words"),
    ],
)
def test_means_over_nothing_are_none(rows, clean, aua, suc, queries, changed):
    found = measure(records(*rows))
    assert (found.clean.value, found.aua.value, found.suc.value, found.queries, found.words_changed) == (clean, aua, suc, queries, changed)
    json.dumps(found.to_table(), allow_nan=False)


def test_a_share_knows_its_interval_and_is_none_over_nothing():
    assert Share(81, 263).interval == pytest.approx((0.255289, 0.366210), abs=1e-5)
    assert (Share(0, 0).value, Share(0, 0).interval) == (None, None)


def test_the_table_carries_numerators_denominators_and_intervals():
    table = measure(records(*MIXED)).to_table()
    assert table["aua"] == 0.2
    assert table["aua_of"]["count"] == 1
    assert table["aua_of"]["total"] == 5
    assert table["clean_of"]["interval"] == pytest.approx([0.230724, 0.882379], abs=1e-5)
