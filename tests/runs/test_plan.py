from __future__ import annotations

from typing import ClassVar

import pytest
from attrs import evolve, frozen

from ticketlab.core import files
from ticketlab.core.errors import DataError, UsageError
from ticketlab.runs.plan import describe
from ticketlab.runs.run import run
from ticketlab.tasks.base import Task
from ticketlab.tasks.datasets.hub import Sst2
from ticketlab.tasks.datasets.local import LocalDataset


def test_the_plan_marks_stages_that_are_in_the_lab(make_recipe, tmp_path):
    recipe = make_recipe(without=("search", "draw", "retrain", "attack", "evaluate"))
    assert list(describe(recipe, tmp_path)) == [
        "demo seed 0 finetune: to be computed",
        f"demo seed 0: 0 of 1 stage in the lab at {tmp_path}",
    ]
    run(recipe, tmp_path)
    assert next(iter(describe(recipe, tmp_path))) == "demo seed 0 finetune: in the lab"
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert next(iter(describe(evolve(recipe, seeds=(1,)), tmp_path))) == "demo seed 1 finetune: to be computed"
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_the_plan_reports_the_data_with_its_shortcut(make_recipe, tmp_path, capsys):
    recipe = make_recipe(without=("search", "draw", "retrain", "attack", "evaluate"))
    (task,) = recipe.tasks
    list(describe(evolve(recipe, tasks=(evolve(task, shortcut=0.75),)), tmp_path))
    said = capsys.readouterr().err
    assert f"demo: {task.rows} train, {task.dev_rows} dev, {task.test_rows} test; texts from text" in said
    assert "demo: an injected shortcut" in said


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"tasks": (LocalDataset(path="nowhere/data.csv"),)}, "nowhere/data.csv: there is no such file"),
        ({"model": "./nowhere"}, "there is no such folder"),
    ],
)
def test_a_misspelt_path_is_an_error(make_recipe, tmp_path, change, error):
    with pytest.raises(UsageError, match=error):
        list(describe(evolve(make_recipe(), **change), tmp_path))


def test_unavailable_data_and_models_are_notes(make_recipe, tmp_path, monkeypatch):
    monkeypatch.delenv("TICKETLAB_DATA", raising=False)
    lines = list(describe(evolve(make_recipe(), tasks=(Sst2(),), model="nobody/model"), tmp_path))
    assert [line.partition(": ")[0] for line in lines] == ["note", "note", "so the stages are not looked up in the lab"]
    assert "sst2" in lines[0]
    assert "nobody/model" in lines[1]


def test_the_plan_raises_the_preflight_errors_of_a_run(make_recipe, tmp_path):
    files.write_text(tmp_path / "bias.jsonl", "")
    recipe = make_recipe("finetune.loss=poe", f"finetune.bias={tmp_path / 'bias.jsonl'}")
    with pytest.raises(DataError, match="bias"):
        list(describe(recipe, tmp_path))


@frozen
class Unread(Task):
    name: ClassVar[str] = "unread"
    summary: ClassVar[str] = "must not be read"

    def load(self):
        raise AssertionError("read before all files were checked")


@pytest.mark.parametrize("where", ["tasks", "ood"])
@pytest.mark.parametrize("start", [lambda recipe, lab: list(describe(recipe, lab)), run], ids=["dry run", "run"])
def test_a_missing_file_is_an_error_before_any_data_is_read(make_recipe, tmp_path, where, start):
    missing = LocalDataset(path=str(tmp_path / "gone.csv"))
    recipe = make_recipe()
    recipe = evolve(recipe, **({"tasks": (Unread(), missing)} if where == "tasks" else {"tasks": (Unread(),), "ood": (missing,)}))
    with pytest.raises(DataError, match=r"gone\.csv: there is no such file or folder"):
        start(recipe, tmp_path / "lab")
