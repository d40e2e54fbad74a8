from __future__ import annotations

from pathlib import Path

import pytest
from support.measured_cells import compared, measured_cell

from ticketlab.core.errors import UsageError
from ticketlab.report.baseline import find_baseline
from ticketlab.report.cells import Cell


def cell(method: str, sparsity: str = "0.3", task: str = "sst2") -> Cell:
    return Cell(f"{method} {sparsity} {task}", {"method": method, "sparsity": sparsity, "task": task}, Path(method), None)


TICKETS = [cell("ticket", sparsity, task) for sparsity in ("0.1", "0.3") for task in ("sst2", "mrpc")]
DENSE = [cell("dense", "0.1", task) for task in ("sst2", "mrpc")]
RANDOM = [cell("random", sparsity, task) for sparsity in ("0.1", "0.3") for task in ("sst2", "mrpc")]
ALL = compared(*TICKETS, *DENSE, *RANDOM, baseline="dense")


@pytest.mark.parametrize(
    ("of", "name", "expected"),
    [
        pytest.param("ticket 0.3 sst2", "", "dense 0.1 sst2", id="a level that was run at one sparsity is the baseline at all"),
        pytest.param("ticket 0.3 mrpc", "", "dense 0.1 mrpc", id="with the task of the cell"),
        pytest.param("ticket 0.3 mrpc", "random", "random 0.3 mrpc", id="with all levels of the cell, where they vary"),
        pytest.param("ticket 0.3 mrpc", "random 0.1 sst2", "random 0.1 sst2", id="a cell"),
        pytest.param("dense 0.1 sst2", "", "dense 0.1 sst2", id="of itself"),
    ],
)
def test_the_baseline_of_a_cell(of: str, name: str, expected: str) -> None:
    found = find_baseline(ALL, next(one for one in ALL.cells if one.label == of), name)
    assert found.cell is not None
    assert found.cell.label == expected


def test_a_cell_may_have_no_baseline() -> None:
    assert find_baseline(compared(*TICKETS), TICKETS[0]).reason == "no baseline was named"
    some = compared(*TICKETS, *RANDOM[:2], cell("random", "0.3"), baseline="random")
    missing = find_baseline(some, TICKETS[-1])
    assert (missing.cell, missing.reason) == (None, "no cell is `random` at sparsity 0.3, task mrpc")


def test_an_unknown_baseline_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"no cell or level is called `dence`.*did you mean `dense`"):
        find_baseline(ALL, TICKETS[0], "dence")


def test_a_level_of_two_factors_is_not_a_baseline() -> None:
    cells = [Cell(f"{one}, {two}", {"adversary": one, "retrain": two}, Path(), None) for one in ("none", "pgd") for two in ("none", "pgd")]
    with pytest.raises(UsageError, match="the baseline `none` is a level of `adversary` and `retrain`: name a cell, such as `none, none`"):
        find_baseline(compared(*cells), cells[1], "none")


def test_cells_with_results_are_found_too(tmp_path: Path) -> None:
    made = measured_cell(tmp_path, {"method": "dense"}, clean=["1"])
    assert find_baseline(compared(made), made, "dense").cell == made
