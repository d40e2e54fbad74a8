"""A recipe whose stages an executor computes: the run is that of one process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from support.small_recipe import without_cost

from ticketlab.core.errors import TicketlabError
from ticketlab.recipes.compose import compose
from ticketlab.runs.run import run as run_plainly
from ticketlab.studies.run import run


def test_a_run_by_an_executor_is_that_of_one_process(small_recipe_file: Path, tmp_path: Path) -> None:
    recipe = compose(small_recipe_file, seeds=[0, 1], sets=["search.epochs=0.2", "finetune.epochs=0.2", "retrain.epochs=0.2"])
    plain, other = run_plainly(recipe, tmp_path / "one"), run(recipe, tmp_path / "two")
    assert without_cost(other.results) == without_cost(plain.results)
    assert other.directory.name == plain.directory.name
    assert {path.name for path in other.directory.iterdir()} == {path.name for path in plain.directory.iterdir()}
    records = [json.loads(line) for line in (other.directory / "log.jsonl").read_text().splitlines()]
    assert len([record for record in records if record["event"] == "start"]) == 10
    again = run(recipe, tmp_path / "two", jobs=1)
    assert again.results == other.results


def test_a_stage_that_fails_ends_the_run_after_the_others(small_recipe_file: Path, tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    recipe = compose(small_recipe_file, seeds=[0, 1], sets=["finetune.lr=1e20"])
    with pytest.raises(TicketlabError, match=r"demo seed 0 finetune: .*learning rate"):
        run(recipe, tmp_path / "lab", name="mine")
    assert (tmp_path / "lab" / "runs" / "mine" / "run.json").exists()
    started = [json.loads(line) for line in (tmp_path / "lab" / "runs" / "mine" / "log.jsonl").read_text().splitlines()]
    assert [(record["stage"], record["seed"]) for record in started if record["event"] == "start"] == [("finetune", 0), ("finetune", 1)]
    assert torch.get_num_threads() == threads
