"""The sentence about the intervals of single models."""

from types import SimpleNamespace

import pytest

from ticketlab.core.intervals import wilson
from ticketlab.report.overlap import EVIDENCE, overlap_notes
from ticketlab.report.statistics import Measure


def rows(values, kind="attack"):
    """Return a row for each label; of 100 examples, whose 95 % Wilson intervals are 40 to 60, 13 to 29 and 71 to 87 % at 0.5, 0.2, 0.8."""
    measures = {label: None if value is None else Measure(value, None, wilson(value, 100), 100) for label, value in values.items()}
    found = []
    for label, measure in measures.items():
        attacks = [SimpleNamespace(name="deepwordbug", label="", aua=measure)] if kind == "attack" else []
        challenges = [SimpleNamespace(name="hans", accuracy=measure)] if kind == "ood" else []
        found.append(SimpleNamespace(label=label, attacks=attacks, challenges=challenges))
    return found


@pytest.mark.parametrize(
    ("values", "end"),
    [
        ({"full": 0.2, "ticket": 0.5}, "40 to 60 %, is above that of the full."),
        ({"full": 0.8, "ticket": 0.5}, "40 to 60 %, is below that of the full."),
        (
            {"full": 0.45, "ticket": 0.5},
            "40 to 60 %, overlaps with that of the full: where intervals overlap, this run does not show a difference.",
        ),
        (
            {"full": 0.45, "random": 0.2, "ticket": 0.5},
            "40 to 60 %, is above that of the random and overlaps with that of the full: where intervals overlap, this run does not show "
            "a difference.",
        ),
    ],
)
@pytest.mark.parametrize(("kind", "name"), [("attack", "under deepwordbug"), ("ood", "on hans")])
def test_the_last_model_is_compared_with_the_others(values, end, kind, name):
    assert overlap_notes(rows(values, kind)) == [f"Accuracy {name}: the 95 % interval of the ticket, {end}", EVIDENCE]


def test_nothing_is_said_without_a_number_to_compare():
    assert overlap_notes(rows({"full": 0.5, "ticket": None})) == []
    assert overlap_notes(rows({"ticket": 0.5})) == []
