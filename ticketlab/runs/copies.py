"""Copies in a run's directory: each draw's ticket and each evaluation's predictions, named by task, stage and seed."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

from ticketlab.attacks.results.records import file_name
from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab import integrity
from ticketlab.lab.layout import PREDICTION_FILES, PREDICTIONS, TICKET, TICKETS
from ticketlab.recipes.recipe import Recipe

COPIED = {"draw": (TICKET, TICKETS), "evaluate": (PREDICTIONS, PREDICTION_FILES)}
"""The file of a stage that is copied, by the stage's kind, and the folder that has the copies."""


def copy_path(run: Path, kind: str, task: str, name: str, seed: int | str) -> Path:
    """Return where a run's directory has the copy for a task's stage ``name`` of this kind."""
    left, folder = COPIED[kind]
    return run / folder / f"{_stem(task, name)}-seed{seed}{Path(left).suffix}"


def copy(run: Path, kind: str, task: str, name: str, seed: int, stage: Path) -> None:
    """Copy what a finished stage left in its folder ``stage``, if it is of a kind that is copied.

    :raises Damaged: the file is not what the stage left.
    """
    if kind not in COPIED:
        return
    source = stage / COPIED[kind][0]
    integrity.check(source)
    files.write_atomic(copy_path(run, kind, task, name, seed), functools.partial(shutil.copyfile, source))


def check(recipe: Recipe) -> None:
    """Check that no two copies have one name, on file systems that ignore case too.

    :raises UsageError: they do, as of a task ``a`` with a stage ``b-draw`` and a task ``a-b`` with a stage ``draw``.
    """
    taken: dict[tuple[str, str], tuple[str, str]] = {}
    for task in recipe.tasks:
        for name, stage in recipe.of(task).stages.items():
            if stage.name not in COPIED:
                continue
            stem = _stem(task.label, name)
            other = taken.setdefault((stage.name, stem.lower()), (task.label, name))
            if other != (task.label, name):
                raise UsageError(
                    f"the stage `{name}` of {task.label} and the stage `{other[1]}` of {other[0]} would both leave "
                    f"{COPIED[stage.name][1]}/{stem}; rename a stage or a task"
                )


def _stem(task: str, name: str) -> str:
    return f"{file_name(task)}-{name}"
