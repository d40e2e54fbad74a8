from __future__ import annotations

from typing import Any

import pytest
from support.comparisons import cell, results, study

from ticketlab.core.errors import UsageError
from ticketlab.report.cells import Comparison, Published
from ticketlab.report.numbers import all_numbers
from ticketlab.report.table_spec import check_metrics, default_metrics, select_metrics


def comparison(**more: Any) -> Comparison:
    found = results("sst2", clean=(0.9,), ood={"hans": (0.5,)}, aua={"pwws": (0.1,), "bae": (0.2,)}, seconds=(3,), sparsity=0.3, dev=(0.8,))
    stages = found["tasks"]["sst2"]["0"]
    stages["train"]["train"]["history"] = [{"step": 1, "loss": 0.5}]
    stages["evaluate"]["clean"] |= {"macro_f1": 0.7, "matthews": 0.3}
    stages["evaluate"]["ood"]["hans"] |= {"weighted_f1": 0.4, "macro_f1": 0.4}
    found["data"] = {"sst2": {"measures": ["matthews"]}, "hans": {"measures": ["weighted_f1"]}}
    return study([cell({"n": "1"}, found)], **more)


def test_the_default_is_what_the_benchmarks_report_and_the_cost() -> None:
    assert default_metrics(comparison(), all_numbers(comparison())) == [
        "clean.accuracy",
        "clean.matthews",
        "ood.hans.accuracy",
        "ood.hans.weighted_f1",
        "attack.pwws.aua",
        "attack.bae.aua",
        "sparsity.weights",
        "cost.training_seconds",
    ]


def test_another_split_is_shown_where_a_model_has_no_number_on_the_test_split() -> None:
    cells = [cell({"n": "1"}, results("sst2", clean=(0.9,), dev=(0.8,))), cell({"n": "2"}, results("sst2", dev=(0.7,)))]
    assert default_metrics(study(cells), all_numbers(study(cells))) == ["clean.accuracy", "dev.clean.accuracy"]


def test_a_baseline_adds_the_speed_up_and_published_numbers_their_metrics() -> None:
    made = comparison(baseline="1", published=(Published({}, "attack.bert-attack.aua", 1.0),))
    found = default_metrics(made, all_numbers(made))
    assert found[-1] == "speed_up"
    assert "attack.bert-attack.aua" in found


def test_metrics_may_be_patterns() -> None:
    made = comparison()
    assert select_metrics(["attack.*.aua", "clean.accuracy"], all_numbers(made), made) == [
        "attack.pwws.aua",
        "attack.bae.aua",
        "clean.accuracy",
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("clean.acuracy", "no run has the metric `clean.acuracy`; did you mean `clean.accuracy`?"),
        ("attack.*.accuracy", "no run has the metric `attack.*.accuracy`"),
        ("history.train.loss", "the metric `history.train.loss` has a number for each step, which a table cannot show"),
    ],
)
def test_a_metric_without_numbers_is_refused(name: str, message: str) -> None:
    made = comparison()
    check_metrics(["clean.accuracy", "attack.*.aua", "speed_up"], made, all_numbers(made))
    with pytest.raises(UsageError) as caught:
        check_metrics([name], made, all_numbers(made))
    assert message in str(caught.value)
