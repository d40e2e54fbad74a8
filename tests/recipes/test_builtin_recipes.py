"""The recipes that come with ticketlab: they build everywhere they say, and have the numbers of the papers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from ticketlab import builtins
from ticketlab.composition import compose
from ticketlab.recipe import Recipe, from_table_of_stages
from ticketlab.recipe_tables import read, resolve

RECIPES = {name: read(name)[1] for name in builtins.ticketlab_recipes()}
STRUCTURED = [name for name in RECIPES if name.startswith(("early-", "orticket", "vanilla-ticket"))]
SRNETS = [name for name in RECIPES if name.startswith("srnet")]
ROBUST = [name for name in RECIPES if name not in SRNETS]
TASKS = ("sst2", "imdb", "ag_news", "qnli", "qqp", "mnli", "fever", "demo")
SCALED = [(name, scale) for name, table in RECIPES.items() for scale in ("full", *table.get("scales", {}))]


def build(name: str, scale: str = "full", task: str = "sst2") -> Recipe:
    return from_table_of_stages(name, resolve(RECIPES[name], scale=scale, task=task))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("name", "scale"), SCALED)
def test_a_recipe_builds_at_every_scale_for_every_task(name: str, scale: str, task: str) -> None:
    recipe = build(name, scale, task)
    assert recipe.scale == scale
    assert from_table_of_stages(name, tomllib.loads(recipe.to_toml())).digest() == recipe.digest()


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_a_small_scale_and_ends_in_numbers(name: str) -> None:
    assert "small" in RECIPES[name]["scales"]
    assert RECIPES[name]["summary"]
    kinds = {stage.name for stage in build(name).stages.values()}
    assert "evaluate" in kinds
    assert ("attack" in kinds) == (name in ROBUST)  # the paper of SRNets measures out of distribution instead


@pytest.mark.parametrize("name", RECIPES)
def test_overlays_are_for_stages_and_tasks_that_there_are(name: str) -> None:
    table = RECIPES[name]
    stages = {key for key, value in table.items() if isinstance(value, Mapping) and "kind" in value}
    assert set(table.get("per_task", {})) <= set(TASKS)
    for overlay in [*table.get("scales", {}).values(), *table.get("per_task", {}).values()]:
        assert {key for key, value in overlay.items() if isinstance(value, Mapping)} <= stages


@pytest.mark.parametrize("name", RECIPES)
def test_the_small_scale_is_two_thousand_rows_two_passes_and_a_hundred_attacks(name: str) -> None:
    recipe = build(name, "small")
    stages: Any = recipe.stages
    assert recipe.train_rows == 2000
    assert name in SRNETS or stages["attack"].examples == 100
    for stage in stages.values():
        adversary = getattr(stage, "adversary", None)
        assert adversary is None or adversary.name == "none" or adversary.steps == 2
        assert getattr(stage, "epochs", 0) <= (10 if "srnet-" in name and "pretrained" in name else 4) or not stage.pruner.searches


@pytest.mark.parametrize(
    ("task", "eta", "lr", "penalty", "steps", "sparsity"),
    [
        ("sst2", 0.03, 0.1, 0.5, 5, 0.3),
        ("imdb", 0.03, 0.1, 0.5, 5, 0.2),
        ("ag_news", 0.03, 0.05, 0.5, 5, 0.4),
        ("qqp", 0.04, 0.05, 0.1, 3, 0.3),
        ("qnli", 0.04, 0.05, 0.1, 3, 0.3),
        ("mnli", 0.2, 0.1, 0.1, 2, 0.3),
    ],
)
def test_robust_tickets_are_searched_as_in_the_paper(task: str, eta: float, lr: float, penalty: float, steps: int, sparsity: float) -> None:
    stages: Any = build("robust-ticket", task=task).stages
    search = stages["search"]
    assert (search.pruner.name, search.adversary.name) == ("hard-concrete", "freelb")
    assert (search.adversary.step_size, search.adversary.init_magnitude, search.adversary.steps) == (eta, 0.05, steps)
    assert search.adversary.max_norm is None
    assert (search.pruner.lr, search.pruner.penalty) == (lr, penalty)
    assert search.pruner.reduction == "elements"
    assert search.pruner.temperature == pytest.approx(2 / 3)
    assert (search.epochs, search.batch_size, search.warmup, search.weight_decay, search.clip) == (20, 32, 0.1, 1e-6, 1)
    assert (search.start, stages["retrain"].start, stages["retrain"].ticket) == ("finetune", "pretrained", "draw")
    assert (stages["draw"].sparsity, stages["draw"].scope) == (sparsity, None)  # global, as this search ranks nothing


@pytest.mark.parametrize("name", ["lottery-ticket", "random-ticket"])
def test_baselines_have_the_sparsity_of_the_robust_ticket(name: str) -> None:
    for task in TASKS:
        ours: Any = build(name, task=task).stages["draw"]
        theirs: Any = build("robust-ticket", task=task).stages["draw"]
        assert (ours.sparsity, ours.scope) == (theirs.sparsity, theirs.scope)


@pytest.mark.parametrize("name", ROBUST)
def test_models_are_fine_tuned_and_retrained_as_in_the_papers(name: str) -> None:
    for stage in build(name).stages.values():
        settings: Any = stage
        if stage.name == "train" and settings.trains == "all":
            epochs = 10 if name in STRUCTURED else 3
            lr = 4e-5 if name == "early-bert" else 2e-5
            assert (settings.lr, settings.weight_decay, settings.epochs, settings.clip) == (lr, 0.01, epochs, 1)
            assert settings.batch_size in (16, 32)


@pytest.mark.parametrize(
    ("name", "task", "heads", "neurons"),
    [
        ("early-robust", "imdb", 1 / 6, 0.4),
        ("early-robust", "sst2", 1 / 6, 0.3),
        ("early-robust", "ag_news", 1 / 6, 0.2),
        ("early-robust", "qnli", 1 / 6, 0.3),
        ("early-robust", "qqp", 1 / 6, 0.3),
        ("early-bert", "imdb", 1 / 3, 0.4),
        ("early-bert", "ag_news", 1 / 3, 0.4),
        ("orticket", "imdb", 1 / 6, 0.3),
        ("orticket", "ag_news", 1 / 6, 0.3),
        ("orticket", "qnli", 1 / 6, 0.3),
        ("orticket", "sst2", 1 / 6, 0.2),
        ("orticket", "qqp", 1 / 6, 0.2),
    ],
)
def test_structured_tickets_have_the_sparsities_of_their_papers(name: str, task: str, heads: float, neurons: float) -> None:
    draw: Any = build(name, task=task).stages["draw"]
    assert (draw.heads, draw.neurons) == (pytest.approx(heads), neurons)


@pytest.mark.parametrize("scale", ["full", "small"])
@pytest.mark.parametrize("task", TASKS)
def test_structured_searches_stop_as_in_the_papers(task: str, scale: str) -> None:
    search: Any = build("early-robust", scale, task).stages["search"]
    assert (search.start, search.pruner.name, search.adversary.name) == ("pretrained", "importance", "freelb")
    assert (search.stop.name, search.stop.threshold, search.stop.times, search.stop.interval) == ("mask-distance", 0.1, 5, 0.05)
    search = build("early-bert", scale, task).stages["search"]
    assert (search.adversary.name, search.stop.name, search.stop.at) == ("none", "fixed", 0.2)
    assert (search.pruner.heads_penalty, search.pruner.neurons_penalty) == (1e-4, 1e-4)
    search = build("orticket", scale, task).stages["search"]
    assert (search.objective.name, search.uses_task, search.epochs) == ("mlm", False, 1)


@pytest.mark.parametrize("scale", ["full", "small"])
@pytest.mark.parametrize("task", TASKS)
def test_each_ablation_changes_what_it_says_and_nothing_else(task: str, scale: str) -> None:
    changed = {
        "without-adversary": {"search": {"adversary"}},
        "without-regulariser": {"search": {"pruner"}},
        "random": {"search": {"adversary", "pruner", "stop"}},
        "without-initialisation": {"retrain": {"reinit"}},
        "without-structure": {"retrain": {"reinit", "hold_mask"}},
        "layer-wise": {"search": {"stop"}, "draw": {"scope"}},
    }
    whole = build("early-robust", scale, task).to_table()
    for ablation, expected in changed.items():
        table = build(f"early-robust-{ablation}", scale, task).to_table()
        differing = {
            stage: {key for key in whole[stage] if whole[stage][key] != table[stage][key]}
            for stage in ("search", "draw", "retrain", "evaluate", "attack")
        }
        assert {stage: keys for stage, keys in differing.items() if keys} == expected, ablation
        assert {key: whole[key] for key in ("max_length", "train_rows")} == {key: table[key] for key in ("max_length", "train_rows")}


@pytest.mark.parametrize("task", TASKS)
def test_a_random_ticket_has_the_sparsities_and_the_training_of_the_ticket_it_stands_beside(task: str) -> None:
    for name in ("early-robust", "orticket"):
        ours: Any = build(name, task=task).stages["draw"]
        theirs: Any = build(f"{name}-random", task=task).stages["draw"]
        assert (ours.heads, ours.neurons, ours.scope) == (theirs.heads, theirs.neurons, theirs.scope)
        whole, random = (build(recipe, task=task).to_table() for recipe in (name, f"{name}-random"))
        assert {key: whole[key] for key in ("max_length", "retrain")} == {key: random[key] for key in ("max_length", "retrain")}


@pytest.mark.parametrize("name", ["freelb", "pgd"])
def test_baselines_are_trained_against_the_adversary_of_the_search(name: str) -> None:
    stages: Any = build(name).stages
    adversary = stages["finetune"].adversary
    assert (adversary.name, adversary.steps, adversary.step_size, adversary.init_magnitude) == (name, 5, 0.03, 0.05)


def test_all_models_of_a_comparison_meet_the_same_attacks() -> None:
    attacks = {str(build(name).stages["attack"].attacks) for name in ROBUST}  # type: ignore[attr-defined]
    assert len(attacks) == 1


@pytest.mark.parametrize("name", RECIPES)
def test_the_name_of_a_recipe_is_all_that_is_needed(name: str) -> None:
    built = build(name).stages
    unneeded = {"bias"} - {getattr(stage, "bias", None) for stage in built.values() if "bias" in stage.references()}
    assert compose(name, tasks=["demo"]).stages.keys() == built.keys() - unneeded
