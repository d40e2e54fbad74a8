from __future__ import annotations

from pathlib import Path

from support.comparisons import study

from ticketlab.report.cells import Cell
from ticketlab.report.notes import notes, notes_of_cells


def _results(seeds: dict[str, list[str]]) -> dict[str, object]:
    stages = {seed: {"evaluate": {"kind": "evaluate", "warnings": warnings}} for seed, warnings in seeds.items()}
    return {"seeds": [int(seed) for seed in seeds], "data": {"reviews": {"warnings": ["all alike"]}}, "tasks": {"reviews": stages}}


def test_warnings_of_data_and_stages_are_notes() -> None:
    assert notes(_results({"0": ["one answer"]})) == ["reviews: all alike", "reviews, evaluate: one answer"]


def test_a_warning_of_several_seeds_is_one_note_with_the_seeds() -> None:
    assert notes(_results({"0": ["one answer"], "1": [], "2": ["one answer"]}))[1:] == ["reviews, evaluate (seeds 0, 2): one answer"]


def _noted(*cells: dict[str, list[str]]) -> list[tuple[str, str]]:
    made = [Cell(name, {"method": name}, Path(name), _results(seeds)) for name, seeds in zip("abcd", cells, strict=False)]
    return [(note.text, "".join(cell.label for cell in note.cells)) for note in notes_of_cells(study(made))][1:]


def test_notes_that_differ_only_in_cells_and_seeds_are_one() -> None:
    every, one, other, none = {"0": ["x"], "1": ["x"]}, {"0": ["x"], "1": []}, {"0": [], "1": ["x"]}, {"0": [], "1": []}
    assert _noted(every, none, every) == [("reviews, evaluate: x", "ac")]
    assert _noted(one, one, none) == [("reviews, evaluate (seed 0): x", "ab")]
    assert _noted(every, one, every) == [("reviews, evaluate: x (b with seed 0 only)", "abc")]
    assert _noted(every, one, other) == [("reviews, evaluate: x (2 cells with some seeds only)", "abc")]
