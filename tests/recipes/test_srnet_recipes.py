"""The recipes of SRNets differ from one another only in what their names say."""

from __future__ import annotations

from typing import Any

import pytest

from ticketlab.core import builtin_components
from ticketlab.recipes.compose import compose
from ticketlab.recipes.recipe import Recipe

NAMES = [name for name in builtin_components.ticketlab_recipes() if name.startswith("srnet")]


def build(name: str, task: str = "mnli", scale: str | None = None, **overrides: Any) -> Recipe:
    return compose(name, tasks=[task], scale=scale, **overrides)


def stages(name: str, task: str = "mnli", scale: str | None = None) -> Any:
    return build(name, task, scale).stages


LOSSES: list[tuple[str, str | None, str | None, str | None]] = [
    ("srnet", "cross-entropy", "poe", None),
    ("srnet-std", "cross-entropy", "cross-entropy", None),
    ("srnet-imp", "cross-entropy", "poe", None),
    ("srnet-imp-std", "cross-entropy", "cross-entropy", None),
    ("srnet-reweight", "cross-entropy", "reweight", None),
    ("srnet-confreg", "cross-entropy", "confreg", None),
    ("srnet-from-poe", "poe", "poe", None),
    ("srnet-from-poe-imp", "poe", "poe", None),
    ("srnet-dense", "cross-entropy", None, None),
    ("srnet-dense-poe", "poe", None, None),
    ("srnet-isolated", "cross-entropy", "poe", "cross-entropy"),
    ("srnet-isolated-poe", "cross-entropy", "poe", "poe"),
    ("srnet-isolated-imp", None, "poe", "cross-entropy"),
    ("srnet-isolated-imp-poe", None, "poe", "poe"),
    ("srnet-pretrained", None, "poe", None),
    ("srnet-pretrained-std", None, "cross-entropy", None),
    ("srnet-upper-bound", "cross-entropy", "cross-entropy", None),
    ("srnet-upper-bound-pretrained", None, "cross-entropy", None),
    ("srnet-upper-bound-isolated", "cross-entropy", "cross-entropy", "cross-entropy"),
    ("srnet-timing", "cross-entropy", "poe", None),
    ("srnet-gradual", "cross-entropy", "poe", None),
    ("srnet-soft", "cross-entropy", "poe", None),
]
"""Each recipe with the losses of fine-tuning, search and retraining."""


@pytest.mark.parametrize(("name", "finetune", "search", "retrain"), LOSSES)
def test_each_recipe_has_its_losses_and_its_paradigm(name: str, finetune: str | None, search: str | None, retrain: str | None) -> None:
    found = stages(name)
    for stage, loss in (("finetune", finetune), ("search", search), ("retrain", retrain)):
        assert (found[stage].loss.name if stage in found else None) == loss
    assert found["evaluate"].model == ("retrain" if retrain else "search" if search else "finetune")
    if search:
        sparsity = {"srnet-gradual": 0.9, "srnet-soft": 0.9, "srnet-timing": 0.7}.get(name, 0.5)
        assert found["draw"].sparsity == found["search"].sparsity == sparsity
    if retrain:
        assert (found["retrain"].start, found["retrain"].ticket) == ("pretrained", "draw")
    assert ("bias" in found) == ("poe" in (finetune, search, retrain) or search in ("reweight", "confreg"))


def test_all_recipes_are_listed_above() -> None:
    without_models = ["srnet-bias"]  # the classes of the data alone
    assert sorted([*(name for name, *_ in LOSSES), *without_models]) == sorted(NAMES)


@pytest.mark.parametrize("task", ["mnli", "qqp", "fever"])
def test_upper_bounds_learn_from_the_challenge_sets(task: str) -> None:
    for name in ("srnet-upper-bound", "srnet-upper-bound-pretrained", "srnet-upper-bound-isolated"):
        found = stages(name, task)
        assert found["search"].mix_ood == (10 if task == "fever" else 1)
        assert all(stage.mix_ood == 0 for key, stage in found.items() if stage.name == "train")


@pytest.mark.parametrize(
    ("task", "ood", "bias"),
    [
        ("mnli", ["hans"], "overlap"),
        ("qqp", ["paws_qqp", "paws_wiki"], "overlap"),
        ("fever", ["fever_symmetric_v1", "fever_symmetric_v2"], "claim-only"),
    ],
)
def test_each_task_has_its_challenge_sets_and_its_bias(task: str, ood: list[str], bias: str) -> None:
    for name in NAMES:
        recipe = build(name, task)
        assert [one.name for one in recipe.ood] == ood
        found: Any = recipe.stages
        assert "bias" not in found or found["bias"].model.name == bias


@pytest.mark.parametrize("task", ["mnli", "qqp", "fever"])
@pytest.mark.parametrize("name", NAMES)
def test_the_small_scale_takes_a_few_epochs_of_two_thousand_rows(name: str, task: str) -> None:
    recipe = build(name, task, "small")
    assert recipe.train_rows == 2000
    for stage in recipe.stages.values():
        assert getattr(stage, "epochs", 0) <= (10 if "pretrained" in name else 4)  # the masks start from scratch there
        assert getattr(stage, "eval_steps", None) is None
