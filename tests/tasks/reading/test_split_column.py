"""A split column divides the rows, or is rejected with one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ticketlab.core.errors import DataError
from ticketlab.core.settings import from_table, to_table
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.datasets.lookup import find_task
from ticketlab.tasks.reading.split_values import split_of_value

ALL = ["train"] * 6 + ["dev"] * 2 + ["test"] * 2
TWO = ["train"] * 7 + ["test"] * 3


def write(place: Path, splits: list[Any], count: int = 20, column: str = "split", **columns: Any) -> str:
    """Write rows with the given splits in turn; other columns are functions of the row number."""
    rows = [
        {"text": f"text {n}", "label": "ab"[n // 10 % 2], column: splits[n % len(splits)], **{name: of(n) for name, of in columns.items()}}
        for n in range(count)
    ]
    if place.suffix == ".jsonl":
        place.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif place.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), place)
    else:
        place.write_text("\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows), ""]))
    return str(place)


TEST_ONLY = "is used as the test split; there is no training split, so no model can be trained on this data"


def sizes(task: LocalDataset) -> tuple[int, ...]:
    return tuple(len(examples) for examples in task.load().splits.values())


@pytest.mark.parametrize(
    ("splits", "count", "expected", "notice"),
    [
        (ALL, 20, (12, 4, 4), ""),
        (["Train", "TRAINING ", "train", "Valid", "test", "Train", "train_set", "train", "eval", "Testing"], 20, (12, 4, 4), ""),
        (TWO, 100, (63, 7, 30), "a tenth of `FILE (split train)` is used as the dev split"),
        (
            ["train"] * 8 + ["validation"] * 2,
            100,
            (72, 8, 20),
            "`FILE (split validation)` is used as the test split, and a tenth of `FILE (split train)` is used as the dev split",
        ),
        (["test"], 20, (0, 0, 20), f"`FILE (split test)` {TEST_ONLY}"),
        (["train"], 100, (80, 10, 10), ""),
    ],
    ids=["all three", "other spellings", "no dev", "no test", "only test", "only train"],
)
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_rows_are_divided_by_the_split_column(
    tmp_path: Path, suffix: str, splits: list[str], count: int, expected: tuple[int, ...], notice: str
) -> None:
    task = LocalDataset(path=write(tmp_path / f"reviews{suffix}", splits, count))
    data = task.load()
    assert sizes(task) == expected
    assert data.subsets == ()
    assert data.notices[0].startswith("column `split` (")
    assert "divides the rows; --set tasks.split_column=none ignores it" in data.notices[0]
    assert data.notices[1:] == ((notice.replace("FILE", f"reviews{suffix}"),) if notice else ())


def test_a_divided_file_equals_a_folder_of_its_parts(tmp_path: Path) -> None:
    write(tmp_path / "reviews.jsonl", TWO, 60)
    whole = LocalDataset(path=str(tmp_path / "reviews.jsonl")).load()
    rows = [json.loads(line) for line in (tmp_path / "reviews.jsonl").read_text().splitlines()]
    folder = tmp_path / "reviews"
    folder.mkdir()
    for split in ("train", "test"):
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows if row["split"] == split))
    parts = LocalDataset(path=str(folder)).load()
    assert parts.fingerprint == whole.fingerprint
    assert (parts.notices, parts.subsets) == (("a tenth of `train.jsonl` is used as the dev split",), ())


@pytest.mark.parametrize("column", ["Split", "set", "subset", "partition", "fold", "dataset", "data_split", "part"])
def test_a_split_column_may_have_any_name(tmp_path: Path, column: str) -> None:
    assert sizes(LocalDataset(path=write(tmp_path / "reviews.csv", ALL, column=column))) == (12, 4, 4)


def test_none_ignores_the_split_column_also_for_subsets(tmp_path: Path) -> None:
    path = write(tmp_path / "reviews.csv", TWO, 100)
    data = LocalDataset(path=path, split_column=None).load()
    assert [len(examples) for examples in data.splits.values()] == [80, 10, 10]
    assert data.subsets == ()
    assert data.notices == ("column `split` (`train` 70, `test` 30) does not divide the rows, because split_column is none",)
    assert LocalDataset(path=path, split_column=None, subset_columns=("split",)).load().subsets == ("split",)


@pytest.mark.parametrize("value", ["none", "", "part"])
def test_the_setting_is_none_empty_or_a_name(value: str) -> None:
    task = from_table(LocalDataset, {"split_column": value})
    assert task.split_column == (None if value == "none" else value)
    assert from_table(LocalDataset, to_table(task)) == task


def test_a_requested_column_overrides_the_file_name(tmp_path: Path) -> None:
    path = write(tmp_path / "train.csv", ALL, column="which")
    with pytest.raises(DataError, match="contradicts the files' names"):
        LocalDataset(path=path).load()
    assert sizes(LocalDataset(path=path, split_column="which")) == (12, 4, 4)


@pytest.mark.parametrize(
    ("splits", "settings", "message"),
    [
        (
            ["train", "train", "train", "test", "holdout"],
            {},
            "column `split` (`train` 12, `test` 4, `holdout` 4) contains names of splits, but also `holdout`",
        ),
        (["train", "test", ""], {}, "`(empty)` 6) contains names of splits, but also `(empty)`; name a split in every row"),
        (["train", "test", "holdout"], {"split_column": "split"}, "split_column: column `split`"),
        (
            ["a", "b"],
            {"split_column": "split"},
            "must contain only names of splits (train, validation or dev, test), but contains `a`, `b`",
        ),
        ([1, 2], {"split_column": "split"}, "must contain only names of splits"),
        (ALL, {"split_column": "splt"}, "split_column: there is no column `splt`; did you mean `split`?"),
        (
            ALL,
            {"split_column": "text", "text_columns": ("text",)},
            "split_column: `text` is already used for the text, the label or the id",
        ),
        (["dev", "test"], {}, "there is no training split, only validation and test"),
        (ALL, {"train_share": 0.5}, "train_share: the set already has a training split"),
    ],
    ids=["holdout", "empty", "holdout, requested", "other values", "numbers", "no such column", "the text", "no train", "a share"],
)
def test_unusable_split_columns_are_rejected_with_one_line(
    tmp_path: Path, splits: list[Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError) as caught:
        LocalDataset(path=write(tmp_path / "reviews.jsonl", splits), **settings).load()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_split_columns_must_agree(tmp_path: Path) -> None:
    path = write(tmp_path / "reviews.csv", TWO, 40, set=lambda n: ["train", "test"][n % 2])
    with pytest.raises(
        DataError, match=r"columns `split` and `set` divide the rows differently; use --set tasks\.split_column=split for the"
    ):
        LocalDataset(path=path).load()
    data = LocalDataset(path=path, split_column="set").load()
    assert ([len(examples) for examples in data.splits.values()], data.subsets) == ([18, 2, 20], ())
    path = write(tmp_path / "reviews.csv", TWO, 40, set=lambda n: TWO[n % 10].upper())
    assert LocalDataset(path=path).load().subsets == ()


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [("fold", lambda n: n % 5, "notices"), ("is_train", lambda n: n % 2, "warnings"), ("Test", lambda n: n % 2 == 1, "warnings")],
    ids=["folds", "a flag", "a capital flag"],
)
def test_columns_that_resemble_split_columns_are_reported(tmp_path: Path, column: str, value: Any, kind: str) -> None:
    data = LocalDataset(path=write(tmp_path / "reviews.csv", ["x"], 40, column="source", **{column: value})).load()
    assert [len(examples) for examples in data.splits.values()] == [32, 4, 4]
    (message,) = getattr(data, kind)
    assert f"column `{column}`" in message
    assert "write train, validation or test into a column `split`" in message


def test_names_of_splits_in_another_language_cause_a_warning(tmp_path: Path) -> None:
    data = LocalDataset(path=write(tmp_path / "reviews.csv", ["\u8bad\u7ec3\u96c6", "\u6d4b\u8bd5\u96c6"], 40)).load()
    assert [len(examples) for examples in data.splits.values()] == [32, 4, 4]
    (warning,) = data.warnings
    assert warning.startswith(
        "column `split` (`\u8bad\u7ec3\u96c6` 20, `\u6d4b\u8bd5\u96c6` 20) does not divide the rows, because its values are not"
    )


@pytest.mark.parametrize(("column", "values"), [("vehicle", ["train", "car"]), ("dataset", ["imdb", "yelp"]), ("kind", ["test", "real"])])
def test_values_that_are_names_of_splits_only_in_part_are_subsets(tmp_path: Path, column: str, values: list[str]) -> None:
    data = LocalDataset(path=write(tmp_path / "reviews.csv", values, 40, column=column), label_column="label").load()
    assert (data.subsets, data.notices) == ((column,), ())


def test_the_split_column_is_not_a_candidate_for_label_or_text(tmp_path: Path) -> None:
    lines = [f"{n} words here,{n % 3},{TWO[n % 10]}" for n in range(60)]
    (tmp_path / "shop.csv").write_text("\n".join(["opinion,stars,split", *lines, ""]))
    data = LocalDataset(path=str(tmp_path / "shop.csv")).load()
    assert (data.columns, data.label_names, len(data.splits["test"])) == (("opinion",), ("0", "1", "2"), 18)


def test_a_challenge_set_is_evaluated_on_its_test_rows(tmp_path: Path) -> None:
    data = LocalDataset(path=write(tmp_path / "puzzles.csv", TWO)).load_challenge()
    assert [len(examples) for examples in data.splits.values()] == [14, 0, 6]
    assert "--set ood.split_column=none" in data.notices[0]


def test_a_copy_of_a_named_data_set_is_divided_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TICKETLAB_DATA", str(tmp_path))
    rows = [{"sentence": f"s {n}", "label": n // 10 % 2, "split": TWO[n % 10]} for n in range(40)]
    (tmp_path / "sst2.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = find_task("sst2").load()
    assert [len(examples) for examples in data.splits.values()] == [25, 3, 12]
    assert "divides the rows" in data.notices[0]


def test_rows_marked_train_are_not_evaluated(real_data: Path) -> None:
    data = LocalDataset(path=str(real_data / "trials" / "split-column.csv")).load()
    assert [len(examples) for examples in data.splits.values()] == [280, 40, 80]
    assert (data.label_names, data.subsets) == (("neg", "pos"), ())


@pytest.mark.parametrize(
    ("value", "split"),
    [
        ("Train", "train"),
        ("test set", "test"),
        ("VAL", "validation"),
        ("dev-data", "validation"),
        ("trainset", "train"),
        ("trains", None),
        (0, None),
    ],
)
def test_values_are_mapped_to_splits(value: Any, split: str | None) -> None:
    assert split_of_value(value) == split
