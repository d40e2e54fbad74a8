"""The folder of a study in a lab, ``LAB/studies/NAME/``: its definition, its plan, its log, and which run each cell is.

::

    study.toml    the definition, with every factor and level
    plan.json     the keys of its stages and of its cells: what the study needs of the lab
    log.jsonl     what its stages logged, as in the directory of a run
    study.json    its cells: levels, the name of the run in LAB/runs, or the error

Several processes may execute one study, whole or in parts. Each writes what it knows, and keeps what the others have written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from attrs import define, field

from ticketlab.core import files
from ticketlab.core.version import __version__
from ticketlab.lab import mirror
from ticketlab.lab.layout import CELLS, LOG, RUN_FILE, run_folder
from ticketlab.lab.run_file import read_run_file
from ticketlab.runs.stage_cache import threads_in_key
from ticketlab.studies.design import unavailable
from ticketlab.studies.hypotheses import FIRST_RUN, HYPOTHESES, first_run
from ticketlab.studies.part import Part
from ticketlab.studies.plan import Plan, inapplicable_factors
from ticketlab.studies.study_folder import DEFINITION, PLAN, check_same

SCHEMA = 1


@define
class StudyStore:
    """Writes the folder of a study while it, or a ``part`` of it, is executed."""

    plan: Plan
    folder: Path
    part: Part | None = None
    _own: set[int] = field(factory=set)
    """The cells whose run or error this process has found, by position. What the folder has of the others is kept."""
    _runs: dict[int, str] = field(factory=dict)
    _errors: dict[int, tuple[str, str]] = field(factory=dict)
    """The errors of cells, each with the part that found it."""
    _inapplicable: list[tuple[str, ...]] = field(init=False)
    _keys_of_runs: dict[str, frozenset[str]] = field(factory=dict)
    _first_run: dict[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._inapplicable = inapplicable_factors(self.plan.study, self.plan.cells)

    def begin(self) -> None:
        """Write the definition and the plan. Runs of an earlier execution that are still those of their cells stay listed.

        Its errors do not, because what has failed is tried again; but what other parts of the study have found stays.

        :raises UsageError: the folder has become that of another study.
        """
        study = self.plan.study
        with self._locked():
            check_same(self.folder, study)
            files.write_text(self.folder / DEFINITION, tomlkit.dumps(study.to_table()))
            files.write_json(self.folder / PLAN, self._plan_table())
            self._read_others(keep=lambda part: self.part is not None and part != str(self.part) and part.endswith(f"/{self.part.of}"))
            self._write()

    def _stages_in_lab(self) -> int:
        return sum(self.plan.lab.has(key) for key in self.plan.stages)

    def _plan_table(self) -> dict[str, Any]:
        """Return the content of ``plan.json``."""
        plan = self.plan
        return {
            "schema": SCHEMA,
            "threads": threads_in_key(),
            **({} if self.part is None else {"parts": self.part.of}),
            "stages": [{"key": key, "stage": planned.title, "kind": planned.stage.name} for key, planned in plan.stages.items()],
            "cells": [{"label": cell.cell.label, "stages": sorted(set(cell.keys.values()))} for cell in plan.cells],
        }

    def cell_done(self, number: int, run: Path | None, error: str) -> None:
        """Record the run of a cell, or its error. Without either, the cell stays as it is, and so does one with the stages of another."""
        if self._first(number) != number:
            return
        if run is not None:
            self._errors.pop(number, None)
            self._runs[number] = run.name
        elif error and not unavailable(self.plan.cells[number].cell.levels):
            self._runs.pop(number, None)
            self._errors[number] = error, str(self.part or "")
        else:
            return
        self._own.add(number)
        self.write()

    def has_run(self, number: int) -> bool:
        """Return whether a cell's run is recorded."""
        return number in self._runs

    def failed(self) -> list[str]:
        """Return the labels of the cells in which this process has found an error."""
        found = self._own & self._errors.keys()
        return [cell.cell.label for number, cell in enumerate(self.plan.cells) if self._first(number) in found]

    def _first(self, number: int) -> int:
        """Return the position of the first cell with the stages of a cell, whose run and error are those of all."""
        first = self.plan.cells[number].same_as
        return number if first is None else first

    def write(self) -> None:
        """Write the cells."""
        with self._locked():
            self._read_others(keep=lambda part: True)
            self._write()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from writing the study while the block runs."""
        with self.plan.lab.updating(self.folder, without=[LOG]):
            yield

    def _write(self) -> None:
        files.write_json(self.folder / CELLS, self.to_table())

    def _read_others(self, keep: Callable[[str], bool]) -> None:
        """Take over the record of the first run, and what is recorded of the cells that this process knows nothing about.

        Of the errors, those that were found by the parts that ``keep`` accepts.
        """
        table = _read(self.folder)
        self._first_run = first_run(table, self.plan.study.report.get(HYPOTHESES, ()), self._stages_in_lab)
        recorded = {str(entry.get("label")): entry for entry in _cells_of(table or {})}
        for number, cell in enumerate(self.plan.cells):
            if number in self._own or self._first(number) != number or (entry := recorded.get(cell.cell.label)) is None:
                continue
            run, error, part = entry.get("run"), str(entry.get("error") or ""), str(entry.get("part") or "")
            self._runs.pop(number, None)
            self._errors.pop(number, None)
            if isinstance(run, str) and self._stages_of(run) == frozenset(cell.keys.values()):
                self._runs[number] = run
            elif error and keep(part):
                self._errors[number] = error, part

    def _stages_of(self, run: str) -> frozenset[str]:
        """Return the keys of the stages of a run in the lab; none if it is not there."""
        if run not in self._keys_of_runs:
            folder = run_folder(self.plan.lab.root, run)
            mirror.fetch(folder / RUN_FILE)
            found = read_run_file(folder)
            self._keys_of_runs[run] = frozenset() if found is None else frozenset(found.keys)
        return self._keys_of_runs[run]

    def to_table(self) -> dict[str, Any]:
        """Return the content of ``study.json``."""
        study, plan = self.plan.study, self.plan
        return {
            "schema": SCHEMA,
            "ticketlab": __version__,
            "study": study.name,
            "digest": study.digest(),
            "summary": study.summary,
            "paper": study.paper,
            "design": study.design,
            "baseline": study.baseline,
            "factors": [
                {"name": factor.name, "keys": factor.keys, "levels": [level.label for level in factor.levels]} for factor in study.factors
            ],
            "cells": [
                {
                    "label": cell.cell.label,
                    "levels": {name: level.label for name, level in cell.cell.levels.items()},
                    "run": self._runs.get(self._first(number)),
                    "same_as": None if cell.same_as is None else plan.cells[cell.same_as].cell.label,
                    "inapplicable": list(self._inapplicable[number]),
                    "error": self._errors.get(self._first(number), ("", ""))[0],
                    "part": self._errors.get(self._first(number), ("", ""))[1],
                    "unavailable": unavailable(cell.cell.levels),
                }
                for number, cell in enumerate(plan.cells)
            ],
            "stages": {"distinct": len(plan.stages), "without_sharing": plan.users()},
            FIRST_RUN: self._first_run,
            **study.report,
        }


def _read(folder: Path) -> Mapping[str, Any] | None:
    """Return the content of ``study.json``, None if there is none."""
    try:
        found = files.read_json(folder / CELLS)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, Mapping) else None


def _cells_of(table: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the cells that earlier executions and other processes have recorded, if any."""
    found = table.get("cells")
    return [entry for entry in found if isinstance(entry, Mapping)] if isinstance(found, list) else ()
