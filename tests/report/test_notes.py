from __future__ import annotations

from ticketlab.report.notes import notes


def _results(seeds: dict[str, list[str]]) -> dict[str, object]:
    stages = {seed: {"evaluate": {"kind": "evaluate", "warnings": warnings}} for seed, warnings in seeds.items()}
    return {"seeds": [int(seed) for seed in seeds], "data": {"reviews": {"warnings": ["all alike"]}}, "tasks": {"reviews": stages}}


def test_warnings_of_data_and_stages_are_notes() -> None:
    assert notes(_results({"0": ["one answer"]})) == ["reviews: all alike", "reviews, evaluate: one answer"]


def test_a_warning_of_several_seeds_is_one_note_with_the_seeds() -> None:
    assert notes(_results({"0": ["one answer"], "1": [], "2": ["one answer"]}))[1:] == ["reviews, evaluate (seeds 0, 2): one answer"]
