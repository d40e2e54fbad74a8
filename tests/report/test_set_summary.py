from __future__ import annotations

from pathlib import Path

import pytest
from support.evaluate_results import NO, YES, hans, results, stages
from support.number_files import csv_of, summaries

from ticketlab.core.intervals import wilson
from ticketlab.report.rows import ResultRow, result_rows
from ticketlab.report.set_summary import summarise_set


def three_seeds() -> ResultRow:
    """Three seeds with 40, 44 and 48 of 80 examples of hans correct."""
    (row,) = result_rows(results(*(stages(ood={"hans": hans(yes, 10)}) for yes in (30, 34, 38))))
    return row


def test_a_challenge_set_has_the_mean_deviation_and_interval_of_its_accuracy() -> None:
    (found,) = three_seeds().challenges
    assert (found.name, found.n) == ("hans", 80)
    assert found.accuracy is not None
    assert found.accuracy.mean == pytest.approx(0.55)
    assert found.accuracy.deviation == pytest.approx(0.05)
    assert found.accuracy.interval == pytest.approx(wilson(0.55, 80))
    weighted = found.measures["weighted_f1"]
    assert weighted is not None
    assert weighted.mean == pytest.approx(0.6)
    assert weighted.interval is None  # F1 is not a fraction of examples
    assert (found.majority, found.baselines["weighted_f1"]) == pytest.approx((0.5, 1 / 3))


def test_class_fractions_of_examples_and_predictions_add_up_to_one_with_those_outside() -> None:
    (found,) = three_seeds().challenges
    assert found.labels == pytest.approx({YES: 0.5, NO: 0.5})
    predicted = {label: measure.mean for label, measure in found.predicted.items()}
    assert predicted == pytest.approx({YES: 66 / 80, NO: 10 / 80})
    assert found.outside is not None
    assert found.outside.mean == pytest.approx(4 / 80)
    assert sum(predicted.values()) + found.outside.mean == pytest.approx(1)


def test_subsets_have_accuracy_and_recall_over_seeds_but_no_recall_of_a_label_without_examples() -> None:
    (found,) = three_seeds().challenges
    overlap, constituent = found.subsets["heuristic"].values()
    assert (overlap.n, constituent.n) == (60, 20)
    assert overlap.accuracy is not None
    assert overlap.accuracy.mean == pytest.approx(34 / 60)
    assert overlap.accuracy.deviation == pytest.approx(4 / 60)
    assert (overlap.majority, constituent.majority) == pytest.approx((2 / 3, 1))
    yes = overlap.recall[YES]
    assert yes is not None
    assert (yes.mean, yes.deviation) == pytest.approx((0.85, 0.1))
    assert constituent.recall[YES] is None


def test_the_own_split_has_its_f1_and_majority_too() -> None:
    row = three_seeds()
    assert row.own_split is not None
    assert row.own_split.accuracy == row.clean
    assert (row.own_split.majority, row.own_split.baselines["weighted_f1"]) == pytest.approx((0.5, 1 / 3))
    weighted = row.own_split.measures["weighted_f1"]
    assert weighted is not None
    assert weighted.mean == pytest.approx(0.8)


def test_the_interval_of_recall_uses_the_number_of_the_label_s_examples() -> None:
    yes = three_seeds().challenges[0].recall[YES]
    assert yes is not None
    assert yes.n == 40
    assert yes.interval == pytest.approx(wilson(0.85, 40))


def test_a_set_without_examples_has_no_numbers() -> None:
    nothing = {"n": 0, "accuracy": None, "weighted_f1": None, "majority": None, "majority_weighted_f1": None, "outside": 0}
    found = summarise_set("hans", [nothing | {"labels": {YES: 0}, "predicted": {YES: 0}, "recall": {YES: None}, "subsets": {}}])
    assert (found.n, found.accuracy, found.measures["weighted_f1"], found.majority, found.outside) == (0, None, None, None, None)
    assert (found.labels, found.predicted, found.recall) == ({}, {}, {YES: None})


def test_results_with_nothing_but_an_accuracy_can_be_summarised() -> None:
    found = summarise_set("sst2", [{"n": 4, "accuracy": 0.5}])
    assert found.accuracy is not None
    assert (found.measures["weighted_f1"], found.majority, found.outside, found.labels, found.subsets) == (None, None, None, {}, {})


def test_a_set_evaluated_for_some_seeds_only_is_summarised_over_those() -> None:
    (row,) = result_rows(results(stages(), stages(ood={"hans": hans(30, 10)})))
    assert row.challenges[0].accuracy is not None
    assert row.challenges[0].accuracy.mean == pytest.approx(0.5)
    assert row.challenges[0].accuracy.deviation is None


def test_csv_has_the_set_and_subset_of_each_number_and_the_majority_baselines(tmp_path: Path) -> None:
    found = results(*(stages(ood={"hans": hans(yes, 10)}) for yes in (30, 34, 38)))
    lines = {line["metric"]: line for line in summaries(csv_of(tmp_path / "results.csv", found))}
    overlap = "ood.hans[heuristic=lexical_overlap]"
    means = {
        "clean.accuracy": 0.9,
        "clean.majority": 0.5,
        "clean.majority_weighted_f1": 1 / 3,
        "ood.hans.accuracy": 0.55,
        "ood.hans.weighted_f1": 0.6,
        "ood.hans.majority": 0.5,
        "ood.hans.outside": 4,
        f"ood.hans.predicted.{YES}": 0.825,
        f"ood.hans.examples.{NO}": 0.5,
        f"{overlap}.accuracy": 34 / 60,
        f"{overlap}.majority": 2 / 3,
        f"{overlap}.recall.{YES}": 0.85,
    }
    assert {key: float(lines[key]["value"]) for key in means} == pytest.approx(means)
    assert [lines[f"{overlap}.accuracy"][column] for column in ("n", "set", "subset")] == ["60", "hans", "heuristic=lexical_overlap"]
    assert (lines["ood.hans.majority"]["low"], lines["ood.hans.majority"]["n"]) == ("", "80")  # a property of the set
    assert f"ood.hans[heuristic=constituent].recall.{YES}" not in lines
