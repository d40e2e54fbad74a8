"""Copies of stage outputs in a run's directory: the tickets of draws and the predictions of evaluations, by task, stage and seed."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

from ticketlab.attacks.results.record_file import file_name
from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab import integrity
from ticketlab.lab.layout import PREDICTION_FILES, PREDICTIONS, TICKET, TICKETS
from ticketlab.recipes.recipe import Recipe

COPIED_FILES = {"draw": (TICKET, TICKETS), "evaluate": (PREDICTIONS, PREDICTION_FILES)}
"""The file of a stage that is copied, by the stage's kind, and the folder for the copies."""


def copy_path(run: Path, kind: str, task: str, name: str, seed: int | str) -> Path:
    """Return the path of the copy for a task's stage ``name`` of this kind in a run's directory."""
    file, folder = COPIED_FILES[kind]
    return run / folder / f"{_stem(task, name)}-seed{seed}{Path(file).suffix}"


def copy_stage_output(run: Path, kind: str, task: str, name: str, seed: int, stage: Path) -> None:
    """Copy the output of a finished stage from its folder ``stage``, if stages of this kind are copied.

    :raises Damaged: the file is not what the stage wrote.
    """
    if kind not in COPIED_FILES:
        return
    source = stage / COPIED_FILES[kind][0]
    integrity.check(source)
    files.write_atomic(copy_path(run, kind, task, name, seed), functools.partial(shutil.copyfile, source))


def check_unique_names(recipe: Recipe) -> None:
    """Check that no two copies have the same name, even on file systems that ignore case.

    :raises UsageError: two have, such as those of a task ``a`` with a stage ``b-draw`` and a task ``a-b`` with a stage ``draw``.
    """
    owners: dict[tuple[str, str], tuple[str, str]] = {}
    for task in recipe.tasks:
        for name, stage in recipe.of(task).stages.items():
            if stage.name not in COPIED_FILES:
                continue
            stem = _stem(task.label, name)
            owner = owners.setdefault((stage.name, stem.lower()), (task.label, name))
            if owner != (task.label, name):
                raise UsageError(
                    f"the stage `{name}` of {task.label} and the stage `{owner[1]}` of {owner[0]} would both write "
                    f"{COPIED_FILES[stage.name][1]}/{stem}; rename a stage or a task"
                )


def _stem(task: str, name: str) -> str:
    return f"{file_name(task)}-{name}"
