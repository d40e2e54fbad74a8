"""The kinds of stages, from what is in their folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ticketlab.core import files
from ticketlab.lab.layout import BIAS, EXPORTED, RECORDS, RESULT, SCORES, TICKET, model_folder, stage_folder
from ticketlab.notebook.removal import Unneeded

UNFINISHED = "unfinished"
KINDS = ("train", "search", "draw", "evaluate", "attack", "bias", "export", UNFINISHED)
KIND_OF_FILE = {SCORES: "search", TICKET: "draw", BIAS: "bias", RECORDS: "attack", EXPORTED: "export", model_folder(): "train"}
"""What only stages of a kind have in their folder, in the order in which it is looked for."""


def kind_of_stage(folder: Path) -> str:
    """Return the kind of a stage from its folder; ``unfinished`` if it has no result."""
    if not (folder / RESULT).is_file():
        return UNFINISHED
    found = next((kind for name, kind in KIND_OF_FILE.items() if (folder / name).exists()), "")
    return found or _kind_of_result(folder / RESULT)


def count_by_kind(lab: Path, stages: Sequence[Unneeded]) -> list[tuple[str, int, int]]:
    """Return the kinds of stages with their number and bytes."""
    by_kind: dict[str, list[int]] = {}
    for stage in stages:
        by_kind.setdefault(kind_of_stage(stage_folder(lab, stage.key)), []).append(stage.bytes)
    return [(kind, len(by_kind[kind]), sum(by_kind[kind])) for kind in sorted(by_kind, key=KINDS.index)]


def _kind_of_result(result: Path) -> str:
    try:
        found = files.read_json(result)
    except (OSError, ValueError):
        return UNFINISHED
    return next((kind for kind in ("search", "train", "attack") if kind in found), "evaluate")
