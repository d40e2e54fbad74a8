"""Tasks and metrics with a mistake fail in the conformance test that is about it."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve, frozen
from support.suite_outcomes import failures_of
from third_party.moods_task import Moods
from third_party.supported_f1 import SupportedF1
from third_party.unordered_sets import HashedAccuracy, UnorderedLetters
from third_party.unordered_task import Unordered

from ticketlab.core.component import Component
from ticketlab.plugin import Metric, Predictions, TaskData
from ticketlab.testing import BiasModelTests, MetricTests, TaskTests
from ticketlab.testing.component_tests import ComponentTests

CALLS: list[str] = []
"""What broken components remember from one call to the next."""


def with_data(base: type[Moods] = Moods, **facts: Any) -> type[Moods]:
    return frozen(type("Broken", (base,), {"__module__": __name__, "name": "broken", **facts}))


def loading(change: Any) -> type[Moods]:
    """Return a task whose data is changed after it has been loaded."""
    return with_data(load=lambda self: change(Moods.load(self)))


def flipping(data: TaskData) -> TaskData:
    CALLS.append("load")
    return evolve(data, label_names=data.label_names[:: 1 if len(CALLS) % 2 else -1])


def redrawn(data: TaskData) -> TaskData:
    return evolve(data, splits={name: tuple(random.sample(own, len(own))) for name, own in data.splits.items()})


def out_of_range(data: TaskData) -> TaskData:
    return evolve(data, splits={name: tuple(evolve(one, label=one.label + 1) for one in own) for name, own in data.splits.items()})


def overlapping(data: TaskData) -> TaskData:
    test = [evolve(example, id=f"again-{example.id}") for example in data.splits["train"][:3]]
    return evolve(data, splits={**data.splits, "test": (*data.splits["test"], *test)})


def writing(data: TaskData) -> TaskData:
    place = Path.cwd() / "moods.cache"
    place.write_text("cached")
    place.unlink()
    return data


def sampled(self: Moods) -> TaskData:
    data = Moods.load(self)
    return evolve(data, splits={**data.splits, "test": data.splits["test"][: None if self.train_rows is None else 4]})


TASKS = [
    pytest.param(loading(flipping), "test_two_loads_are_equal", "`label_names` is", id="order of the labels flips"),
    pytest.param(loading(redrawn), "test_two_loads_are_equal", "examples differ, loaded twice", id="unseeded"),
    pytest.param(loading(redrawn), "test_loading_draws_no_global_random_numbers", "global random generators", id="global generators"),
    pytest.param(loading(out_of_range), "test_it_loads", "label", id="labels out of range"),
    pytest.param(loading(overlapping), "test_splits_share_no_text", "train and test share 3 texts", id="overlapping splits"),
    pytest.param(loading(writing), "test_nothing_is_written", "moods.cache, beside", id="writes beside the code"),
    pytest.param(with_data(load=sampled), "test_train_rows_limits_the_training_examples_alone", "changes the test", id="own train_rows"),
    pytest.param(loading(lambda data: [data]), "test_it_loads", "broken", id="wrong type"),
]


def metric(compute: Any, **facts: Any) -> type[Metric]:
    own: dict[str, Any] = {"__module__": __name__, "name": "broken", "summary": "a broken metric", "better": "higher", "compute": compute}
    return frozen(type("Broken", (Metric,), {**own, **facts}))


def remembering(_: Metric, predictions: Predictions) -> float:
    CALLS.append("compute")
    return float(predictions.correct.mean()) + len(CALLS)


def sorting(_: Metric, predictions: Predictions) -> float:
    predictions.probabilities.sort(axis=1)
    return float(predictions.correct.mean())


def reseeding(_: Metric, predictions: Predictions) -> float:
    random.seed(0)
    return float(predictions.correct.mean())


def moving(_: Metric, predictions: Predictions) -> float:
    os.chdir("/")
    return float(predictions.correct.mean())


METRICS = [
    pytest.param(
        metric(lambda _, found: float(found.correct.mean()), better="lower"),
        "test_better_predictions_are_not_worse",
        "`better`",
        id="direction",
    ),
    pytest.param(
        metric(lambda _, found: float((found.correct * np.arange(len(found.correct))).mean())),
        "test_the_order_of_the_rows_changes_nothing",
        "another order",
        id="order",
    ),
    pytest.param(metric(lambda _, found: random.random()), "test_the_same_predictions_have_the_same_value", "random", id="random"),
    pytest.param(metric(reseeding), "test_the_process_is_left_alone", "`compute` seeds the global generator of Python", id="seeds"),
    pytest.param(metric(moving), "test_the_process_is_left_alone", "`compute` changes the working directory", id="directory"),
    pytest.param(metric(sorting), "test_every_set_has_a_value_or_none", "work on a copy", id="sorts its input"),
    pytest.param(metric(remembering), "test_predictions_are_not_kept", "depends on the sets before it", id="remembers"),
    pytest.param(
        metric(lambda _, found: float(found.correct[found.labels == 0].mean())),
        "test_every_set_has_a_value_or_none",
        "must return a finite number",
        id="not defined for a class",
    ),
    pytest.param(
        metric(lambda _, found: 1 / (len(found.labels) - 1)), "test_every_set_has_a_value_or_none", "ZeroDivisionError", id="one row"
    ),
    pytest.param(
        metric(lambda _, found: 2.0, limits=(0, 1)), "test_every_set_has_a_value_or_none", "outside its limits, 0 to 1", id="limits"
    ),
]
CASES = [pytest.param(TaskTests, *case.values, id=f"task: {case.id}") for case in TASKS]
CASES += [pytest.param(MetricTests, *case.values, id=f"metric: {case.id}") for case in METRICS]


@pytest.mark.parametrize(("suite", "component", "test", "message"), CASES)
def test_a_mistake_fails_in_the_test_about_it(
    suite: type[ComponentTests], component: type[Component], test: str, message: str, tmp_path: Path
) -> None:
    failures = failures_of(suite, test, tmp_path, component=component)
    assert failures
    assert all(message in text for text in failures.values()), failures


HASHES = "do_not_depend_on_the_hashes_of_the_process"


@pytest.mark.parametrize(
    ("suite", "component", "test", "facts"),
    [
        (TaskTests, Unordered, f"test_the_examples_{HASHES}", {"settings": ({"rows": 200},)}),
        (BiasModelTests, UnorderedLetters, f"test_features_{HASHES}", {}),
        (MetricTests, HashedAccuracy, "test_the_value_does_not_depend_on_the_hashes_of_the_process", {}),
    ],
    ids=["task", "bias model", "metric"],
)
def test_the_order_of_a_set_fails_in_another_process(
    suite: type[ComponentTests], component: type[Component], test: str, facts: dict[str, Any], tmp_path: Path
) -> None:
    failures = failures_of(suite, test, tmp_path, component=component, **facts)
    assert list(failures) == [test]
    assert "do not use the order of a set" in failures[test]


def test_a_constant_fingerprint_is_replaced(tmp_path: Path) -> None:
    constant = loading(lambda data: evolve(data, fingerprint="constant"))
    for test in ("test_it_loads", "test_other_content_has_another_fingerprint"):
        assert failures_of(TaskTests, test, tmp_path, component=constant, settings=({"flipped": True},)) == {}


def test_the_same_metric_without_a_mistake_passes(tmp_path: Path) -> None:
    """A value of another direction, or of no direction at all."""
    accuracy = metric(lambda _, found: float(found.correct.mean()))
    error = metric(lambda _, found: 1 - float(found.correct.mean()), better="lower")
    for component, facts in ((accuracy, {}), (error, {}), (SupportedF1, {})):
        assert failures_of(MetricTests, "test_better_predictions_are_not_worse", tmp_path, component=component, **facts) == {}
