"""The label of a recipe is its name and its differences from the recipe of that name without overrides."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from ticketlab.recipes import differences
from ticketlab.recipes.compose import compose
from ticketlab.recipes.single_stage import one_stage
from ticketlab.stages.train import Train
from ticketlab.tasks.demo.reviews import DemoTask


@pytest.mark.parametrize(
    ("recipe", "overrides", "label"),
    [
        ("robust-ticket", {}, "robust-ticket"),
        # these have their own columns and titles, or change no number
        ("robust-ticket", {"scale": "demo", "seeds": 3, "model": "demo", "attacks": ["pwws"], "examples": 7}, "robust-ticket"),
        ("robust-ticket", {"attacks": ["none"], "sets": ["evaluate.batch_size=7"]}, "robust-ticket"),
        ("robust-ticket", {"pruner": "magnitude", "sparsity": "1/2"}, "robust-ticket (pruner=magnitude, sparsity=0.5)"),
        # three stages have an adversary
        ("robust-ticket", {"adversary": "none"}, "robust-ticket (search.adversary=none)"),
        ("robust-ticket", {"stages": {"retrain": {"adversary": "freelb"}}}, "robust-ticket (retrain.adversary=freelb)"),
        ("robust-ticket", {"sets": ["search.pruner.lr=0.05"]}, "robust-ticket (pruner.lr=0.05)"),
        ("robust-ticket", {"sets": ["draw.sparsity=0.5"]}, "robust-ticket (draw.sparsity=0.5)"),
        ("robust-ticket", {"precision": "bf16", "max_length": 64}, "robust-ticket (max_length=64, precision=bf16)"),
        ("robust-ticket", {"attacks": ["pwws"], "sets": ["attack.timeout=5"]}, "robust-ticket (timeout=5)"),
        ("robust-ticket", {"sets": ["search.start=pretrained"]}, "robust-ticket (search.start=pretrained)"),
        ("robust-ticket", {"sets": ["tasks.demo.rows=100"]}, "robust-ticket (rows=100)"),
        ("robust-ticket", {"tasks": DemoTask(train_rows=50)}, "robust-ticket (demo.train_rows=50)"),
        # the bias model that a loss adds is not listed; another bias model is
        ("fine-tune", {"stages": {"finetune": {"loss": "poe"}}}, "fine-tune (loss=poe)"),
        ("fine-tune", {"stages": {"finetune": {"loss": "poe"}}, "bias": "claim-only"}, "fine-tune (bias.model=claim-only, loss=poe)"),
        ("orticket", {"text": "/a/b/articles.txt"}, "orticket (text=articles.txt)"),
    ],
)  # fmt: skip
def test_overrides_are_part_of_the_label(recipe: str, overrides: dict[str, Any], label: str) -> None:
    assert differences.recipe_label(compose(recipe, **{"tasks": "demo", **overrides})) == label


def test_a_recipe_that_is_changed_afterwards_has_another_label() -> None:
    composed = compose("fine-tune", tasks="demo")
    stages = {name: evolve(stage, epochs=7) if isinstance(stage, Train) else stage for name, stage in composed.stages.items()}
    assert differences.recipe_label(evolve(composed, stages=stages)) == "fine-tune (epochs=7)"


def test_settings_of_a_single_attack_or_evaluation_are_in_its_label(tmp_path: Any) -> None:
    asked: dict[str, Any] = {"attacks": ["deepwordbug", "pwws"], "examples": 9, "split": "dev", "timeout": 3.0}
    made = one_stage("attack", str(tmp_path), [DemoTask()], asked, ["attack.attacks.pwws.query_budget=5"])
    assert differences.recipe_label(made) == "attack (pwws.query_budget=5, timeout=3)"
    assert (
        differences.recipe_label(one_stage("evaluate", str(tmp_path), [DemoTask()], {"label_map": ["a=b"]}, ()))
        == "evaluate (label_map=a=b)"
    )
