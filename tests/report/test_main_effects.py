from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from scipy import stats
from support.measured_cells import compared, measured_cell

from ticketlab.report.cells import Cell
from ticketlab.report.main_effects import NOT_BALANCED, LevelEffect, MainEffect, main_effects

CELLS = {("imp", "0.1"): "789", ("imp", "0.5"): "556", ("mask", "0.1"): "899", ("mask", "0.5"): "358"}
"""How many of 10 examples are right with each of three seeds, by pruner and sparsity."""


def make(lab: Path, pruner: str, sparsity: str, counts: str, **more: object) -> Cell:
    clean = [("1" * int(count)).ljust(10, "0") for count in counts]
    return measured_cell(lab, {"pruner": pruner, "sparsity": sparsity}, clean=clean, **more)  # type: ignore[arg-type]


def effects(cells: list[Cell], baseline: str = "") -> dict[str, MainEffect]:
    return {effect.factor: effect for effect in main_effects(compared(*cells, baseline=baseline), "clean.accuracy")}


def means(effect: MainEffect) -> dict[str, float | None]:
    return {level.level: level.mean and round(level.mean.mean, 9) for level in effect.levels}


def differences(effect: MainEffect) -> dict[str, float | None]:
    return {level.level: level.difference and round(level.difference.mean, 9) for level in effect.levels}


def test_in_a_grid_a_level_has_the_mean_of_its_cells_and_the_difference_over_pairs(tmp_path: Path) -> None:
    found = effects([make(tmp_path, *levels, counts) for levels, counts in CELLS.items()])
    assert means(found["pruner"]) == {"imp": round(40 / 60, 9), "mask": round(42 / 60, 9)}
    assert differences(found["pruner"]) == {"imp": None, "mask": round(2 / 60, 9)}
    assert means(found["sparsity"]) == {"0.1": round(50 / 60, 9), "0.5": round(32 / 60, 9)}
    assert differences(found["sparsity"]) == {"0.1": None, "0.5": -0.3}
    assert all(effect.balanced and not effect.notes for effect in found.values())


def test_intervals_are_over_seeds(tmp_path: Path) -> None:
    found = effects([make(tmp_path, *levels, counts) for levels, counts in CELLS.items()])["sparsity"].levels[1]
    by_seed = [(5 - 7 + 3 - 8) / 20, (5 - 8 + 5 - 9) / 20, (6 - 9 + 8 - 9) / 20]
    expected = stats.ttest_1samp(by_seed, 0)
    assert found.difference is not None
    assert found.difference.interval == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert (found.p, found.pairs, found.unpaired) == (pytest.approx(expected.pvalue), 2, 0)


def test_one_seed_has_no_interval(tmp_path: Path) -> None:
    found = effects([make(tmp_path, *levels, counts[:1]) for levels, counts in CELLS.items()])["pruner"].levels[1]
    assert found.difference is not None
    assert (found.difference.interval, found.p) == (None, None)


def test_in_an_unbalanced_design_only_cells_that_differ_in_the_factor_alone_are_paired(tmp_path: Path) -> None:
    """One at a time: (imp, 0.1) is the base, each other cell changes one factor."""
    found = effects([make(tmp_path, *levels, CELLS[levels]) for levels in (("imp", "0.1"), ("mask", "0.1"), ("imp", "0.5"))])
    pruner = found["pruner"]
    assert (pruner.balanced, pruner.notes) == (False, (NOT_BALANCED,))
    assert differences(pruner) == {"imp": None, "mask": round((8 - 7 + 9 - 8 + 9 - 9) / 30, 9)}
    assert differences(found["sparsity"])["0.5"] == round((5 - 7 + 5 - 8 + 6 - 9) / 30, 9)
    assert pruner.levels[0] == LevelEffect("imp", pruner.levels[0].mean, 2)


def test_cells_without_a_partner_are_counted(tmp_path: Path) -> None:
    found = effects([make(tmp_path, *levels, CELLS[levels]) for levels in (("imp", "0.1"), ("mask", "0.1"), ("mask", "0.5"))])
    assert (found["pruner"].levels[1].pairs, found["pruner"].levels[1].unpaired) == (1, 1)


def test_the_reference_is_the_level_of_the_baseline(tmp_path: Path) -> None:
    cells = [make(tmp_path, *levels, counts) for levels, counts in CELLS.items()]
    assert {name: effect.reference for name, effect in effects(cells, "mask, 0.5").items()} == {"pruner": "mask", "sparsity": "0.5"}
    assert {name: effect.reference for name, effect in effects(cells, "mask").items()} == {"pruner": "mask", "sparsity": "0.1"}


def test_cells_on_which_a_factor_has_no_effect_are_left_out(tmp_path: Path) -> None:
    cells = [make(tmp_path, *levels, counts) for levels, counts in CELLS.items()]
    cells += [make(tmp_path, pruner, "0.9", "111", inapplicable=("pruner",)) for pruner in ("imp", "mask")]
    found = effects(cells)["pruner"]
    assert differences(found) == {"imp": None, "mask": round(2 / 60, 9)}
    assert found.notes == ("2 cells on which pruner has no effect are left out",)


def test_seeds_that_not_all_cells_have_are_left_out(tmp_path: Path) -> None:
    cells = [make(tmp_path, "imp", "0.1", "789"), make(tmp_path, "mask", "0.1", "89")]
    found = effects(cells)["pruner"]
    assert found.levels[0].mean is not None
    assert found.levels[1].difference is not None
    assert (found.levels[0].mean.seeds, found.levels[1].difference.seeds) == (3, 2)
    assert found.notes == ("not all cells have seed 2: each number uses the seeds that all of its cells have",)


def test_tasks_are_paired_with_themselves_unless_they_are_the_factor(tmp_path: Path) -> None:
    cells = [
        evolve(make(tmp_path, pruner, "0.1", counts, task=task), levels={"pruner": pruner, "task": task}, label=f"{pruner} {task}")
        for pruner, task, counts in (("imp", "a", "12"), ("imp", "b", "23"), ("mask", "a", "34"), ("mask", "b", "46"))
    ]
    found = effects(cells)
    assert differences(found["pruner"])["mask"] == round((2 + 2 + 2 + 3) / 40, 9)
    assert differences(found["task"])["b"] == round((1 + 1 + 1 + 2) / 40, 9)
    (only,) = main_effects(compared(*cells), "clean.accuracy", task="a")
    assert differences(only) == {"imp": None, "mask": 0.2}
