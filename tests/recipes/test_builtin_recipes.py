"""The built-in recipes build for all their tasks and scales, and differ from one another only in what their names say."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from ticketlab.core import builtin_components
from ticketlab.recipes.compose import compose
from ticketlab.recipes.recipe import Recipe, build_recipe
from ticketlab.recipes.tables import read, resolve

RECIPES = {name: read(name)[1] for name in builtin_components.ticketlab_recipes()}
SRNETS = [name for name in RECIPES if name.startswith("srnet")]
ROBUST = [name for name in RECIPES if name not in SRNETS]
TASKS = ("sst2", "imdb", "ag_news", "qnli", "qqp", "mnli", "fever", "demo")
WITHOUT_MODEL = ("srnet-bias",)
"""Recipes that train no model, so they measure none."""
SCALED = [(name, scale) for name, table in RECIPES.items() for scale in ("full", *table.get("scales", {}))]


def build(name: str, scale: str = "full", task: str = "sst2") -> Recipe:
    return build_recipe(name, resolve(RECIPES[name], scale=scale, task=task))


@pytest.mark.parametrize(("name", "scale"), SCALED)
def test_a_recipe_builds_at_every_scale_for_every_task(name: str, scale: str) -> None:
    built: list[Any] = []
    for task in TASKS:
        table = resolve(RECIPES[name], scale=scale, task=task)
        if table in built:  # most recipes treat tasks alike
            continue
        built.append(table)
        recipe = build_recipe(name, table)
        assert recipe.scale == scale
        assert build_recipe(name, tomllib.loads(recipe.to_toml())).digest() == recipe.digest()


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_a_small_scale_and_ends_in_a_measurement(name: str) -> None:
    assert "small" in RECIPES[name]["scales"]
    assert RECIPES[name]["summary"]
    kinds = {stage.name for stage in build(name).stages.values()}
    assert ("evaluate" in kinds) == (name not in WITHOUT_MODEL)
    assert ("attack" in kinds) == (name in ROBUST)  # the paper of SRNets measures out of distribution instead


@pytest.mark.parametrize("name", RECIPES)
def test_overlays_name_existing_stages_and_tasks(name: str) -> None:
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
    assert all([attack.name for attack in getattr(stage, "attacks", ())] in ([], ["deepwordbug"]) for stage in stages.values())
    for stage in stages.values():
        adversary = getattr(stage, "adversary", None)
        assert adversary is None or adversary.name == "none" or adversary.steps == 2
        assert getattr(stage, "epochs", 0) <= (10 if "srnet-" in name and "pretrained" in name else 4) or not stage.pruner.searches


REDUCED: dict[tuple[str, str], tuple[float, ...]] = {
    ("small", "train"): (3, 1e-4, 0.01),
    ("demo", "train"): (2, 1e-4, 0.01),
    ("small", "head"): (2, 3e-3, 0.01),
    ("small", "importance"): (1, 1e-4, 0.01),
    ("small", "hard-concrete"): (4, 2e-5, 1e-6),
    ("demo", "hard-concrete"): (2, 2e-5, 1e-6),
    ("small", "mask-training"): (4, 1e-4, 0),
    ("demo", "mask-training"): (3, 1e-4, 0),
    ("small", "imp"): (4, 1e-4, 0),
    ("demo", "imp"): (3, 1e-4, 0),
    ("small", "imp-rewind"): (4, 1e-4, 1e-6),
    ("demo", "imp-rewind"): (3, 1e-4, 1e-6),
    ("small", "structured-hard-concrete"): (1, 1e-4, 1e-6),
    ("small", "structured-mask-training"): (1, 1e-4, 0),
    ("small", "structured-imp"): (3, 1e-4, 0.01),
}
"""Epochs, learning rate and weight decay at a reduced scale, of trainings and of searches by their pruner."""


@pytest.mark.parametrize("scale", ["small", "demo"])
@pytest.mark.parametrize("task", ["sst2", "imdb", "ag_news", "mnli", "fever"])
def test_reduced_scales_are_the_same_in_all_recipes(task: str, scale: str) -> None:
    """Results at a reduced scale stay comparable with those of another recipe, and with earlier ones."""
    for name in (name for name, table in RECIPES.items() if scale in table["scales"]):
        recipe = build(name, scale, task)
        assert recipe.max_length == {"small": 128, "demo": 64}[scale]
        for key, stage in recipe.stages.items():
            settings: Any = stage
            if stage.name in ("train", "search") and (stage.name == "train" or settings.pruner.searches):
                kind = "head" if key == "head" else stage.name if stage.name == "train" else settings.pruner.name
                epochs, lr, decay = REDUCED[scale, kind]
                epochs = 10 if "srnet-" in name and "pretrained" in name and scale == "small" else epochs
                assert (settings.epochs, settings.lr, settings.weight_decay, settings.warmup) == (epochs, lr, decay, 0.1), (name, key)
                early = name.startswith(("early-", "structured-")) and "ticket" not in name
                assert settings.batch_size == (8 if task == "imdb" and early else 32)
            if stage.name == "draw" and name in SRNETS:
                assert settings.sparsity == (0.9 if name in ("srnet-gradual", "srnet-soft") else 0.5)
            if stage.name == key == "attack":
                attacked = ([attack.name for attack in settings.attacks], settings.examples)
                assert attacked == (["deepwordbug"], {"small": 100, "demo": 150}[scale])


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
def test_each_ablation_changes_only_what_its_name_says(task: str, scale: str) -> None:
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
def test_a_random_ticket_has_the_sparsities_and_the_training_of_the_ticket_it_is_compared_with(task: str) -> None:
    for name in ("early-robust", "orticket"):
        ours: Any = build(name, task=task).stages["draw"]
        theirs: Any = build(f"{name}-random", task=task).stages["draw"]
        assert (ours.heads, ours.neurons, ours.scope) == (theirs.heads, theirs.neurons, theirs.scope)
        whole, random = (build(recipe, task=task).to_table() for recipe in (name, f"{name}-random"))
        assert {key: whole[key] for key in ("max_length", "retrain")} == {key: random[key] for key in ("max_length", "retrain")}


@pytest.mark.parametrize("scale", ["full", "small", "demo"])
@pytest.mark.parametrize("task", TASKS)
def test_a_random_ticket_shares_the_search_of_the_robust_ticket_that_it_is_drawn_like(task: str, scale: str) -> None:
    ours, theirs = (build(name, scale, task).to_table() for name in ("random-ticket", "robust-ticket"))
    assert list(ours)[-8:] == ["finetune", "search", "draw", "random", "draw-random", "retrain", "evaluate", "attack"]
    shared = [key for key in theirs if key not in ("summary", "retrain")]
    assert {key: ours[key] for key in shared} == {key: theirs[key] for key in shared}
    assert ours["retrain"] == theirs["retrain"] | {"ticket": "draw-random"}
    assert (ours["random"]["pruner"]["name"], ours["draw-random"]["search"], ours["draw-random"]["like"]) == ("random", "random", "draw")


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_needs_only_its_name(name: str) -> None:
    built = build(name).stages
    named = {getattr(stage, "bias", None) for stage in built.values() if "bias" in stage.references()}
    unneeded = set() if name in WITHOUT_MODEL else {"bias"} - named
    assert compose(name, tasks=["demo"]).stages.keys() == built.keys() - unneeded


@pytest.mark.parametrize("scale", ["full", "small", "demo"])
@pytest.mark.parametrize("name", ["fine-tune", "freelb", "lottery-ticket", "robust-ticket"])
def test_a_recipe_for_convergence_adds_only_attacks_of_checkpoints(name: str, scale: str) -> None:
    whole, measured = (build(recipe, scale).to_table() for recipe in (name, f"{name}-convergence"))
    last = "retrain" if "retrain" in whole else "finetune"
    added = {key: value["model"] for key, value in measured.items() if key not in whole}
    assert added == {f"attack-{share:02d}": f"{last}@{share}%" for share in (5, 10, 20, 40, 60, 80)}
    changed = [key for key in whole if whole[key] != measured.get(key)]
    assert set(changed) <= {"summary", "paper"}
