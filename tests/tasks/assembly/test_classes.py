"""Labels that are not classes are rejected, and doubtful ones cause warnings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ticketlab.core.errors import DataError
from ticketlab.tasks.assembly.classes import check_labels, joined_labels, label_warnings, spelling_variants
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.datasets.local import LocalDataset


def sizes(labels: Sequence[str], rows: int = 100) -> dict[str, int]:
    return dict.fromkeys(labels, rows // len(labels))


def load(place: Path, cells: Sequence[Any], **settings: Any) -> TaskData:
    rows = [{"text": f"text {n}", "label": label} for n, label in enumerate(cells)]
    (place / "reviews.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return LocalDataset(path=str(place / "reviews.jsonl"), **settings).load()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["0.400", "4.200", "3.800"], "the labels are scores, such as `0.400`, `4.200`, `3.800` (3 different values)"),
        (["0.25", "0.5"], "regression is not supported; if they are classes, declare them with --labels"),
        (["1", "2", "2.5", "3"], "the labels are scores, such as `2.5`"),
        (["-0.7", "1e-3", "n/a"], "scores"),
        (["25%", "50 %", "75%"], "scores"),
        (["0,5", "1,0", "2,5"], "scores"),
        (["2024-01-03", "2024-02-14T12:00", "2023-11-01"], "the labels are dates"),
        (["Jan 3, 2024", "5 March 2023", "14 feb. 2024 12:00"], "the labels are dates"),
        (['{"label": "neg"}', '{"label": "pos"}'], 'the labels are JSON objects, such as `{"label": "neg"}`'),
        (["03.01.2024", "14.02.2024"], "the labels are dates"),
        ([f"user {n}" for n in range(80)], "80 rows have 80 different labels, such as `user 0`, `user 1`, `user 2` and 77 more"),
        ([str(n) for n in range(0, 800, 10)], "too many to be classes"),
        ([str(n) for n in range(200)], "too many to be classes"),
        (["[1]", "[1, 2]"], "the labels are lists, such as `[1]`, `[1, 2]`: several labels per row need a multi-label objective"),
        (["['joy']", "['joy', 'anger']"], "multi-label"),
    ],
)
def test_labels_that_are_not_classes_are_rejected(labels: Sequence[str], message: str) -> None:
    with pytest.raises(DataError) as caught:
        check_labels("reviews.csv", dict.fromkeys(labels, 1 if len(labels) == 80 else 10))
    assert str(caught.value).startswith("reviews.csv: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "labels",
    [
        ["1.0", "2.0", "3.0"],
        ["0", "1", "2", "10"],
        ["neg", "pos"],
        ["1/5", "2/5", "5/5"],
        ["v1.5", "v2.0"],
        ["1.5", "other", "none", "more"],
        ["1", "2", "1,2"],
        [f"intent {n}" for n in range(60)],
        ["-2", "-1", "0", "1", "2"],
        ["inf", "low"],
    ],
)
def test_classes_are_accepted(labels: Sequence[str]) -> None:
    check_labels("reviews.csv", sizes(labels, 1000))


def test_scores_are_classes_if_declared(tmp_path: Path) -> None:
    assert load(tmp_path, [0.5, 1.5] * 20, labels=("0.5", "1.5")).label_names == ("0.5", "1.5")
    with pytest.raises(DataError, match="declare them with --labels"):
        load(tmp_path, [0.5, 1.5] * 20)


@pytest.mark.parametrize(
    ("labels", "joined"),
    [
        (["toxic", "insult", "toxic#insult"], ["toxic#insult"]),
        (["a", "b", "a,b", "b, a"], ["a,b", "b, a"]),
        (["a|b", "b|c", "a|c", "a"], ["a|b", "b|c", "a|c"]),
        (["a;b", "b;c", "c;a"], ["a;b", "b;c", "c;a"]),
        (["1", "2", "3", "1,2,3"], ["1,2,3"]),
        (["joy", "fear", "joy & fear", "fear & joy"], ["joy & fear", "fear & joy"]),
        (["toxic", "insult", "toxic|insult", "threat|toxic"], ["toxic|insult", "threat|toxic"]),
        (["toxic", "insult", "clean", "toxic and insult"], ["toxic and insult"]),
        (["toxic", "insult", "threat", "clean", "toxic / threat", "insult/toxic"], ["toxic / threat", "insult/toxic"]),
        (["toxic", "insult", "toxic\ninsult"], ["toxic\ninsult"]),
        (["__label__a", "__label__b", "__label__a __label__b"], ["__label__a __label__b"]),
        (["World", "Sports", "Business", "Sci/Tech"], []),
        (["entailment", "not_entailment"], []),
        (["U.S.A., politics", "U.S.A., sports"], []),
        (["Food & Drink", "Home & Garden", "Style"], []),
        (["New York, NY", "Albany, NY", "Los Angeles, CA"], []),
        (["C", "C++", "C#"], []),
        (["yes", "no", "yes/no"], []),
        (["1/5", "2/5", "3/5", "4/5", "5/5"], []),
    ],
)
def test_joined_labels_are_distinguished_from_names_with_a_separator(labels: Sequence[str], joined: Sequence[str]) -> None:
    assert joined_labels(labels) == joined
    assert any("multi-label" in warning for warning in label_warnings(sizes(labels))) is bool(joined)


@pytest.mark.parametrize(
    ("labels", "groups"),
    [
        (["Positive", "positive", "negative"], [["Positive", "positive"]]),
        (["caf\u00e9", "cafe\u0301"], [["caf\u00e9", "cafe\u0301"]]),
        (["not entailment", "not_entailment", "Not-Entailment"], [["not entailment", "not_entailment", "Not-Entailment"]]),
        (["pos.", "pos", "neg"], [["pos.", "pos"]]),
        (["\u0130Y\u0130", "iyi", "k\u00f6t\u00fc"], [["\u0130Y\u0130", "iyi"]]),
        (["1", "1.0", "01", "2"], [["1", "1.0", "01"]]),
        (["very  good", "very good"], [["very  good", "very good"]]),
        (["NOT ENOUGH INFO", "NOT_ENOUGH_INFO", "NotEnoughInfo"], [["NOT ENOUGH INFO", "NOT_ENOUGH_INFO", "NotEnoughInfo"]]),
        (["class 1-1", "class 11"], []),
        (["A", "A-", "A+", "B"], []),
        (["C", "C++", "C#"], []),
        (["!", "?"], []),
        (["POS", "positive"], []),
    ],
)
def test_different_spellings_of_one_label_are_found(labels: Sequence[str], groups: Sequence[Sequence[str]]) -> None:
    assert spelling_variants(labels) == groups
    assert sum("look like spellings of one label" in warning for warning in label_warnings(sizes(labels))) == len(groups)


@pytest.mark.parametrize(
    ("count", "rows", "warned"), [(150, 3000, True), (90, 3000, False), (40, 200, True), (40, 400, False), (8, 40, False)]
)
def test_too_many_classes_for_the_number_of_rows_cause_a_warning(count: int, rows: int, warned: bool) -> None:
    assert any("are they scores or ids" in warning for warning in label_warnings(sizes([str(n) for n in range(count)], rows))) is warned


@pytest.mark.parametrize(
    ("labels", "warning"),
    [
        (
            ["0", "1", "neg", "pos"],
            "labels `0`, `1` are numbers and `neg`, `pos` are names, and each is treated as a class; if the numbers stand for names",
        ),
        (["1", "2", "other"], None),
        (
            ["entailment", "neutral", "0"],
            "label `0` (33 rows) is a number among names, such as `entailment`, `neutral`, and is treated as a class",
        ),
        (["FALSE", "0"], "label `0` (50 rows) is a number among names, such as `FALSE`"),
        (["000", "100", "101"], "labels `000`, `100`, `101` look like one digit for each of several labels"),
        (["10", "11"], None),
        (["train", "test"], "the labels `train`, `test` are names of splits: is this the label column?"),
        (["train", "bus"], None),
        (["Positive", "positive"], "and are treated as 2 classes; if they mean the same, use one spelling"),
    ],
)
def test_doubtful_labels_cause_a_warning(labels: Sequence[str], warning: str | None) -> None:
    warnings = "; ".join(label_warnings(sizes(labels)))
    assert warning in warnings if warning else not warnings


@pytest.mark.parametrize(
    ("texts", "warned"),
    [
        ("label: {own} {n}", True),
        ("{n} is [{own}]", True),
        ("{n} is {OWN}", True),
        ("is {n} pos or neg?", False),
        ("{n} is {own}ative", False),
        ("{n} is pos", False),
    ],
)
def test_texts_that_contain_their_own_label_cause_a_warning(tmp_path: Path, texts: str, warned: bool) -> None:
    labels = ["neg", "pos"] * 20
    lines = (f"{texts.format(n=n, own=own, OWN=own.upper())},{own}" for n, own in enumerate(labels))
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *lines]))
    warnings = LocalDataset(path=str(tmp_path / "reviews.csv")).load().warnings
    assert any("contain their own label" in warning for warning in warnings) is warned


def test_a_list_as_label_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 1: the label is a list: several labels per row need a multi-label objective"):
        load(tmp_path, [["toxic"], ["toxic", "insult"]] * 10)


def test_classes_without_examples_in_a_split_are_reported(tmp_path: Path) -> None:
    data = load(tmp_path, ["a", "b"] * 50 + ["rare"] * 2, labels=("a", "b", "rare", "never"))
    warnings = "; ".join(data.warnings)
    assert "dev has no examples of `rare` (2 rows in all), `never` (0 rows in all): its metrics say nothing about these classes" in warnings
    assert "test has no examples of `never` (0 rows in all): its metrics say nothing about this class" in warnings
    assert "train has no examples of `never` (0 rows in all): no model can learn this class" in warnings
    assert load(tmp_path, ["a", "b"] * 50).warnings == ()


def test_real_scores_are_rejected(real_data: Path) -> None:
    with pytest.raises(DataError, match=r"stsb.csv: the labels are scores, such as .* \(33 different values\).*--labels"):
        LocalDataset(path=str(real_data / "trials" / "stsb.csv")).load()


def test_real_joined_labels_cause_a_warning(real_data: Path) -> None:
    (warning,) = LocalDataset(path=str(real_data / "trials" / "multilabel.csv")).load().warnings
    assert warning.startswith("10 of 14 labels combine others, such as `")
    assert "several labels per row need a multi-label objective" in warning
    assert not LocalDataset(path=str(real_data / "ag_news")).load().warnings


def test_json_among_the_labels_causes_a_warning() -> None:
    (warning,) = label_warnings(sizes(["positive", "negative", '{"choices":["positive","negative"]}']))
    assert warning.startswith('`{"choices":["positive","negative"]}` among the labels is JSON and is treated as a class')
