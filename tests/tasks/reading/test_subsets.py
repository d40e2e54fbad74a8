"""Ids, subsets, training shares and single classes of local files and challenge sets."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from ticketlab.core.errors import DataError
from ticketlab.core.settings import from_table, to_table
from ticketlab.tasks.datasets.local import LocalDataset

Rows = list[dict[str, Any]]


def write(folder: Path, **splits: Rows) -> str:
    for split, rows in splits.items():
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder)


def rows(count: int, **columns: Any) -> Rows:
    """Return rows with a text and alternating labels a and b; other columns are functions of the row number."""
    return [{"text": f"text {n}", "label": "ab"[n % 2], **{name: value(n) for name, value in columns.items()}} for n in range(count)]


def test_columns_with_few_repeated_values_are_subsets(tmp_path: Path) -> None:
    columns = {
        "heuristic": lambda n: ["overlap", "constituent"][n % 2],
        "subcase": lambda n: f"case {n % 20}" if n != 3 else None,
        "template": lambda n: f"template {n // 2}",
        "id": lambda n: f"id {n}",
        "stars": lambda n: n % 5,
        "source": lambda n: "one",
        "gold_label": lambda n: "ab"[n % 2],
    }
    data = LocalDataset(path=write(tmp_path, validation=rows(120, **columns)), text_columns=("text",), label_column="label").load()
    assert data.subsets == ("heuristic", "subcase")
    assert [example.subsets for example in data.splits["test"][:4]] == [
        ("overlap", "case 0"),
        ("constituent", "case 1"),
        ("overlap", "case 2"),
        ("constituent", ""),
    ]


def test_requested_subset_columns_are_used_and_may_be_missing_from_a_split(tmp_path: Path) -> None:
    folder = write(tmp_path, train=rows(40), test=rows(10, stars=lambda n: n % 5, part=lambda n: "pq"[n % 2]))
    data = LocalDataset(path=folder, subset_columns=("stars",)).load()
    assert data.subsets == ("stars",)
    assert {example.subsets for example in data.splits["train"]} == {("",)}
    assert [example.subsets for example in data.splits["test"][:3]] == [("0",), ("1",), ("2",)]
    assert LocalDataset(path=folder, subset_columns=()).load().subsets == ()


@pytest.mark.parametrize(("value", "expected"), [("none", None), ([], ()), ("a, b", ("a", "b")), (["a"], ("a",))])
def test_none_and_an_empty_list_are_different_subset_columns(value: Any, expected: Any) -> None:
    task = from_table(LocalDataset, {"subset_columns": value})
    assert task.subset_columns == expected
    assert from_table(LocalDataset, to_table(task)) == task


def test_the_fingerprint_includes_subsets_only_if_there_are_any(tmp_path: Path) -> None:
    folder = write(tmp_path, validation=rows(4, part=lambda n: "pq"[n % 2]))
    plain, parted = LocalDataset(path=folder, subset_columns=()).load(), LocalDataset(path=folder).load()
    assert plain.fingerprint != parted.fingerprint
    examples = [f'["validation-{n}", ["text {n}"], {n % 2}]' for n in range(4)]
    content = '[["text"], ["a", "b"]]' + '"dev"' + '"test"' + "".join(examples) + '"train"'
    assert plain.fingerprint == hashlib.sha256(content.encode()).hexdigest()


def test_ids_are_used_unchanged(tmp_path: Path) -> None:
    folder = write(tmp_path, train=rows(20, key=lambda n: f" t{n}"), test=rows(4, key=lambda n: n + 7))
    data = LocalDataset(path=folder, id_column="key").load()
    assert [example.id for example in data.splits["test"]] == ["7", "8", "9", "10"]
    assert {example.id for split in ("train", "dev") for example in data.splits[split]} == {f" t{n}" for n in range(20)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"id_column": "keys"}, "id_column: there is no column `keys`; did you mean `key`?"),
        ({"id_column": "zzz"}, "id_column: there is no column `zzz` (the columns are `text`, `label`, `key`, `one`, `hole`, `bad`)"),
        ({"id_column": "text"}, "id_column: `text` is already used for the text"),
        ({"id_column": "label"}, "id_column: `label` is already used for the label"),
        ({"id_column": "one"}, "`same` in column `one` is the id of two rows of train; ids must be unique across all splits"),
        ({"id_column": "hole"}, "row 3: the id in column `hole` is empty: ''"),
        ({"id_column": "bad"}, "row 1: an id must be a string or a number, not a list"),
        ({"subset_columns": ("keey",)}, "subset_columns: there is no column `keey`; did you mean `key`?"),
        ({"subset_columns": ("label",)}, "subset_columns: `label` is already used for the text, the label or the id"),
        ({"subset_columns": ("one", "one")}, "subset_columns: `one` is listed twice"),
        ({"subset_columns": ("bad",)}, "row 1: a subset must be a string or a number, not a list"),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value),
)
def test_unusable_id_and_subset_columns_are_rejected(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    columns = {"key": str, "one": lambda n: "same", "hole": lambda n: "" if n == 2 else str(n), "bad": lambda n: [n]}
    with pytest.raises(DataError) as caught:
        LocalDataset(path=write(tmp_path, train=rows(20, **columns)), text_columns=("text",), label_column="label", **settings).load()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_id_that_occurs_in_two_splits_is_rejected(tmp_path: Path) -> None:
    folder = write(tmp_path, train=rows(20, key=str), test=rows(30, key=lambda n: str(n + 19)))
    with pytest.raises(DataError, match=r"`19` in column `key` is the id of a row of (train|test) and of one of (test|train)"):
        LocalDataset(path=folder, id_column="key").load()


def test_a_share_of_a_single_split_is_used_for_training(tmp_path: Path) -> None:
    folder = write(tmp_path, validation=[*rows(40), *({"text": f"more {n}", "label": "b"} for n in range(40))])
    task = LocalDataset(path=folder, train_share="1/4")
    read = {"task": task.load(), "challenge": task.load_challenge()}
    counts = {
        name: {split: Counter(example.label for example in found) for split, found in data.splits.items()} for name, data in read.items()
    }
    assert counts["challenge"] == {"train": {0: 5, 1: 15}, "dev": {}, "test": {0: 15, 1: 45}}
    # a task holds out a tenth of these twenty as the dev split
    assert counts["task"]["test"] == {0: 15, 1: 45}
    assert (counts["task"]["train"].total(), counts["task"]["dev"].total()) == (18, 2)
    for data in read.values():
        assert len({example.id for found in data.splits.values() for example in found}) == 80
    small = LocalDataset(path=folder, train_share=0.25, train_rows=8).load()
    assert (len(small.splits["train"]), small.splits["test"]) == (8, task.load().splits["test"])


@pytest.mark.parametrize("share", [None, 0.5])
def test_a_file_not_named_after_a_split_is_the_test_split_of_a_challenge_set(tmp_path: Path, share: float | None) -> None:
    write(tmp_path, paws=rows(40))
    data = LocalDataset(path=str(tmp_path / "paws.jsonl"), train_share=share).load_challenge()
    assert {split: len(found) for split, found in data.splits.items()} == {
        "train": 20 if share else 0,
        "dev": 0,
        "test": 20 if share else 40,
    }


@pytest.mark.parametrize(
    ("share", "message"),
    [(0.01, "train_share: 0.01 of 20 rows leaves none for the train split; use a larger share"), (1.0, "test split; use a smaller share")],
)
@pytest.mark.parametrize("load", ["load", "load_challenge"])
def test_a_share_that_leaves_a_split_empty_is_rejected(tmp_path: Path, share: float, message: str, load: str) -> None:
    write(tmp_path, paws=rows(20))
    with pytest.raises(DataError, match=message):
        getattr(LocalDataset(path=str(tmp_path / "paws.jsonl"), train_share=share), load)()


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ({"train": 20}, "train_share: the set already has a training split; remove train_share"),
        ({"train": 20, "validation": 20}, "train_share: the set already has a training split"),
        ({"validation": 20, "test": 20}, "train_share: the set has test and validation splits, and only a single split can be divided"),
    ],
)
def test_train_share_is_rejected_for_data_with_splits(tmp_path: Path, splits: dict[str, int], message: str) -> None:
    task = LocalDataset(path=write(tmp_path, **{split: rows(count) for split, count in splits.items()}), train_share=0.5)
    with pytest.raises(DataError) as caught:
        task.load_challenge()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("splits", "sizes"),
    [
        ({"validation": 20}, (0, 0, 20)),
        ({"train": 20, "validation": 10}, (20, 0, 10)),
        ({"train": 20, "validation": 10, "test": 6}, (20, 10, 6)),
        ({"validation": 10, "test": 6}, (0, 10, 6)),
        ({"train": 20}, (16, 2, 2)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_no_dev_split_is_held_out_of_a_challenge_set(tmp_path: Path, splits: dict[str, int], sizes: tuple[int, ...]) -> None:
    data = LocalDataset(path=write(tmp_path, **{split: rows(count) for split, count in splits.items()})).load_challenge()
    assert tuple(len(data.splits[split]) for split in ("train", "dev", "test")) == sizes


def test_a_challenge_set_may_have_one_class_and_so_may_rows_to_test_on_if_labels_are_declared(tmp_path: Path) -> None:
    task = LocalDataset(path=write(tmp_path, test=[{"text": f"text {n}", "label": "b" if n else None} for n in range(5)]))
    data = task.load_challenge()
    assert (data.label_names, len(data.splits["test"]), dict(data.dropped)) == (("b",), 4, {"unlabelled": 1})
    with pytest.raises(DataError, match="all rows are labelled `b`; give the names of all labels with --labels"):
        task.load()
    assert {example.label for example in evolve(task, labels=("a", "b")).load().splits["test"]} == {1}


def test_a_class_may_occur_only_in_the_test_split_of_a_challenge_set(tmp_path: Path) -> None:
    task = LocalDataset(path=write(tmp_path, train=rows(20), test=[*rows(3), {"text": "x", "label": "c"}]))
    assert task.load_challenge().label_names == ("a", "b", "c")
    with pytest.raises(DataError, match="the label `c` is in test but never in train"):
        task.load()


@pytest.mark.parametrize("label", [{"label": -1}, {"label": None}], ids=["all -1", "all missing"])
def test_an_unlabelled_challenge_set_is_rejected(tmp_path: Path, label: dict[str, Any]) -> None:
    task = LocalDataset(path=write(tmp_path, test=[{"text": f"text {n}", **label} for n in range(5)]))
    for load in (task.load, task.load_challenge):
        with pytest.raises(DataError, match="no usable rows are left for the test split, 5 unlabelled"):
            load()


def test_real_hans_has_subsets_and_half_of_it_can_be_used_for_training(real_data: Path) -> None:
    data = LocalDataset(path=str(real_data / "hans"), train_share=0.5).load_challenge()
    assert (data.label_names, data.subsets) == (("entailment", "non-entailment"), ("heuristic", "subcase"))
    assert [Counter(example.label for example in data.splits[split]) for split in ("train", "test")] == [{0: 1500, 1: 1500}] * 2
    assert {example.subsets[0] for example in data.splits["test"]} == {"lexical_overlap", "subsequence", "constituent"}
    assert len({example.subsets[1] for example in data.splits["test"]}) == 30


@pytest.mark.parametrize(("name", "size"), [("mrpc", 1725), ("sick", 495), ("fever_symmetric", 708)])
def test_other_real_sets_have_no_subsets(real_data: Path, name: str, size: int) -> None:
    data = LocalDataset(path=str(real_data / name)).load_challenge()
    assert (data.subsets, len(data.splits["test"]), dict(data.dropped)) == ((), size, {})
