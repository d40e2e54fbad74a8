"""The cells of a comparison: runs and the levels of the factors that distinguish them; what tables, statistics and figures are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from ticketlab.lab.layout import RESULTS
from ticketlab.lab.results import read_results

if TYPE_CHECKING:
    from ticketlab.report.hypothesis import Hypothesis

RUN = "run"
"""The factor of a comparison of runs that no study has planned."""


@frozen
class Factor:
    """A factor of a study and its levels, in order. ``key`` is what it varies; for a factor of several settings it is their names."""

    name: str
    levels: tuple[str, ...]
    key: str = ""


@frozen(eq=False)
class Cell:
    """One combination of levels: its run's results, or the ``error`` that ended it. Two cells are equal only if they are one object.

    ``levels`` has the level of each factor, by the factor's name. ``results`` is None, and ``folder`` may not exist, if the cell is not
    finished, or if the results of its run cannot be read any more, and then ``missing`` says why. ``same_as`` is the label of the earlier
    cell whose stages are all the same, and ``inapplicable`` names the factors that have no effect on this cell. ``unavailable`` is why the
    study does not compute this cell, if so; only a paper has numbers for it.
    """

    label: str
    levels: Mapping[str, str]
    folder: Path
    results: Mapping[str, Any] | None
    same_as: str = ""
    inapplicable: tuple[str, ...] = ()
    error: str = ""
    missing: str = ""
    unavailable: str = ""


@frozen
class Published:
    """A number printed in a paper: its metric, its value, and the levels of the cells that it is of.

    The value is as printed: fractions in percent, parameters in millions. ``levels`` may name only some of the factors: the number is then
    of every cell with these levels.
    """

    levels: Mapping[str, str]
    metric: str
    value: float


@frozen
class Comparison:
    """Cells to compare, and the paper's numbers for them."""

    title: str
    """The title of the report."""
    factors: tuple[Factor, ...]
    """The factors of the study with their levels."""
    cells: tuple[Cell, ...]
    """The cells, a run for each."""
    baseline: str = ""
    """The label of the cell that the others are compared with; empty for none."""
    notes: tuple[str, ...] = ()
    """Lines to print under the tables."""
    published: tuple[Published, ...] = ()
    """The numbers that the paper prints."""
    table: Mapping[str, Any] = field(factory=dict)
    """What the table shows, as in a study file."""
    figures: tuple[Mapping[str, Any], ...] = ()
    """The figures, as in a study file."""
    differences: tuple[str, ...] = ()
    """How the set-up differs from that of the paper."""
    hypotheses: tuple[Hypothesis, ...] = ()
    """What the study is to decide."""

    @property
    def finished(self) -> list[tuple[Cell, Mapping[str, Any]]]:
        """The cells that have results, with them."""
        return [(cell, cell.results) for cell in self.cells if cell.results is not None]


def compare_runs(folders: Sequence[Path], title: str = "") -> Comparison:
    """Return the comparison of finished runs, by their directories. The only factor is the run. A run that is named twice counts once.

    :raises UsageError: a directory has no results.
    """
    distinct: dict[Path, Path] = {}
    for folder in folders:
        distinct.setdefault(folder.resolve(), folder)
    cells: list[Cell] = []
    for place, folder in distinct.items():
        results = read_results(folder / RESULTS)
        own = str(results.get("label", results["recipe"]))
        taken = {cell.label for cell in cells}
        label = next(one for one in (own, f"{own} [{folder.name}]", f"{own} [{place}]") if one not in taken)
        cells.append(Cell(label, {RUN: label}, folder, results))
    factor = Factor(RUN, tuple(cell.label for cell in cells), RUN)
    return Comparison(title or ", ".join(cell.folder.name for cell in cells), (factor,), tuple(cells))
