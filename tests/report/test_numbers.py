from __future__ import annotations

import pytest
from scipy.stats import binomtest
from support.comparisons import cell, results, study
from support.evaluate_results import NO, YES, hans

from ticketlab.report.numbers import Number, all_numbers


def measured() -> dict[str, list[Number]]:
    """Return the numbers of two seeds with an evaluation on the task and a challenge set, and an attack, by metric."""
    found = results("mnli", clean=(0.9, 0.8), aua={"pwws": (0.3, 0.4)}, seconds=(5, 6), sparsity=0.5, dev=(0.7, 0.6))
    for stages in found["tasks"]["mnli"].values():
        stages["evaluate"]["ood"] = {"hans": hans(30, 10)}
        stages["evaluate"]["cost"] = {"seconds": 9.0, "prediction_seconds": 4.8}
        stages["attack"]["attacks"]["pwws"] |= {
            "suc": 0.25,
            "suc_of": {"count": 10, "total": 40, "interval": [0.1, 0.4]},
            "queries": 20.0,
            "queries_of": {"n": 40, "interval": [18.0, 22.0]},
            "skipped": 60,
        }
    numbers: dict[str, list[Number]] = {}
    for number in all_numbers(study([cell({"method": "a"}, found)])):
        numbers.setdefault(number.metric, []).append(number)
    return numbers


def test_a_model_has_its_cost_and_sparsity_once_however_often_it_was_measured() -> None:
    numbers = measured()
    for metric in ("cost.training_seconds", "cost.seconds", "sparsity.weights"):
        assert [(number.seed, number.stage, number.key) for number in numbers[metric]] == [
            (0, "train", " train 0"),
            (1, "train", " train 1"),
        ]
    assert [number.value for number in numbers["cost.training_seconds"]] == [5, 6]


def test_fractions_have_their_examples_and_wilson_s_interval() -> None:
    numbers = measured()
    first = numbers["attack.pwws.suc"][0]
    expected = binomtest(10, 40).proportion_ci(method="wilson")
    assert (first.n, first.interval) == (40, pytest.approx((expected.low, expected.high)))
    assert numbers["clean.accuracy"][0].n == 400
    assert (numbers["attack.pwws.queries"][0].n, numbers["attack.pwws.queries"][0].interval) == (40, (18.0, 22.0))
    assert (numbers["attack.pwws.skipped"][0].value, numbers["attack.pwws.skipped"][0].n) == (60, None)
    assert numbers["ood.hans.weighted_f1"][0].interval is None


def test_labels_and_subsets_have_metrics_of_their_own() -> None:
    numbers = measured()
    found = {metric: numbers[metric][0] for metric in numbers}
    assert found[f"ood.hans.recall.{YES}"].value == pytest.approx(0.75)
    assert (found[f"ood.hans.examples.{NO}"].value, found[f"ood.hans.predicted.{YES}"].value) == pytest.approx((0.5, 66 / 80))
    subset = found["ood.hans[heuristic=lexical_overlap].accuracy"]
    assert (subset.value, subset.n, subset.set, subset.subset) == (0.5, 60, "hans", "heuristic=lexical_overlap")


def test_the_latency_is_over_all_predicted_examples_and_other_splits_have_a_prefix() -> None:
    numbers = measured()
    assert numbers["latency.seconds"][0].value == pytest.approx(4.8 / (400 + 80))
    assert [number.value for number in numbers["dev.clean.accuracy"]] == [0.7, 0.6]


def test_a_run_that_measures_no_model_has_the_sparsity_of_its_ticket_and_the_seconds_of_its_search() -> None:
    groups = {"heads": {"achieved": 0.125}, "neurons": {"achieved": 0.25}}
    search = {"kind": "search", "key": "s", "inputs": {}, "search": {}, "cost": {"seconds": 4.0, "training_seconds": 3.0}}
    draw = {"kind": "draw", "key": "d", "inputs": {"search": "search"}, "ticket": {"groups": groups}, "cost": {"seconds": 0.5}}
    found = results("sst2", clean=(0.9,))
    found["tasks"]["sst2"]["0"] = {"search": search, "draw": draw}
    numbers = {number.metric: (number.value, number.of) for number in all_numbers(study([cell({"method": "a"}, found)]))}
    assert numbers["sparsity.heads"] == (0.125, "draw")
    assert numbers["sparsity.neurons"] == (0.25, "draw")
    assert numbers["cost.search_seconds"] == (3.0, "draw")
