"""Copies of stage outputs in a run's directory: the tickets of draws and the predictions of evaluations, by task, stage and seed."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

from ticketlab.attacks.results.record_file import file_name
from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab import integrity
from ticketlab.lab.layout import TICKET, TICKETS
from ticketlab.recipes.recipe import Recipe


def ticket_copy(run: Path, task: str, name: str, seed: int | str) -> Path:
    """Return the path of the copy of the ticket that a task's stage ``name`` drew, in a run's directory."""
    return _copy_path(run, (TICKET, TICKETS), task, name, seed)


def copy_stage_output(run: Path, output: tuple[str, str] | None, task: str, name: str, seed: int, folder: Path) -> None:
    """Copy the :attr:`~ticketlab.stages.base.Stage.copied_output` of a finished stage from its ``folder``.

    :raises Damaged: the file is not what the stage wrote.
    """
    if output is None:
        return
    source = folder / output[0]
    integrity.check(source)
    files.write_atomic(_copy_path(run, output, task, name, seed), functools.partial(shutil.copyfile, source))


def check_unique_names(recipe: Recipe) -> None:
    """Check that no two copies have the same name, even on file systems that ignore case.

    :raises UsageError: two have, such as those of a task ``a`` with a stage ``b-draw`` and a task ``a-b`` with a stage ``draw``.
    """
    owners: dict[tuple[str, str], tuple[str, str]] = {}
    for task in recipe.tasks:
        for name, stage in recipe.of(task).stages.items():
            if stage.copied_output is None:
                continue
            folder, stem = stage.copied_output[1], _stem(task.label, name)
            owner = owners.setdefault((folder, stem.lower()), (task.label, name))
            if owner != (task.label, name):
                raise UsageError(
                    f"the stage `{name}` of {task.label} and the stage `{owner[1]}` of {owner[0]} would both write "
                    f"{folder}/{stem}; rename a stage or a task"
                )


def _copy_path(run: Path, output: tuple[str, str], task: str, name: str, seed: int | str) -> Path:
    file, folder = output
    return run / folder / f"{_stem(task, name)}-seed{seed}{Path(file).suffix}"


def _stem(task: str, name: str) -> str:
    return f"{file_name(task)}-{name}"
