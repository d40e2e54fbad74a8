"""The directory of a run: found by the digest of its work, or a new one with a generated or chosen name."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from attrs import evolve

from ticketlab.core import progress, registry
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import joined
from ticketlab.lab.finished_runs import DEMO, LATEST
from ticketlab.lab.layout import run_folder
from ticketlab.lab.run_file import RunFile, read_run_file
from ticketlab.lab.run_names import DIGEST_AT_END, digest_of, run_named, run_of_digest
from ticketlab.recipes import differences
from ticketlab.recipes.recipe import Recipe
from ticketlab.recipes.run_name import MAX_BYTES, file_system_safe, run_name
from ticketlab.runs.results_metadata import json_value
from ticketlab.runs.run_identity import RunIdentity

RESERVED = re.compile("con|prn|aux|nul|com[0-9]|lpt[0-9]", re.IGNORECASE)
"""Names that Windows does not allow."""


def check_name(name: str) -> None:
    """Check that a name may be chosen for a run.

    :raises UsageError: it is not valid as the name of a directory, or commands would read it as something else.
    """
    if not name or file_system_safe(name) != name or len(name.encode()) > MAX_BYTES or RESERVED.fullmatch(name):
        raise UsageError(
            f"--name {name or repr(name)}: a run's name has letters, digits and single `-` inside, `_`, `+`, `=`, dots inside numbers, "
            f"and at most {MAX_BYTES} bytes"
        )
    if name in (LATEST, DEMO) or name in registry.current().recipes:
        raise UsageError(f"--name {name}: commands read this name as {_reading(name)}; choose another name")
    if DIGEST_AT_END.search(name):
        raise UsageError(f"--name {name}: names of directories without --name end like this, in a digest; choose another name")


def find_directory(recipe: Recipe, digest: str, lab: Path, name: str | None = None) -> Path:
    """Return the directory of a recipe's run, which may not exist yet: that of the same work, or else one called ``name``.

    :raises UsageError: ``name`` cannot be chosen, or is the name of other work.
    """
    same = run_of_digest(digest, lab)
    if name is None:
        return same or run_folder(lab, run_name(recipe, digest))
    check_name(name)
    taken = run_named(name, lab)
    if taken is not None and digest_of(taken) != digest:
        raise UsageError(
            f"--name {name}: {taken} is the run of other work{_description(taken)}; choose another name, or remove that run "
            f"(ticketlab lab rm {taken.name})"
        )
    return same or run_folder(lab, name)


def new_run_file(recipe: Recipe, identity: RunIdentity) -> RunFile:
    """Return the ``run.json`` of a new run."""
    overrides = differences.differences(recipe, recipe.without_overrides)
    return RunFile(
        digest=identity.digest,
        recipe=recipe.name,
        scale=recipe.scale,
        label=differences.recipe_label(recipe),
        overrides={".".join(path): json_value(value) for path, value in overrides.items()},
        model=recipe.model,
        tasks=tuple(task.label for task in recipe.tasks),
        seeds=recipe.seeds,
        keys=identity.keys,
        working_directory=str(Path.cwd()),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def write_run_file(directory: Path, recipe: Recipe, identity: RunIdentity, name: str | None = None) -> RunFile:
    """Write ``run.json`` when a run starts, and return it.

    A run keeps the recipe, scale and label of its first command, and if its directory is not called ``name``, gets it as a further name.
    """
    now, before = new_run_file(recipe, identity), read_run_file(directory)
    if before is not None:
        if (before.label, before.scale) != (now.label, now.scale):
            progress.say(f"{now.label}: the same work as the run {directory.name}, which keeps its label: {before.label}")
        now = evolve(now, recipe=before.recipe, scale=before.scale, label=before.label, overrides=before.overrides)
    names = before.names if before is not None else ()
    if name is not None and name not in (directory.name, *names):
        progress.say(f"--name {name}: the lab has this work already, as the run {directory.name}; `{name}` is a further name of it")
        names = (*names, name)
    now = evolve(now, names=names)
    now.write(directory)
    return now


def _reading(name: str) -> str:
    return "the latest run" if name == LATEST else "the demo model" if name == DEMO else "the latest run of this recipe"


def _description(run: Path) -> str:
    found = read_run_file(run)
    return f" ({found.label} on {joined(found.tasks)})" if found is not None else ""
