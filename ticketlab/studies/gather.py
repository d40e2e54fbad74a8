"""Writes the runs of a study's cells from the stages in the lab, whichever process has computed them."""

from __future__ import annotations

from pathlib import Path

import torch
from attrs import evolve

from ticketlab.core import files, progress
from ticketlab.core.errors import TicketlabError, UsageError
from ticketlab.core.formatting import counted
from ticketlab.lab.lab import is_read_only
from ticketlab.lab.layout import CELLS, lab_of_run
from ticketlab.lab.open_lab import open_lab
from ticketlab.runs.run import run_loaded
from ticketlab.studies.plan import Plan, plan_study
from ticketlab.studies.read_definition import read_study
from ticketlab.studies.store import StudyStore
from ticketlab.studies.study_folder import DEFINITION, PLAN


def assemble(plan: Plan, number: int) -> tuple[Path | None, str]:
    """Write the run of a cell whose stages are all in the lab. Return its directory, or why there is none."""
    cell = plan.cells[number]
    assert cell.inputs is not None
    try:
        with progress.silent():
            return run_loaded(cell.inputs, plan.lab).directory, ""
    except TicketlabError as problem:
        return None, str(problem)


def gather(plan: Plan, store: StudyStore) -> int:
    """Write the runs of the cells that have none yet and whose stages are all in the lab. Return how many stages the lab still lacks."""
    plan.lab.look_again()
    missing = {key for key in plan.stages if not plan.lab.has(key)}
    for number, cell in enumerate(plan.cells):
        if cell.keys and cell.same_as is None and missing.isdisjoint(cell.keys.values()) and not store.has_run(number):
            store.cell_done(number, *assemble(plan, number))
    return len(missing)


def gather_study(folder: Path) -> None:
    """Write the runs of a study's cells that are complete without having a run, as after its last part was killed.

    If the study cannot be planned as its parts planned it, what is missing here is reported.
    """
    complete = complete_cells(folder)
    lab = lab_of_run(folder)
    if not complete or is_read_only(folder, lab):
        return
    recorded = files.read_json(folder / PLAN)
    before = torch.get_num_threads()
    try:
        if recorded["threads"]:  # it is part of the keys of stages on a CPU
            torch.set_num_threads(int(recorded["threads"]))
        with progress.silent():
            study = read_study(folder / DEFINITION)
            plan = plan_study(evolve(study, name=str(files.read_json(folder / CELLS)["study"])), lab)
        if set(plan.stages) != {entry["key"] for entry in recorded["stages"]}:
            raise UsageError("here its stages have other keys, because data, model, plugins, or device are others")
        gather(plan, StudyStore(plan, folder))
    except TicketlabError as problem:
        cells = counted(len(complete), "cell")
        progress.warn(f"{folder.name}: {cells} can only be shown after the study, or a part of it, has been repeated: {problem}")
    finally:
        torch.set_num_threads(before)


def complete_cells(folder: Path) -> list[str]:
    """Return the labels of a study's cells that have no run, although the lab has all of their stages."""
    try:
        cells = files.read_json(folder / CELLS)["cells"]
        without = {cell["label"] for cell in cells if not (cell["run"] or cell["same_as"])}
        stages = {cell["label"]: cell["stages"] for cell in files.read_json(folder / PLAN)["cells"] if cell["label"] in without}
    except (OSError, ValueError, KeyError, TypeError):  # of an earlier version, or damaged, which reading it reports
        return []
    lab = open_lab(lab_of_run(folder))
    return [label for label, keys in stages.items() if keys and all(map(lab.has, keys))]
