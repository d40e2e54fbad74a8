"""Finds finished runs of a lab by the name of their recipe, or the latest of all."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from attrs import frozen

from ticketlab.core import files, progress
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted
from ticketlab.lab.layout import RESULTS, finished_runs, is_run, run_folder
from ticketlab.lab.results import augmentation_sources

LATEST = "latest"
DEMO = "demo"
Kind = Literal["model", "attack", "draw", "search"]
_KIND_NAMES: dict[Kind, str] = {"model": "an evaluated model", "attack": "an attack", "draw": "a ticket", "search": "a search"}


@frozen
class _Run:
    folder: Path
    recipe: str
    tasks: tuple[str, ...]
    finished: int


def find_run(name: str, lab: Path, kind: Kind) -> str:
    """Return the directory of the latest finished run that matches ``name``, and print which one it is.

    ``name`` is the name of a recipe, :data:`LATEST` for all recipes, or the name of a run's directory. Only runs that have results of
    ``kind`` match. An existing file or folder of that name, the model ``demo``, and a name with a slash are returned unchanged, as is a
    name that matches nothing and is not close to the name of a recipe.

    :raises UsageError: there is no such run, and the name is ``latest`` or close to the name of a recipe.
    """
    if files.expand(name).exists() or "/" in name or name == DEMO:
        return name
    if is_run(run_folder(lab, name)):
        return str(run_folder(lab, name))
    pattern = "*" if name == LATEST else f"{glob.escape(name)}-*"
    found = [run for run in _runs(lab, pattern, kind) if name in (LATEST, run.recipe)]
    if not found:
        _refuse(name, lab, kind)
        return name
    newest = max(found, key=lambda run: (run.finished, run.folder.name))
    of = "" if name != LATEST else f" of `{newest.recipe}`"
    number = "the only finished run" if len(found) == 1 else f"the latest of {counted(len(found), 'finished run')}"
    progress.say(f"{name}: {newest.folder}, {number}{of} on {', '.join(newest.tasks)}")
    return str(newest.folder)


def has_results(results: Mapping[str, Any], kind: Kind) -> bool:
    """Return whether the results of a run include a stage of ``kind``; for ``"model"``, whether the run measured a model of its own."""
    by_seed = [stages for seeds in results["tasks"].values() for stages in seeds.values()]
    if kind == "model":
        return any(measured_models(stages) for stages in by_seed)
    return any(stage["kind"] == kind for stages in by_seed for stage in stages.values())


def measured_models(stages: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the stages of one task and seed whose models the run evaluated or attacked, once per measurement."""
    sources = augmentation_sources(stages)
    return [stage["of"] for name, stage in stages.items() if stage.get("of") in stages and name not in sources]


def _runs(lab: Path, pattern: str, kind: Kind) -> Iterator[_Run]:
    """Yield the finished runs that have results of ``kind``. Damaged ones are skipped."""
    for folder in finished_runs(lab, pattern):
        try:
            results = files.read_json(folder / RESULTS)
            if has_results(results, kind):
                finished = (folder / RESULTS).stat().st_mtime_ns
                yield _Run(folder, str(results["recipe"]), tuple(map(str, results["tasks"])), finished)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue


def _refuse(name: str, lab: Path, kind: Kind) -> None:
    """Refuse ``latest`` in a lab without such runs, and names that are close to the name of a recipe with runs.

    :raises UsageError: ``name`` is one of them.
    """
    if name == LATEST and not lab.is_dir():
        raise UsageError(f"{name}: no lab at `{lab}` (use --lab for another folder)")
    if name == LATEST:
        raise UsageError(f"{name}: no finished run in {lab} has {_KIND_NAMES[kind]} (use --lab for another lab)")
    known = {run.recipe for run in _runs(lab, "*", kind)}
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    if near:
        raise UsageError(f"{name}: neither a folder here nor a recipe with a finished run in {lab}; did you mean `{near[0]}`?")
