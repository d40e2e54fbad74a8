"""Reads the cells of a study and what a report needs of them from its folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.core import debugging, files
from ticketlab.core.errors import UsageError
from ticketlab.lab.layout import CELLS, RESULTS, lab_of_run, run_folder
from ticketlab.lab.results import read_results
from ticketlab.report.cells import Cell, Comparison, Factor, Published
from ticketlab.report.hypothesis import Hypothesis
from ticketlab.studies.hypotheses import FIRST_RUN, HYPOTHESES, first_run_notes
from ticketlab.studies.levels import label_of
from ticketlab.studies.report_keys import is_published_level, texts_of
from ticketlab.studies.study_folder import own_name


def read_study_cells(folder: Path) -> Comparison:
    """Return the comparison of a study's cells.

    :raises UsageError: the folder is not that of a study, or is damaged.
    """
    try:
        table = files.read_json(folder / CELLS)
        factors = tuple(Factor(factor["name"], tuple(factor["levels"]), "+".join(factor["keys"])) for factor in table["factors"])
        return Comparison(
            title=_title(folder, table),
            factors=factors,
            cells=tuple(_cells(folder, table["cells"])),
            baseline=str(table["baseline"]),
            notes=(*map(str, texts_of(table.get("notes", ()))), *first_run_notes(table.get(FIRST_RUN, {}), table.get(HYPOTHESES, ()))),
            published=tuple(_published(table.get("published", ()), {factor.name for factor in factors})),
            table=dict(table.get("table", {})),
            figures=tuple(table.get("figures", ())),
            differences=tuple(map(str, texts_of(table.get("differences", ())))),
            hypotheses=tuple(map(Hypothesis.from_table, table.get(HYPOTHESES, ()))),
        )
    except UsageError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        debugging.print_traceback(problem)
        raise UsageError(f"{folder}: not a study, or damaged; run the study again, or remove the folder") from problem


def _title(folder: Path, table: Mapping[str, Any]) -> str:
    """Return the title of a study: its summary, the name that the user gave its folder, or that of its definition."""
    own = own_name(table["study"], table["digest"])
    summary = str(table["summary"])
    return summary[:1].upper() + summary[1:] or (str(table["study"]) if folder.name == own else folder.name)


def _published(entries: Iterable[Mapping[str, Any]], factors: Collection[str]) -> Iterator[Published]:
    """Yield the published numbers: the entries of a table that are not levels of factors are metrics."""
    for entry in entries:
        levels = {name: label_of(value) for name, value in entry.items() if is_published_level(name, factors)}
        yield from (Published(levels, name, float(value)) for name, value in entry.items() if name not in levels)


def _cells(folder: Path, entries: Sequence[Mapping[str, Any]]) -> Iterator[Cell]:
    lab = lab_of_run(folder)
    read: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        run, missing = entry["run"], ""
        place = run_folder(lab, str(run)) if run else folder
        if run and run not in read:
            if (place / RESULTS).is_file():
                read[run] = read_results(place / RESULTS)
            else:
                missing = f"its run {run} is no longer in the lab; repeat the study"
        yield Cell(
            label=str(entry["label"]),
            levels={str(name): str(level) for name, level in entry["levels"].items()},
            folder=place,
            results=read.get(str(run)) if run else None,
            same_as=str(entry["same_as"] or ""),
            inapplicable=tuple(entry["inapplicable"]),
            error=str(entry["error"]),
            missing=missing,
            unavailable=str(entry.get("unavailable", "")),
        )
