"""The studies of a lab, as far as the notebook lists and removes them. :mod:`ticketlab.studies.store` writes them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core import files
from ticketlab.lab.layout import CELLS, STUDIES

DEFINITION = "study.toml"


@frozen
class StudyEntry:
    """A study: its name, summary and factors with their numbers of levels; its cells, of which some are finished and some have errors.

    ``cells`` does not count those that the study does not compute because a level is unavailable. ``changed`` is when it last changed, in
    seconds since the epoch.
    """

    name: str
    summary: str
    factors: Mapping[str, int]
    cells: int
    finished: int
    failed: int
    changed: float


def is_study(folder: Path) -> bool:
    """Return whether a folder is that of a study."""
    return (folder / DEFINITION).is_file() or (folder / CELLS).is_file()


def read_studies(lab: Path) -> list[StudyEntry]:
    """Return the studies of a lab, the newest first. What cannot be read of one is empty."""
    found = []
    for folder in (lab / STUDIES).glob("*"):
        if is_study(folder):
            with contextlib.suppress(OSError):
                found.append(_read(folder))
    return sorted(found, key=lambda study: (-study.changed, study.name))


def _read(folder: Path) -> StudyEntry:
    changed = max(file.stat().st_mtime for file in folder.glob("study.*"))
    try:
        return StudyEntry(folder.name, **_content(files.read_json(folder / CELLS)), changed=changed)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return StudyEntry(folder.name, "", {}, 0, 0, 0, changed)


def _content(table: Mapping[str, Any]) -> dict[str, Any]:
    cells = [cell for cell in table["cells"] if not cell.get("unavailable")]
    return {
        "summary": str(table["summary"] or table["study"]),
        "factors": {str(factor["name"]): len(factor["levels"]) for factor in table["factors"]},
        "cells": len(cells),
        "finished": sum(bool(cell["run"]) for cell in cells),
        "failed": sum(bool(cell["error"]) for cell in cells),
    }
