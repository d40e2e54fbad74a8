from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.measured_cells import compared, measured_cell

from ticketlab.core.errors import UsageError
from ticketlab.lab.layout import RECIPE
from ticketlab.report.cells import Cell
from ticketlab.report.selection import Selection, select_level


def make(lab: Path, sparsity: str, method: str = "imp", recipe: str = "[retrain]\nepochs = 3\n", **more: Any) -> Cell:
    cell = measured_cell(lab, {"method": method, "sparsity": sparsity}, **more)
    (cell.folder / RECIPE).write_text(recipe)
    return cell


def select(*cells: Cell, metric: str = "clean.accuracy", selected_on: str = "") -> tuple[Selection, ...]:
    return select_level(compared(*cells), "sparsity", metric, selected_on=selected_on)


def test_the_level_is_selected_on_development_data_for_each_combination_of_the_other_factors(tmp_path: Path) -> None:
    cells = [
        make(tmp_path, "0.1", clean=["1111", "1111"], dev=["1000", "1100"]),
        make(tmp_path, "0.5", clean=["1000", "1110"], dev=["1100", "1110"]),
        make(tmp_path, "0.1", "mask", clean=["1111", "1110"], dev=["1111", "1111"]),
        make(tmp_path, "0.5", "mask", clean=["1111", "1111"], dev=["1110", "1110"]),
    ]
    imp, mask = select(*cells)
    assert (imp.level, imp.cell, imp.levels, imp.selected_on) == ("0.5", "imp, 0.5", {"method": "imp"}, "dev.clean.accuracy")
    assert imp.candidates == {"0.1": pytest.approx(3 / 8), "0.5": pytest.approx(5 / 8)}
    assert imp.test is not None
    assert (imp.test.mean, imp.test.seeds) == (pytest.approx(0.5), 2)  # although 0.1 is better on the test split
    assert imp.description == "sparsity 0.5, selected among 0.1, 0.5 on development data (dev.clean.accuracy)"
    assert mask.level == "0.1"


def test_without_a_number_on_the_split_the_history_of_the_training_decides(tmp_path: Path) -> None:
    cells = [
        make(tmp_path, "0.1", clean=["11"], attack=["fs"], history=[(0.9, 0.5)]),  # the last step has the model
        make(tmp_path, "0.5", clean=["10"], attack=["ff"], history=[(0.1, 0.6)]),
    ]
    (found,) = select(*cells, metric="attack.pwws.aua")
    assert (found.level, found.selected_on, found.candidates) == ("0.5", "history.retrain.dev_accuracy", {"0.1": 0.5, "0.5": 0.6})


def test_a_training_that_kept_its_best_step_counts_with_that_step(tmp_path: Path) -> None:
    best = '[retrain]\nselect = "best"\nselect_after = 0.5\n'
    cells = [
        make(tmp_path, "0.1", recipe=best, clean=["11"], history=[(0.95, 0.9, 0.5, 0.5)]),  # step 10 of 40 is too early
        make(tmp_path, "0.5", recipe=best, clean=["10"], history=[(0.1, 0.6, 0.7, 0.6)]),
    ]
    (found,) = select(*cells)
    assert (found.level, found.candidates) == ("0.1", {"0.1": 0.9, "0.5": 0.7})


def test_the_part_that_must_have_passed_is_one_of_the_planned_steps(tmp_path: Path) -> None:
    best = '[retrain]\nselect = "best"\nselect_after = 0.5\n'
    cells = [
        make(tmp_path, "0.1", recipe=best, clean=["11"], history=[(0.7, 0.9, 0.5, 0.6)]),
        make(tmp_path, "0.5", recipe=best, clean=["10"], history=[(0.8, 0.8, 0.8, 0.7)]),
    ]
    for cell in cells:
        (cell.results or {})["tasks"]["sst2"]["0"]["retrain"]["train"]["planned_steps"] = 60  # a stop rule ended it at 40
    (cells[1].results or {})["tasks"]["sst2"]["0"]["retrain"]["train"]["history"][2]["dev_accuracy"] = None
    (found,) = select(*cells)
    assert found.candidates == {"0.1": 0.6, "0.5": 0.7}


def test_the_direction_is_that_of_the_metric_that_selects(tmp_path: Path) -> None:
    one = make(tmp_path, "0.1", clean=["11"], attack=["fs"], dev=["11"])
    other = make(tmp_path, "0.5", clean=["11"], attack=["ff"], dev=["10"])
    (found,) = select(one, other, metric="attack.pwws.suc", selected_on="dev.clean.accuracy")
    assert found.level == "0.1"


def test_equal_levels_select_the_first(tmp_path: Path) -> None:
    (found,) = select(*(make(tmp_path, level, clean=["11"], dev=["11"]) for level in ("0.3", "0.1")))
    assert found.level == "0.3"


@pytest.mark.parametrize(
    ("second", "selected_on", "reason"),
    [
        pytest.param({"clean": ["11"]}, "", "no level has `dev.clean.accuracy`, and imp, 0.1: `retrain` measured nothing on development "
                     "data", id="no development number"),
        pytest.param({"clean": ["11"], "dev": ["11"]}, "dev.clean.accuracy", "these cells have no `dev.clean.accuracy`: imp, 0.1",
                     id="not of all levels"),
    ],
)  # fmt: skip
def test_without_development_numbers_nothing_is_selected(tmp_path: Path, second: dict[str, Any], selected_on: str, reason: str) -> None:
    cells = [make(tmp_path, "0.1", clean=["10"]), make(tmp_path, "0.5", **second)]
    (found,) = select(*cells, selected_on=selected_on)
    assert (found.level, found.test, found.reason) == (None, None, reason)


def test_only_common_seeds_select(tmp_path: Path) -> None:
    cells = [
        make(tmp_path, "0.1", clean=["11", "11"], dev=["10", "11"]),
        make(tmp_path, "0.5", clean=["10"], dev=["10"], seeds=(1,)),
    ]
    (found,) = select(*cells)
    assert found.candidates == {"0.1": 1.0, "0.5": 0.5}


def test_a_single_level_and_a_factor_without_effect_need_no_selection(tmp_path: Path) -> None:
    (found,) = select(make(tmp_path, "0.1", clean=["11"]))
    assert (found.level, found.reason) == ("0.1", "the only level with a number")
    same = [make(tmp_path, level, "dense", clean=["11"], inapplicable=("sparsity",)) for level in ("0.1", "0.5")]
    assert select(*same)[0].reason == "sparsity has no effect"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sparsty", "clean.accuracy"), "no factor `sparsty`; did you mean `sparsity`"),
        (("sparsity", "dev.clean.accuracy"), "is measured on development data"),
        (("sparsity", "clean.acuracy"), "no run has the metric `clean.acuracy`"),
    ],
)
def test_impossible_selections_are_errors(tmp_path: Path, arguments: tuple[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        select_level(compared(make(tmp_path, "0.1", clean=["11"])), *arguments)
    with pytest.raises(UsageError, match=r"not measured on development data; name a metric that begins with `dev.`"):
        select(make(tmp_path, "0.1", clean=["11"]), selected_on="clean.accuracy")


def test_a_model_of_one_class_that_nothing_can_fool_is_not_selected(tmp_path: Path) -> None:
    cells = [make(tmp_path, level, attack=attack) for level, attack in (("0.1", ["ff"]), ("0.5", ["fs"]))]
    for cell in cells:
        stages = (cell.results or {})["tasks"]["sst2"]["0"]
        stages["attack-dev"] = {**stages["attack"], "split": "dev", "sample": {**stages["attack"].get("sample", {}), "split": "dev"}}
    of_one = (cells[0].results or {})["tasks"]["sst2"]["0"]["attack-dev"]
    of_one["warnings"] = ["the model predicts `a` for every example of the sample; it may have learned nothing"]
    (found,) = select(*cells, metric="attack.pwws.aua", selected_on="dev.attack.pwws.aua")
    assert (found.level, found.one_class, found.candidates) == ("0.5", ("0.1",), {"0.1": 1.0, "0.5": 0.5})
    assert "selected among 0.5 on development data" in found.description
    assert "left out, because the model predicts one class: 0.1" in found.description
