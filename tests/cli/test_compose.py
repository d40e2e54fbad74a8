from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ticketlab.composition import compose
from ticketlab.errors import UsageError
from ticketlab.options import to_table
from ticketlab.recipe import Recipe

RECIPE = """
model = "demo"

[first]
kind = "train"
epochs = 2

[search]
kind = "search"
start = "first"
pruner = { name = "hard-concrete", penalty = 0.7 }

[other]
kind = "search"
pruner = "random"

[draw]
kind = "draw"
search = "search"

[control]
kind = "draw"
search = "other"

[attack]
kind = "attack"
model = "first"
attacks = [{ name = "deepwordbug", max_edit_distance = 7 }]

[per_task.demo.first]
epochs = 4

[scales.small.first]
lr = 0.5
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(RECIPE, encoding="utf-8")
    return path


def _stage(recipe: Recipe, name: str) -> dict[str, Any]:
    return to_table(recipe.stages[name])


def test_the_recipe_is_ticket_if_none_is_named() -> None:
    assert compose(tasks=["demo"]).name == "ticket"


def test_own_settings_of_task_and_scale_come_first(recipe: Path) -> None:
    composed = compose(recipe, tasks=["demo"], scale="small")
    assert (_stage(composed, "first")["epochs"], _stage(composed, "first")["lr"]) == (4.0, 0.5)
    assert composed.scale == "small"
    assert _stage(compose(recipe, tasks=["./reviews.csv"]), "first")["epochs"] == 2.0


def test_general_flags_reach_every_stage_of_their_kind(recipe: Path) -> None:
    composed = compose(recipe, tasks=["demo"], sparsity="1/6", scope="local", pruner="magnitude", adversary="freelb")
    assert [_stage(composed, name)["sparsity"] for name in ("draw", "control")] == [1 / 6, 1 / 6]
    assert [_stage(composed, name)["scope"] for name in ("draw", "control")] == ["local", "local"]
    assert [_stage(composed, name)["pruner"]["name"] for name in ("search", "other")] == ["magnitude", "magnitude"]
    assert _stage(composed, "search")["adversary"]["name"] == "freelb"
    assert _stage(composed, "first")["adversary"]["name"] == "none"


def test_a_component_that_the_recipe_has_already_keeps_its_settings(recipe: Path) -> None:
    composed = compose(recipe, tasks=["demo"], pruner="hard-concrete", attacks=["deepwordbug"])
    assert _stage(composed, "search")["pruner"]["penalty"] == 0.7
    assert _stage(composed, "attack")["attacks"][0]["max_edit_distance"] == 7


def test_stage_settings_go_before_general_ones_and_sets_before_both(recipe: Path) -> None:
    stages = {"search": {"adversary": "pgd"}}
    composed = compose(recipe, tasks=["demo"], adversary="freelb", stages=stages, sets=["search.adversary.steps=9"])
    assert _stage(composed, "search")["adversary"]["name"] == "pgd"
    assert _stage(composed, "search")["adversary"]["steps"] == 9
    assert _stage(composed, "other")["adversary"]["name"] == "freelb"


def test_attacks_are_replaced_or_left_out(recipe: Path) -> None:
    named = compose(recipe, tasks=["demo"], attacks=["textfooler", "deepwordbug"], examples=5, word_vectors="vectors.txt")
    attacks = _stage(named, "attack")["attacks"]
    assert [attack["name"] for attack in attacks] == ["textfooler", "deepwordbug"]
    assert attacks[0]["word_vectors"] == "vectors.txt"
    assert "word_vectors" not in attacks[1]
    assert _stage(named, "attack")["examples"] == 5
    assert "attack" not in compose(recipe, tasks=["demo"], attacks=["none"]).stages
    with pytest.raises(UsageError, match="goes with no other"):
        compose(recipe, tasks=["demo"], attacks=["none", "deepwordbug"])


def test_heads_are_laid_over(recipe: Path) -> None:
    composed = compose(recipe, tasks=["demo"], model="./mine", max_length=64, precision="fp32", seeds=range(3))
    assert (composed.model, composed.max_length, composed.precision, list(composed.seeds)) == ("./mine", 64, "fp32", [0, 1, 2])
    assert compose(recipe, tasks=["demo"]).model == "demo"


def test_tasks_of_the_recipe_count_if_none_is_given(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('tasks = ["demo"]\n' + RECIPE, encoding="utf-8")
    composed = compose(path)
    assert [task.name for task in composed.tasks] == ["demo"]
    assert _stage(composed, "first")["epochs"] == 4.0


@pytest.mark.parametrize("scale", [None, "small", "demo"])
def test_what_a_dry_run_prints_is_the_same_recipe(invoke: Any, tmp_path: Path, scale: str | None) -> None:
    flags = ["--task", "demo", "--sparsity", "1/6", "--retrain-adversary", "freelb", "--set", "search.pruner.lr=0.03", "--seeds", "2"]
    result = invoke("run", "robust-ticket", *flags, *(["--scale", scale] if scale else []), "--dry-run")
    assert result.exit_code == 0, result.stderr
    saved = tmp_path / "robust-ticket.toml"
    saved.write_text(result.stdout, encoding="utf-8")
    expected = compose(
        "robust-ticket",
        tasks=["demo"],
        sparsity=1 / 6,
        stages={"retrain": {"adversary": "freelb"}},
        sets=["search.pruner.lr=0.03"],
        seeds=[0, 1],
        scale=scale,
    )
    assert compose(saved).digest() == expected.digest()
    assert invoke("run", saved, "--dry-run").stdout == result.stdout


def test_what_compose_does_not_know_is_refused() -> None:
    with pytest.raises(UsageError, match="no argument `attack`; did you mean `attacks`"):
        compose("robust-ticket", tasks="demo", attack="deepwordbug")  # type: ignore[call-arg]


def test_one_thing_may_stand_for_a_list() -> None:
    made = compose("robust-ticket", tasks="demo", attacks="textfooler", seeds=2, sets="draw.sparsity=0.5")
    assert made == compose("robust-ticket", tasks=["demo"], attacks=["textfooler"], seeds=[0, 1], sets=["draw.sparsity=0.5"])
