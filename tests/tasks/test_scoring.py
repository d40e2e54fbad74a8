"""Scores of predictions, compared with values computed by hand and with their definitions."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ticketlab.tasks import metrics
from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.datasets.challenge_sets import map_labels
from ticketlab.tasks.scoring import LabelMapping, score_predictions

NLI = ("contradiction", "entailment", "neutral")
HANS = ("entailment", "non-entailment")


def set_of(names: tuple[str, ...], labels: list[int], *columns: list[str], positive: str | None = None) -> TaskData:
    subsets = tuple(f"column {number}" for number in range(len(columns)))
    parts = list(zip(*columns, strict=True)) or [()] * len(labels)
    examples = tuple(Example(str(number), ("x",), label, parts[number]) for number, label in enumerate(labels))
    return TaskData("set", ("text",), names, {"train": (), "dev": (), "test": examples}, "", subsets=subsets, positive_label=positive)


def test_the_names_are_those_of_all_measures() -> None:
    assert list(metrics.measures([(0, 0), (1, 1)], 2, positive=0)) == list(metrics.NAMES)


def test_three_labels_are_mapped_to_two() -> None:
    data = set_of(HANS, [0, 0, 0, 1, 1], ["lexical", "lexical", "", "lexical", ""])
    found = score_predictions([1, 1, 2, 0, 1], data.splits["test"], data, map_labels("hans", NLI, HANS))
    # entailment: 2 of 3 recalled, 3 predicted: F1 4/6. non-entailment: 1 of 2 recalled, 2 predicted: F1 2/4.
    # matthews: (3 * 5 - (3 * 3 + 2 * 2)) / sqrt((25 - 9 - 4) * (25 - 9 - 4)) = 2 / 12
    assert found == {
        "accuracy": 3 / 5,
        "balanced_accuracy": pytest.approx((2 / 3 + 1 / 2) / 2),
        "macro_f1": pytest.approx((2 / 3 + 1 / 2) / 2),
        "weighted_f1": pytest.approx((3 * 2 / 3 + 2 * 1 / 2) / 5),
        "matthews": pytest.approx(1 / 6),
        "n": 5,
        "correct": 3,
        "majority": 3 / 5,
        "majority_balanced_accuracy": 1 / 2,
        "majority_macro_f1": pytest.approx(2 * 3 / (3 + 5) / 2),
        "majority_weighted_f1": pytest.approx(3 / 5 * 2 * 3 / (3 + 5)),
        "majority_matthews": 0.0,
        "outside": 0,
        "labels": {"entailment": 3, "non-entailment": 2},
        "predicted": {"entailment": 3, "non-entailment": 2},
        "recall": {"entailment": 2 / 3, "non-entailment": 1 / 2},
        "meaning": {"entailment": [1], "non-entailment": [0, 2]},
        "subsets": {
            "column 0": {
                "": {"accuracy": 0.0, "n": 2, "correct": 0, "majority": 0.5, "recall": {"entailment": 0.0, "non-entailment": 0.0}},
                "lexical": {
                    "accuracy": 1.0,
                    "n": 3,
                    "correct": 3,
                    "majority": 2 / 3,
                    "recall": {"entailment": 1.0, "non-entailment": 1.0},
                },
            }
        },
    }


def test_a_prediction_outside_the_labels_of_the_set_is_wrong_and_counted() -> None:
    data = set_of(("REFUTES", "SUPPORTS"), [0, 1, 1])
    found = score_predictions(
        [2, 2, 0], data.splits["test"], data, map_labels("set", ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"), data.label_names)
    )
    assert (found["outside"], found["predicted"], found["correct"]) == (2, {"REFUTES": 0, "SUPPORTS": 1}, 1)
    assert found["recall"] == {"REFUTES": 0.0, "SUPPORTS": 0.5}
    assert found["weighted_f1"] == pytest.approx(2 / 3 * 2 / 3)


def test_a_set_with_one_class() -> None:
    data = set_of(HANS, [1, 1, 1, 1])
    found = score_predictions([0, 2, 1, 0], data.splits["test"], data, map_labels("hans", NLI, HANS))
    assert (found["accuracy"], found["majority"], found["majority_weighted_f1"]) == (0.75, 1.0, 1.0)
    assert found["recall"] == {"entailment": None, "non-entailment": 0.75}
    assert found["weighted_f1"] == pytest.approx(2 * 3 / 7)


def test_metrics_without_examples_are_none() -> None:
    data = set_of(HANS, [], [])
    found = score_predictions([], (), data, map_labels("hans", NLI, HANS))
    fractions = ("accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "matthews", "majority", "majority_weighted_f1")
    assert {name: found[name] for name in fractions} == dict.fromkeys(fractions)
    assert found["recall"] == {"entailment": None, "non-entailment": None}
    assert (found["n"], found["subsets"]) == (0, {"column 0": {}})


def test_binary_f1_is_that_of_the_positive_label_as_in_glue() -> None:
    data = set_of(("not_equivalent", "equivalent"), [1] * 6 + [0] * 4, positive="equivalent")
    found = score_predictions([1] * 5 + [0] + [1] * 3 + [0], data.splits["test"], data, ((0,), (1,)))
    # equivalent: 5 of 6 recalled, 8 predicted: 10/14; not_equivalent: 1 of 4 recalled, 2 predicted: 2/6
    assert (found["positive_label"], found["binary_f1"]) == ("equivalent", pytest.approx(10 / 14))
    assert found["macro_f1"] == pytest.approx((10 / 14 + 2 / 6) / 2)
    assert found["majority_binary_f1"] == pytest.approx(2 * 6 / (10 + 6))
    undeclared = set_of(("a", "b"), [0, 1])
    assert (
        not {"binary_f1", "majority_binary_f1", "positive_label"}
        & score_predictions([0, 1], undeclared.splits["test"], undeclared, ((0,), (1,))).keys()
    )


def test_a_wrong_number_of_predictions_is_an_error() -> None:
    data = set_of(HANS, [0, 1])
    with pytest.raises(ValueError, match="longer"):
        score_predictions([0, 1, 1], data.splits["test"], data, ((0,), (1,)))


MEANING: LabelMapping = ((1,), (0, 3))  # the third label of the task maps to neither of the two
cases = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.sampled_from(["p", "q", ""])), min_size=1, max_size=60)


@settings(max_examples=40)
@given(cases)
def test_counts_add_up(rows: list[tuple[int, int, str]]) -> None:
    data = set_of(HANS, [label for _, label, _ in rows], [part for *_, part in rows])
    found = score_predictions([prediction for prediction, *_ in rows], data.splits["test"], data, MEANING)
    assert sum(found["labels"].values()) == found["n"] == len(rows) == sum(found["predicted"].values()) + found["outside"]
    parts = found["subsets"]["column 0"].values()
    assert sum(part["n"] for part in parts) == found["n"]
    assert sum(part["correct"] for part in parts) == found["correct"]
    assert found["correct"] == round(sum((found["recall"][name] or 0) * count for name, count in found["labels"].items()))


@settings(deadline=None, max_examples=40)  # the first call imports scikit-learn
@given(cases)
def test_scores_equal_their_definitions_to_the_last_bit(rows: list[tuple[int, int, str]]) -> None:
    data = set_of(HANS, [label for _, label, _ in rows], positive="non-entailment")
    scores = score_predictions([prediction for prediction, *_ in rows], data.splits["test"], data, MEANING)
    true, predicted = [label for _, label, _ in rows], [{0: 1, 1: 0, 2: None, 3: 1}[prediction] for prediction, *_ in rows]
    n = len(rows)

    def hits(label: int, predictions: list[int | None]) -> int:
        return sum(pair == (label, label) for pair in zip(true, predictions, strict=True))

    def f1(label: int, predictions: list[int | None]) -> float:
        together = true.count(label) + predictions.count(label)
        return 2 * hits(label, predictions) / together if together else 0.0

    present = list(dict.fromkeys(true))
    occurring = sorted({*true, *predicted} - {None})
    assert scores["accuracy"] == sum(hits(label, predicted) for label in (0, 1)) / n
    assert scores["recall"] == {
        name: hits(label, predicted) / true.count(label) if label in true else None for label, name in enumerate(HANS)
    }
    assert scores["balanced_accuracy"] == sum(hits(label, predicted) / true.count(label) for label in present) / len(present)
    assert scores["macro_f1"] == sum(f1(label, predicted) for label in occurring) / len(occurring)
    assert scores["weighted_f1"] == sum(f1(label, predicted) * true.count(label) for label in present) / n
    assert scores["binary_f1"] == f1(1, predicted)
    always: list[int | None] = [max((0, 1), key=true.count)] * n
    assert scores["majority_weighted_f1"] == sum(f1(label, always) * true.count(label) for label in present) / n
    assert scores["majority_binary_f1"] == f1(1, always)
    # Gorodkin, 2004, eq. 8
    sizes, answers = Counter(true), Counter(predicted)
    product = (n * n - sum(size * size for size in sizes.values())) * (n * n - sum(size * size for size in answers.values()))
    covariance = n * sum(hits(label, predicted) for label in (0, 1)) - sum(size * answers[label] for label, size in sizes.items())
    assert scores["matthews"] == (covariance / math.sqrt(product) if product else 0.0)


@settings(max_examples=40)
@given(cases, st.permutations(range(4)), st.permutations(range(2)))
def test_scores_do_not_depend_on_the_order_of_labels(rows: list[tuple[int, int, str]], task: list[int], ood: list[int]) -> None:
    data = set_of(HANS, [label for _, label, _ in rows], [part for *_, part in rows])
    names = tuple(HANS[old] for old in ood)
    other = set_of(names, [ood.index(label) for _, label, _ in rows], [part for *_, part in rows])
    other_meaning = tuple(tuple(task.index(index) for index in MEANING[old]) for old in ood)
    found = score_predictions([prediction for prediction, *_ in rows], data.splits["test"], data, MEANING)
    turned = score_predictions([task.index(prediction) for prediction, *_ in rows], other.splits["test"], other, other_meaning)
    fractions = ("balanced_accuracy", "macro_f1", "weighted_f1", "matthews")
    assert {name: turned[name] for name in fractions} == pytest.approx({name: found[name] for name in fractions})
    apart = {"meaning", *fractions}
    assert {name: value for name, value in turned.items() if name not in apart} == {
        name: value for name, value in found.items() if name not in apart
    }
