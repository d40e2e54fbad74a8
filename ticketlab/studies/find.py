"""Finds what a command compares: a study, or runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ticketlab.core import files
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.lab.finished_runs import LATEST, find_run, names_run
from ticketlab.lab.layout import CELLS, STUDIES, is_run
from ticketlab.lab.run_names import names_of_runs
from ticketlab.report.cells import Comparison, compare_runs
from ticketlab.studies.stored_cells import read_study_cells
from ticketlab.studies.study_folder import is_study, study_folders

if TYPE_CHECKING:
    from ticketlab.runs.run import Run


def find_study(name: str, lab: Path) -> Path | None:
    """Return the folder of a study: a path, its name in the lab, or the only one whose name begins so, the latest if several do.

    A name that is that of a run, or of the recipe of one, is not the beginning of a study's. ``latest`` is the latest study if the lab has
    one.
    """
    path = files.expand(name)
    if is_study(path):
        return path
    if "/" in name:
        return None
    if is_study(lab / STUDIES / name):
        return lab / STUDIES / name
    found = study_folders(lab) if name == LATEST else [folder for folder in study_folders(lab) if folder.name.startswith(name)]
    if name != LATEST and found and names_run(name, lab):
        return None
    return max(found, key=lambda folder: (folder / CELLS).stat().st_mtime_ns, default=None)


def compare(*names: str | Path | Run, lab: str | Path = "lab") -> Comparison:
    """Return the comparison of a study of a lab, or of one or more of its runs: what tables, figures and reports are made of.

    Studies and runs are given by name or folder, as to ``ticketlab report``, and runs also as :class:`Run`.

    :raises UsageError: there is no such study or run; or a study is named together with something else.
    """
    return find_comparison([str(name if isinstance(name, (str, Path)) else name.directory) for name in names], files.expand(lab))


def find_comparison(names: Sequence[str], lab: Path) -> Comparison:
    """Return the comparison of one study, or of one or more finished runs, by name or folder.

    :raises UsageError: there is no such study or run; or a study is named together with something else.
    """
    if not names:
        raise UsageError("name a study, or one or more runs (`ticketlab lab ls` lists them)")
    studies = [study for name in names if (study := find_study(name, lab)) is not None]
    if studies:
        if len(names) > 1:
            raise UsageError(f"{studies[0].name} is a study: name it alone, or name runs only")
        return read_study_cells(studies[0])
    return compare_runs([_run(name, lab) for name in names])


def _run(name: str, lab: Path) -> Path:
    place = files.expand(find_run(name, lab, "model"))
    if not is_run(place):
        known = [*(folder.name for folder in study_folders(lab)), *names_of_runs(lab)]
        raise UsageError(f"{name}: neither a study nor a finished run in {lab}{did_you_mean(name, known)} (`ticketlab lab ls` lists them)")
    return place
