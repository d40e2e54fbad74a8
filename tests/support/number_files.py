"""Files of numbers of handwritten results."""

from __future__ import annotations

import copy
import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ticketlab.report.cells import RUN, Cell, Comparison, Factor
from ticketlab.report.numbers_file import write_numbers


def comparison_of(*runs: Mapping[str, Any]) -> Comparison:
    """Return the comparison of runs by the content of their ``results.json``; stages without a key get one."""
    cells = []
    for number, run in enumerate(runs):
        results = copy.deepcopy(dict(run))
        for task, seeds in results["tasks"].items():
            for seed, stages in seeds.items():
                for name, stage in stages.items():
                    stage.setdefault("key", f"{number} {task} {seed} {name}")
        label = results.get("label", results["recipe"])
        cells.append(Cell(label, {RUN: label}, Path(results.get("run", f"run-{number}")), results))
    return Comparison("", (Factor(RUN, tuple(cell.label for cell in cells)),), tuple(cells))


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def csv_of(path: Path, *runs: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the lines of the file of the runs' numbers."""
    write_numbers(comparison_of(*runs), path)
    return read_csv(path)


def summaries(lines: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the lines of means over seeds."""
    return [line for line in lines if not line["seed"]]
