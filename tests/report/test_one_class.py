from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.comparisons import cell, results, study, with_predictions

from ticketlab.attacks.results.caveats import caveats_of
from ticketlab.attacks.results.record import Record
from ticketlab.report.build_table import comparison_table
from ticketlab.report.numbers import numbers
from ticketlab.report.one_class import nothing_to_fool
from ticketlab.report.summaries import summarise_numbers
from ticketlab.report.table_text import plain_table


def attacked(classes: Sequence[str], aua: float = 0.5, name: str = "") -> dict[str, Any]:
    seeds = len(classes)
    return with_predictions(results(clean=[0.5] * seeds, aua={"pwws": [aua] * seeds}, name=name), *classes)


def reasons(found: dict[str, Any]) -> dict[str, str]:
    one = cell({"method": "a"}, found)
    return {summary.number.metric: nothing_to_fool(one, summary) for summary in summarise_numbers(numbers(one))}


@pytest.mark.parametrize(
    ("classes", "reason"),
    [
        (["", ""], ""),
        (["yes"], "predicts `yes` for every example: nothing to fool"),
        (["yes", "yes"], "predicts `yes` for every example with 2 of 2 seeds: nothing to fool"),
        (["yes", "no", ""], "predicts `yes` or `no` for every example with 2 of 3 seeds: nothing to fool"),
    ],
)
def test_a_model_that_predicts_one_class_is_found_by_its_predictions(classes: list[str], reason: str) -> None:
    found = reasons(attacked(classes))
    assert found["attack.pwws.aua"] == reason
    assert found["clean.accuracy"] == ""


def test_a_set_of_one_class_says_nothing_about_the_model() -> None:
    found = attacked(["yes"])
    found["tasks"]["sst2"]["0"]["evaluate"]["clean"]["labels"] = {"no": 0, "yes": 400}
    assert reasons(found)["attack.pwws.aua"] == ""


def test_without_predictions_the_warning_of_the_attack_tells() -> None:
    texts = {"original": ["x"], "perturbed": ["x"], "words_total": 1, "words_unseen": 0, "predicted_before": "a `b`"}
    records = [
        Record(id="1", label="a `b`", status="failed", words_tried=1, words_replaceable=1, words_allowed=1, **texts),
        Record(id="2", label="no", status="skipped", **texts),
    ]
    found = results(aua={"pwws": (0.5,)}, clean=(0.5,))
    found["tasks"]["sst2"]["0"]["attack"]["warnings"] = caveats_of("pwws", records, ["a `b`", "no"])
    assert reasons(found)["attack.pwws.aua"] == "predicts `a `b`` for every example of the sample: nothing to fool"


def test_such_a_model_is_not_the_best_under_attack_and_has_a_footnote() -> None:
    cells = [
        cell({"method": "constant"}, attacked(["yes", "yes"], aua=0.6, name="a")),
        cell({"method": "weak"}, attacked(["", ""], aua=0.1, name="b")),
        cell({"method": "strong"}, attacked(["", ""], aua=0.3, name="c")),
    ]
    table = comparison_table(study(cells))
    assert [[entry.best for entry in row.entries] for row in table.rows] == [[False, False], [False, False], [False, True]]
    assert table.footnotes == ("predicts `yes` for every example with 2 of 2 seeds: nothing to fool",)
    assert "60.0 ± 0.0 (a)" in plain_table(table)
