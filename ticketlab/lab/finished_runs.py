"""Finds finished runs of a lab by their names, the beginning of a name or digest, or the name of their recipe."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn

from attrs import frozen

from ticketlab.core import files, progress
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted
from ticketlab.lab import mirror
from ticketlab.lab.layout import RESULTS, finished_runs, is_run
from ticketlab.lab.results import measuring_stages, works_as
from ticketlab.lab.run_file import read_run_file
from ticketlab.lab.run_names import run_named, runs_with_prefix

LATEST = "latest"
DEMO = "demo"
Kind = Literal["model", "attack", "draw", "search"]
MOST_LISTED = 5
_KIND_NAMES: dict[Kind, str] = {"model": "an evaluated model", "attack": "an attack", "draw": "a ticket", "search": "a search"}


@frozen
class _Run:
    folder: Path
    recipe: str
    tasks: tuple[str, ...]
    finished: int


def names_run(name: str, lab: Path) -> bool:
    """Return whether ``name`` is the name of a run, or that of the recipe of a finished one with an evaluated model."""
    return run_named(name, lab) is not None or any(True for _ in _runs(lab, "model", name))


def find_run(name: str, lab: Path, kind: Kind) -> str:
    """Return the directory of the run that ``name`` refers to, and print which one it is.

    ``name`` is the name of a run (of its directory, or one that a user gave it), the name of a recipe or :data:`LATEST` for the latest
    finished run with results of ``kind``, or the beginning of the name or digest of one run. An existing file or folder of that name, the
    model ``demo``, and a name with a slash are returned unchanged, as is a name that matches nothing and is not close to the name of a
    recipe.

    :raises UsageError: the run is not finished; several match a beginning; or there is no such run, and the name is ``latest`` or close to
        the name of a recipe.
    """
    if files.expand(name).exists() or "/" in name or name == DEMO:
        return name
    named = run_named(name, lab)
    if named is not None:
        return _finished(name, named)
    found = list(_runs(lab, kind, None if name == LATEST else name))
    if found:
        newest = max(found, key=lambda run: (run.finished, run.folder.name))
        of = "" if name != LATEST else f" of `{newest.recipe}`"
        number = "the only finished run" if len(found) == 1 else f"the latest of {counted(len(found), 'finished run')}"
        progress.say(f"{name}: {newest.folder}, {number}{of} on {', '.join(newest.tasks)}")
        mirror.fetch(newest.folder)
        return str(newest.folder)
    if name == LATEST:
        _refuse_latest(lab, kind)
    return _with_prefix(name, lab) or _unchanged(name, lab, kind)


def has_results(results: Mapping[str, Any], kind: Kind) -> bool:
    """Return whether the results of a run include a stage of ``kind``; for ``"model"``, whether the run measured a model of its own."""
    by_seed = [stages for seeds in results["tasks"].values() for stages in seeds.values()]
    if kind == "model":
        return any(measured_models(stages) for stages in by_seed)
    return any(works_as(stage, kind) for stages in by_seed for stage in stages.values())


def measured_models(stages: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the stages of one task and seed whose models the run evaluated or attacked, once per measurement."""
    return [stage["of"] for stage in measuring_stages(stages).values() if stage["of"] in stages]


def _finished(name: str, run: Path) -> str:
    """Return the directory of a run as text, and print it unless it has this name.

    :raises UsageError: the run is not finished.
    """
    if not is_run(run):
        raise UsageError(f"{name}: the run {run} is not finished; repeat its command to resume it (`ticketlab lab show {run.name}`)")
    if run.name != name:
        progress.say(f"{name}: {run}")
    mirror.fetch(run)
    return str(run)


def _with_prefix(prefix: str, lab: Path) -> str | None:
    """Return the only run whose name or digest begins with ``prefix``; None if there is none.

    :raises UsageError: there are several, or it is not finished.
    """
    found = runs_with_prefix(prefix, lab)
    if len(found) > 1:
        raise UsageError(f"{prefix}: {len(found)} runs in {lab} begin like this: {listed(found)}; write more of the name or of the digest")
    return _finished(prefix, found[0]) if found else None


def listed(runs: Sequence[Path]) -> str:
    """Return the names of the first runs and the number of the others."""
    more = f" and {len(runs) - MOST_LISTED} more" if len(runs) > MOST_LISTED else ""
    return f"{', '.join(run.name for run in runs[:MOST_LISTED])}{more}"


def _runs(lab: Path, kind: Kind, recipe: str | None) -> Iterator[_Run]:
    """Yield the finished runs of a recipe, or of all, that have results of ``kind``. Damaged ones are skipped."""
    for folder in finished_runs(lab):
        try:
            if recipe is not None and _recipe_of(folder) not in (recipe, None):
                continue
            results = files.read_json(folder / RESULTS)
            if has_results(results, kind) and recipe in (None, results["recipe"]):
                finished = (folder / RESULTS).stat().st_mtime_ns
                yield _Run(folder, str(results["recipe"]), tuple(map(str, results["tasks"])), finished)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue


def _recipe_of(run: Path) -> str | None:
    """Return the recipe of a run without reading its results; None if an earlier version made the run."""
    found = read_run_file(run)
    return None if found is None else found.recipe


def _refuse_latest(lab: Path, kind: Kind) -> NoReturn:
    if not lab.is_dir():
        raise UsageError(f"{LATEST}: no lab at `{lab}` (use --lab for another folder)")
    raise UsageError(f"{LATEST}: no finished run in {lab} has {_KIND_NAMES[kind]} (use --lab for another lab)")


def _unchanged(name: str, lab: Path, kind: Kind) -> str:
    """Return a name that is not that of a run.

    :raises UsageError: it is close to the name of a recipe with runs.
    """
    near = difflib.get_close_matches(name, {run.recipe for run in _runs(lab, kind, None)}, n=1, cutoff=0.7)
    if near:
        raise UsageError(f"{name}: neither a folder here nor a recipe with a finished run in {lab}; did you mean `{near[0]}`?")
    return name
