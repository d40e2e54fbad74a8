"""Finds the runs that the commands of the notebook are given, finished or not."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core import files
from ticketlab.core.errors import UsageError, nearest
from ticketlab.lab.finished_runs import LATEST, listed
from ticketlab.lab.layout import LOG, RECIPE, RESULTS, RUN_FILE, STUDIES, run_directories
from ticketlab.lab.run_file import read_run_file
from ticketlab.lab.run_names import names_of_runs, run_named, runs_with_prefix
from ticketlab.notebook.studies import is_study, read_studies


def find_any_run(name: str, lab: Path) -> Path:
    """Return the directory of a run, finished or not.

    ``name`` is its directory, its name or one that a user gave it, the beginning of a name or of the digest, the name of a recipe for its
    latest run, or ``latest``.

    :raises UsageError: there is no such run, or several begin like this.
    """
    runs = run_directories(lab)
    found = runs if name == LATEST else [run for run in runs if _recipe_of(run) == name]
    if found and not files.expand(name).is_dir() and run_named(name, lab) is None:
        return max(found, key=lambda run: (_changed(run), run.name))
    return find_one_run(name, lab)


def find_one_run(name: str, lab: Path) -> Path:
    """Return the directory of the one run that ``name`` can mean: its directory, its whole name, or the beginning of its name or digest.

    :raises UsageError: there is no such run, or several begin like this.
    """
    path = files.expand(name)
    if path.is_dir() and any((path / file).is_file() for file in (RESULTS, RUN_FILE, RECIPE)):
        return path
    named = run_named(name, lab)
    if named is not None:
        return named
    found = runs_with_prefix(name, lab)
    if len(found) > 1:
        raise UsageError(f"{name}: {len(found)} runs in {lab} begin like this: {listed(found)}; write more of the name or of the digest")
    if not found:
        if _study(name, lab) is not None:
            raise UsageError(f"{name}: a study and not a run; `ticketlab report {name}` shows it")
        near = nearest(name, names_of_runs(lab) + [study.name for study in read_studies(lab)])
        hint = f"; did you mean `{near}`?" if near else ""
        raise UsageError(f"{name}: no such run in {lab}{hint} (`ticketlab lab ls` lists them; --lab names another lab)")
    return found[0]


def find_run_or_study(name: str, lab: Path) -> Path:
    """Return the folder of the study with this whole name, or else of the run as :func:`find_one_run` finds it.

    Raises the errors of :func:`find_one_run`.
    """
    study = _study(name, lab)
    return find_one_run(name, lab) if study is None else study


def _study(name: str, lab: Path) -> Path | None:
    """Return the folder of the study with this path or whole name; None if there is none."""
    places = [files.expand(name), *([lab / STUDIES / name] if name and "/" not in name else [])]
    return next((place for place in places if is_study(place)), None)


def _recipe_of(run: Path) -> str:
    found = read_run_file(run)
    if found is not None:
        return found.recipe
    try:
        return str(files.read_json(run / RESULTS)["recipe"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _changed(run: Path) -> float:
    return max((path.stat().st_mtime for path in (run / RESULTS, run / LOG, run) if path.exists()), default=0.0)
