"""The recipe that a worker computes a stage of is that of the study."""

import json

import pytest

from ticketlab.core.plugin_selection import PluginSelection
from ticketlab.executors.base import Session, WorkResources
from ticketlab.executors.worker import Worker
from ticketlab.recipes.compose import compose
from ticketlab.recipes.ineffective_settings import stage_warnings
from ticketlab.runs.run_inputs import load_run_inputs
from ticketlab.studies import job


@pytest.mark.parametrize("sets", [(), ("search.pruner.target=0.5",)])
def test_a_worker_warns_of_the_same_settings(sets, tmp_path):
    recipe = compose("robust-ticket", tasks="demo", model="demo", scale="small", sets=sets)
    work = job.stage_work("0" * 64, "demo search", load_run_inputs(recipe), "search", [], None, WorkResources())
    worker = Worker(Session(str(tmp_path / "lab"), tmp_path / "log.jsonl", None, 1, PluginSelection()), lambda message: None)
    there = job._load(json.loads(json.dumps(work.arguments)), worker).recipe
    assert (there.to_table(), there.source) == (recipe.to_table(), recipe.source)
    assert stage_warnings(there, "search") == stage_warnings(recipe, "search") == []
