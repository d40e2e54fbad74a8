"""The kinds of stages, from what is in their folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ticketlab.core import files
from ticketlab.lab.layout import BIAS, EXPORTED, RECORDS, RESULT, SCORES, TICKET, model_folder, stage_folder
from ticketlab.notebook.removal import Unneeded

UNFINISHED = "unfinished"
KIND_OF_FILE = {SCORES: "search", TICKET: "draw", BIAS: "bias", RECORDS: "attack", EXPORTED: "export", model_folder(): "train"}
"""What only stages of a kind have in their folder, in the order in which it is looked for, for results that do not name their kind."""


def kind_of_stage(folder: Path) -> str:
    """Return the kind of a stage from its folder; ``unfinished`` if it has no result."""
    try:
        result = files.read_json(folder / RESULT)
    except (OSError, ValueError):
        return UNFINISHED
    if "kind" in result:
        return str(result["kind"])
    found = next((kind for name, kind in KIND_OF_FILE.items() if (folder / name).exists()), "")
    return found or next((kind for kind in ("search", "train", "attack") if kind in result), "evaluate")


def count_by_kind(lab: Path, stages: Sequence[Unneeded]) -> list[tuple[str, int, int]]:
    """Return the kinds of stages with their number and bytes."""
    by_kind: dict[str, list[int]] = {}
    for stage in stages:
        by_kind.setdefault(kind_of_stage(stage_folder(lab, stage.key)), []).append(stage.bytes)
    return [(kind, len(by_kind[kind]), sum(by_kind[kind])) for kind in sorted(by_kind, key=lambda kind: (kind == UNFINISHED, kind))]
