from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.hand_made_lab import move_away

from ticketlab.attacks.results import record_file
from ticketlab.attacks.results.record import Record
from ticketlab.lab.layout import stage_folder
from ticketlab.pages.attack_examples import CONTEXT, AttackedTexts, attacked_texts
from ticketlab.report.cells import Cell, Comparison, Factor

STATUSES = ("skipped", *["success"] * 7, *["failed"] * 3)


def attacked(lab: Path, label: str, key: str, records: list[Record]) -> Cell:
    """Return a cell with one attack, whose records are in the lab unless there are none."""
    if records:
        path = record_file.path_in(stage_folder(lab, key), "pwws")
        path.parent.mkdir(parents=True, exist_ok=True)
        header = json.dumps({"format": "ticketlab-attack-records/2", "config": key, "columns": ["text"]})
        path.write_text("".join(f"{line}\n" for line in (header, *(record.to_json() for record in records))))
    stage = {"kind": "attack", "key": key, "of": "train", "attacks": {"pwws": {"successes": 7, "failures": 3}}}
    seeds: dict[str, Any] = {"0": {"attack": stage}, "1": {"attack": {**stage, "key": "f" * 64}}}
    results = {"recipe": "mine", "model": "demo", "scale": "full", "seeds": [0, 1], "tasks": {"sst2": seeds}}
    return Cell(label, {"run": label}, lab / "runs" / label, results)


def texts_of(*cells: Cell) -> list[AttackedTexts]:
    return list(attacked_texts(Comparison("test", (Factor("run", tuple(cell.label for cell in cells)),), cells)))


def records(before: str = "a good film", after: str = "a bad film") -> list[Record]:
    changed = {"original": (before,), "perturbed": (after,), "label": "positive"}
    return [Record(id=f"test-{number}", status=status, **changed) for number, status in enumerate(STATUSES)]  # type: ignore[arg-type]


def test_the_first_examples_of_each_status_are_shown(tmp_path: Path) -> None:
    (texts,) = texts_of(attacked(tmp_path, "a", "a" * 64, records()))
    assert [shown.record.id for shown in texts.examples] == ["test-1", "test-2", "test-3", "test-4", "test-5", "test-8", "test-9"]
    assert (texts.seed, texts.total) == ("0", {"success": 7, "failed": 3})
    (text,) = texts.examples[0].texts
    assert [(words.kind, words.text) for words in text.words] == [
        ("same", "a "),
        ("removed", "good "),
        ("added", "bad "),
        ("same", "film"),
    ]


def test_a_measurement_that_cells_share_is_shown_once(tmp_path: Path) -> None:
    first, second = texts_of(attacked(tmp_path, "a", "a" * 64, records()), attacked(tmp_path, "b", "a" * 64, []))
    assert (first.same_as, second.same_as, second.examples) == ("", "a", ())


def test_records_of_a_lab_at_a_url_are_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = attacked(tmp_path, "a", "a" * 64, records())
    move_away(record_file.path_in(stage_folder(tmp_path, "a" * 64), "pwws"), monkeypatch)
    (texts,) = texts_of(cell)
    assert (len(texts.examples), texts.missing) == (7, "")


def test_missing_and_damaged_records_are_reported(tmp_path: Path) -> None:
    absent = attacked(tmp_path, "a", "a" * 64, [])
    damaged = attacked(tmp_path, "b", "b" * 64, records())
    path = record_file.path_in(stage_folder(tmp_path, "b" * 64), "pwws")
    path.write_text(path.read_text().replace('"status"', '"state"'))
    first, second = texts_of(absent, damaged)
    assert "does not exist" in first.missing
    assert "damaged" in second.missing


def test_long_unchanged_passages_are_shortened(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(200)]
    changed = ["new" if number == 100 else word for number, word in enumerate(words)]
    (texts,) = texts_of(attacked(tmp_path, "a", "a" * 64, records(" ".join(words), " ".join(changed))))
    (text,) = texts.examples[0].texts
    assert [(part.kind, len(part.text.split())) for part in text.words if part.kind != "omitted"] == [
        *[("same", CONTEXT), ("same", CONTEXT), ("removed", 1), ("added", 1), ("same", CONTEXT)]
    ]
    assert [part.text for part in text.words if part.kind == "omitted"] == ["50 words", "74 words"]
