"""The message of a machine where a stage has another key than in the plan."""

import pytest
import torch

from ticketlab.core.errors import TicketlabError
from ticketlab.core.plugin_selection import PluginSelection
from ticketlab.executors.base import Session, WorkResources
from ticketlab.executors.worker import Worker
from ticketlab.recipes.compose import compose
from ticketlab.runs.run_inputs import load_run_inputs
from ticketlab.studies.job import compute, stage_work
from ticketlab.studies.key_facts import differing, key_facts


@pytest.fixture
def inputs(small_recipe_file):
    return load_run_inputs(compose(small_recipe_file))


def test_facts_are_equal_where_keys_are(inputs, small_recipe_file):
    assert key_facts(inputs) == key_facts(load_run_inputs(compose(small_recipe_file)))
    assert "the data of demo" in key_facts(inputs)


def test_another_number_of_threads_is_named(inputs):
    here = key_facts(inputs)
    torch.set_num_threads(2)  # the fixture for all tests restores it
    assert differing(here, key_facts(inputs)) == "what differs is the number of threads"


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"the data of demo": "other", "the plugin extra": "1.0"}, "what differs is the data of demo and the plugin extra"),
        ({}, "the code of a component, or a file that a setting names, differs"),
    ],
)
def test_a_stage_with_another_key_says_what_differs(inputs, tmp_path, facts, message):
    work = stage_work("0" * 64, "demo finetune", inputs, "finetune", [], None, WorkResources())
    arguments = {**work.arguments, "facts": {**work.arguments["facts"], **facts}}
    session = Session(str(tmp_path / "lab"), tmp_path / "log.jsonl", None, 1, PluginSelection())
    with pytest.raises(TicketlabError, match=f"demo finetune: its key is .* and 000000000000 in the plan: {message}"):
        compute(arguments, Worker(session, lambda message: None))
