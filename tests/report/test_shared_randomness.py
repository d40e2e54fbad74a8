"""Notes about seeds that share random numbers, under comparisons with a baseline, verdicts and effects."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from support.measured_cells import compared, measured_cell

from ticketlab.recipes.recipe import build_recipe
from ticketlab.report.baseline_comparison import compare_with_baseline
from ticketlab.report.cells import Comparison, compare_runs
from ticketlab.report.hypothesis import Hypothesis
from ticketlab.report.main_effects import main_effects
from ticketlab.report.metric_values import metric_values
from ticketlab.report.shared_randomness import shared_randomness
from ticketlab.report.verdicts import verdicts
from ticketlab.runs.run import run
from ticketlab.tasks.demo.reviews import DemoTask

CLAIM = Hypothesis(claim="A is better.", of={"method": "a"}, than={"method": "b"}, metrics=("clean.accuracy",), expect="higher")
SOME = (
    "the seeds of a share random numbers (retrain.fixed_randomness = order, dropout): they differ less than independent trainings, so the "
    "interval is too narrow and p too small"
)
ALL = (
    "the trainings of a use the same random numbers with every seed (retrain.fixed_randomness = order, head, dropout): its seeds are not "
    "independent, and the test says nothing about other trainings"
)


def comparison(lab: Path, recipe: str) -> Comparison:
    """Return two cells with two seeds, of which the first has this recipe."""
    first = measured_cell(lab, {"method": "a"}, clean=["1110", "1111"], recipe=recipe)
    return compared(first, measured_cell(lab, {"method": "b"}, clean=["1000", "0000"]), baseline="b")


@pytest.mark.parametrize(
    ("recipe", "notes"),
    [
        pytest.param("[retrain]\nfixed_randomness = []\n", (), id="none"),
        pytest.param('[retrain]\nfixed_randomness = ["order", "dropout"]\n', (SOME,), id="some"),
        pytest.param('[retrain]\nfixed_randomness = ["order", "head", "dropout"]\n', (ALL,), id="all"),
        pytest.param('[per_task.sst2.retrain]\nfixed_randomness = ["order", "dropout"]\n', (SOME,), id="on the task"),
        pytest.param('[per_task.mnli.retrain]\nfixed_randomness = ["order", "dropout"]\n', (), id="on another task"),
        pytest.param('[other]\nfixed_randomness = ["order", "dropout"]\n', (), id="in a training of another model"),
    ],
)
def test_tests_of_differences_say_what_seeds_share(tmp_path: Path, recipe: str, notes: tuple[str, ...]) -> None:
    made = comparison(tmp_path, recipe)
    (found,) = compare_with_baseline(made, ["clean.accuracy"])
    (verdict,) = verdicts(evolve(made, hypotheses=(CLAIM,)))
    (effect,) = main_effects(made, "clean.accuracy")
    assert (found.notes, verdict.tasks[0].test.notes, effect.notes) == (notes, notes, notes)


def test_a_recipe_that_cannot_be_read_leaves_it_unknown(tmp_path: Path) -> None:
    (found,) = compare_with_baseline(comparison(tmp_path, "[retrain"), ["clean.accuracy"])
    (note,) = found.notes
    assert note.startswith("a: ")
    assert note.endswith("recipe.toml cannot be read, so it is not known whether seeds share random numbers (fixed_randomness)")


def test_the_setting_of_a_run_is_found(tiny: dict[str, Path], tmp_path: Path) -> None:
    stage = {"kind": "train", "start": "pretrained", "epochs": 1, "lr": 1e-3, "batch_size": 8, "fixed_randomness": ["order"]}
    stages = {"finetune": stage, "evaluate": {"kind": "evaluate", "model": "finetune"}}
    head = {"model": str(tiny["bert"]), "precision": "fp32", "seeds": [0, 1], "tasks": [DemoTask(rows=24, dev_rows=8, test_rows=24)]}
    done = run(build_recipe("fixed", {**head, **stages}), tmp_path)
    (cell,) = compare_runs([done.directory]).cells
    value, _ = metric_values(cell, "clean.accuracy")["demo"]
    assert "share random numbers (finetune.fixed_randomness = order)" in shared_randomness(cell, value)
