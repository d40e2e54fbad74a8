"""Adversarial examples are exported as a data set that can be used as a task."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from click.testing import CliRunner, Result

from ticketlab.attacks.results import export as exported
from ticketlab.attacks.results.adversarial_examples import collect
from ticketlab.attacks.results.record import Record
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.cli.main import cli
from ticketlab.core.errors import UsageError
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.datasets.lookup import find_task

HEADER: dict[str, Any] = {
    "attack": "pwws",
    "model": "lab/victim",
    "columns": ["sentence"],
    "sample": {"split": "train", "size": 9, "seed": 0},
}
ODD = 'an "odd", text\nwith; <b>all</b>\tof \U0001f600 it'


def record(name: str, before: Sequence[str], after: Sequence[str], label: str, status: str = "success") -> Record:
    return Record(id=name, status=status, original=before, perturbed=after, label=label)  # type: ignore[arg-type]


ROWS = [
    record("train-1", ["a good film"], ["a goood film"], "positive"),
    record("train-2", ["a bad film"], ["a bda film"], "negative"),
    record("train-3", ["a fine film"], ["a fin film"], "positive", "failed"),
    record("train-4", ["a dull film"], ["a dull film"], "negative", "skipped"),
    record("train-5", ["a sad film"], [], "negative", "error"),
    record("train-6", ["odd"], [ODD], "negative"),
    record("train-7", ["good"], ["godo"], "positive"),
]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(rows: Sequence[Record], name: str = "pwws.jsonl", **header: Any) -> Path:
        file = RecordFile(tmp_path / name, "abc", **{**HEADER, **header})
        for row in rows:
            file.add(row)
        assert file.path is not None
        return file.path

    return write


def export(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["attack", "export", *map(str, arguments)], prog_name="ticketlab")


@pytest.mark.parametrize("suffix", exported.SUFFIXES)
def test_a_data_set_holds_the_successes_and_can_be_used_as_a_task(write: Callable[..., Path], tmp_path: Path, suffix: str) -> None:
    out = tmp_path / "out" / f"adversarial{suffix}"
    more = [record(f"more-{number}", ["x"], [f"y {number}"], "positive" if number % 2 else "negative") for number in range(16)]
    result = export(write([*ROWS, *more]), "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "20 texts (10 negative, 10 positive)" in result.stderr
    data = find_task(str(out)).load()
    assert (data.columns, data.label_names, data.subsets) == (("sentence",), ("negative", "positive"), ())
    expected = {("a goood film", "positive"), ("a bda film", "negative"), (ODD, "negative"), ("godo", "positive")}
    expected |= {(row.perturbed[0], row.label) for row in more}
    assert {(example.texts[0], data.label_names[example.label]) for example in data.examples("all")} == expected
    assert data.dropped == {}


def test_rows_hold_their_provenance(write: Callable[..., Path], tmp_path: Path) -> None:
    export(write(ROWS), "--out", tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        first = next(csv.DictReader(file))
    assert list(first) == ["id", "sentence", "label", "attack", "model", "taken_from"]
    assert first == {
        "id": "pwws/train-1",
        "sentence": "a goood film",
        "label": "positive",
        "attack": "pwws",
        "model": "lab/victim",
        "taken_from": "train",
    }


def test_the_split_of_the_originals_does_not_divide_the_texts(write: Callable[..., Path], tmp_path: Path) -> None:
    rows = {"id": [f"pwws/{n}" for n in range(20)], "text": [f"text {n}" for n in range(20)], "label": ["no", "yes"] * 10}
    table = {**rows, "attack": ["pwws"] * 20, "model": ["m"] * 20, "taken_from": ["train"] * 12 + ["test"] * 8}
    out = tmp_path / "both.csv"
    with out.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([table, *zip(*table.values(), strict=True)])
    found = find_task(str(out)).load()
    assert len(found.examples("all")) == 20
    assert len(found.examples("train")) > 12


def test_a_text_with_a_carriage_return_is_read_back_from_csv(write: Callable[..., Path], tmp_path: Path) -> None:
    more = [record(f"more-{number}", ["x"], [f"one\rtwo {number}"], "positive" if number % 2 else "negative") for number in range(20)]
    out = tmp_path / "a.csv"
    assert export(write(more), "--out", out).exit_code == 0
    assert {example.texts[0] for example in find_task(str(out)).load().examples("all")} == {row.perturbed[0] for row in more}


def test_several_files_are_merged_with_unique_ids_and_without_duplicates(write: Callable[..., Path], tmp_path: Path) -> None:
    other = [record("train-1", ["a good film"], ["a ggood film"], "positive"), ROWS[1]]
    files = [
        write(ROWS),
        write(other, "again.jsonl", model="another"),
        write([record("train-1", ["a good film"], ["a god film"], "positive")], "dwb.jsonl", attack="deepwordbug"),
    ]
    result = export(*files, "--out", tmp_path / "a.jsonl")
    assert "6 texts" in result.stderr
    assert "1 duplicate omitted" in result.stderr
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows if "train-1" in row["id"]] == ["pwws/train-1", "pwws#2/train-1", "deepwordbug/train-1"]
    assert exported.read(tmp_path / "a.jsonl").texts[4].original == "train-1"
    data = LocalDataset(path=str(tmp_path / "a.jsonl"), id_column="id").load_challenge()
    assert data.subsets == ("attack", "model")


def test_pairs_keep_their_columns(write: Callable[..., Path], tmp_path: Path) -> None:
    rows = [
        record("1", ["a man sits", "he rests"], ["a man sits", "he rsets"], "yes"),
        record("2", ["a man sits", "he runs"], ["a man sits", "he rnus"], "no"),
    ]
    result = export(write(rows, columns=["premise", "hypothesis"]), "--out", tmp_path / "pairs.csv")
    assert "renamed" not in result.stderr
    data = LocalDataset(path=str(tmp_path / "pairs.csv")).load_challenge()
    assert data.columns == ("premise", "hypothesis")
    assert data.examples("test")[0].texts == ("a man sits", "he rsets")


@pytest.mark.parametrize(
    ("columns", "rows", "called"),
    [
        (["left", "right"], [["a", "b"], ["c", "d"]], ("text1", "text2")),
        (["quip"], [["a"], ["b"]], ("text",)),
        (["label"], [["a"], ["b"]], ("text",)),
        (["id"], [["a"], ["b"]], ("text",)),
        (["review", "comment"], [["a", "b"], ["c", "d"]], ("text1", "text2")),
        (["text"], [["1"], ["2"]], ("text",)),
        (["Review"], [["a"], ["b"]], ("Review",)),
    ],
)
def test_ambiguous_column_names_are_replaced_by_plain_ones(
    write: Callable[..., Path], tmp_path: Path, columns: list[str], rows: list[list[str]], called: tuple[str, ...]
) -> None:
    made = [record(str(number), texts, texts, "yes" if number else "no") for number, texts in enumerate(rows)]
    result = export(write(made, columns=columns), "--out", tmp_path / "a.csv")
    assert result.exit_code == 0, result.stderr
    assert (f"the columns {', '.join(columns)} are renamed {', '.join(called)}" in result.stderr) == (called != tuple(columns))
    data = LocalDataset(path=str(tmp_path / "a.csv")).load_challenge()
    assert data.columns == called
    assert [list(example.texts) for example in data.examples("test")] == rows


def test_a_file_without_column_names_has_plain_ones(write: Callable[..., Path], tmp_path: Path) -> None:
    assert collect([write(ROWS, columns=None)]).columns == ("text",)
    assert collect([write([record("1", ["a", "b"], ["a", "c"], "x")], "b.jsonl", columns=None)]).columns == ("text1", "text2")


@pytest.mark.parametrize("suffix", exported.SUFFIXES)
def test_an_exported_file_is_read_back(write: Callable[..., Path], tmp_path: Path, suffix: str) -> None:
    whole = collect([write(ROWS)])
    out = tmp_path / f"a{suffix}"
    exported.write(whole, out)
    assert exported.read(out).texts == tuple(evolve(one, before=None) for one in whole.texts)
    assert exported.read(whole.sources[0]) == whole


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["pwws.jsonl", "--out", "a.txt"], "a.txt: the name must end in .csv, .jsonl or .parquet"),
        (["pwws.jsonl"], "missing option '--out'"),
        (["--out", "a.csv"], "missing argument"),
        (["nowhere.jsonl", "--out", "a.csv"], "nowhere.jsonl: there is no such file"),
        (["pwws.jsonl", "mine.csv", "--out", "a.csv"], "mine.csv: not a file of attack records"),
        (["held.jsonl", "--out", "a.csv"], "no text fooled the model: there is nothing to write"),
        (
            ["pwws.jsonl", "pair.jsonl", "--out", "a.csv"],
            "pair.jsonl: its texts are premise, hypothesis, those of pwws.jsonl are sentence",
        ),
        (["torn.jsonl", "--out", "a.csv"], "torn.jsonl: `train-1` has 2 texts for the columns sentence"),
    ],
)
def test_failed_exports_are_reported_in_one_line_and_write_no_file(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str], expected: str
) -> None:
    folder = write(ROWS).parent
    monkeypatch.chdir(folder)
    write(ROWS[2:4], "held.jsonl")
    write([record("1", ["a", "b"], ["a", "c"], "yes")], "pair.jsonl", columns=["premise", "hypothesis"])
    write([record("train-1", ["a"], ["b", "c"], "positive")], "torn.jsonl")
    (folder / "mine.csv").write_text("text,label\ngood,1\n", encoding="utf-8")
    result = export(*arguments)
    assert result.exit_code == 2
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (folder / "a.csv").exists()


def test_a_data_set_that_was_not_exported_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("text,label\ngood,1\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("good\n", encoding="utf-8")
    for name in ("mine.csv", "notes.txt"):
        with pytest.raises(UsageError, match="neither a file of attack records nor a data set that"):
            exported.read(tmp_path / name)
