"""The time and disk of a plan are expected from stages of the lab that are like its own."""

import pytest
from support.fake_lab import fake_run, key
from support.small_study import small_study

from ticketlab.studies.estimate import estimate
from ticketlab.studies.measured_work import MeasuredWork
from ticketlab.studies.plan import plan_study

TOML = '[search]\nkind = "search"\nbatch_size = 8\npruner = {{ name = "{}" }}\n'


def search(name, seconds, steps):
    return {"search": {"kind": "search", "key": key(name), "search": {"steps": steps}, "cost": {"seconds": seconds}}}


@pytest.mark.parametrize(
    ("pruner", "seconds"),
    [("magnitude", 0.5), ("hard-concrete", 2 * 48 * 30 / (20 * 8))],  # scoring is one unit of work; FreeLB trains twice on 48 examples
)
def test_a_pruner_that_does_not_train_says_nothing_about_those_that_do(small_recipe_file, tmp_path, pruner, seconds):
    plan = plan_study(small_study(small_recipe_file, {"pruner": [pruner]}), tmp_path / "lab")
    model = plan.cells[0].inputs.recipe.model
    fake_run(plan.lab.root, "a-1111111111", {"demo": {0: search("a", 30, 20)}}, toml=TOML.format("hard-concrete"), model=model)
    fake_run(plan.lab.root, "b-2222222222", {"demo": {0: search("b", 0.5, 0)}}, toml=TOML.format("magnitude"), model=model)
    found = estimate(plan)
    assert (found.measured, found.seconds) == (1, pytest.approx(seconds))
    assert not any("search" in unknown for unknown in found.unknown)


def test_a_stage_of_which_a_part_is_unknown_does_not_count(small_recipe_file, tmp_path, monkeypatch):
    plan = plan_study(small_study(small_recipe_file), tmp_path / "lab")
    known = MeasuredWork(seconds=1.0, units=1.0, bytes=10)
    monkeypatch.setattr("ticketlab.studies.estimate.measured_work", lambda root: {("known",): [known]})
    monkeypatch.setattr("ticketlab.studies.estimate.parts_of", lambda plan, planned: [(("known",), 1.0), (("unknown",), 1.0)])
    found = estimate(plan)
    assert (found.measured, found.seconds, found.bytes, found.unknown) == (0, 0, 0, ("unknown",))
