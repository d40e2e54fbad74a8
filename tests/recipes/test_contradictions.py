"""A setting that is given twice, by an option and by ``--set`` or by two ``--set``, is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ticketlab import compose
from ticketlab.core.errors import UsageError
from ticketlab.recipes.contradictions import refuse_repetitions, refuse_replaced

GIVEN = {"attack": {"attacks": [{"name": "deepwordbug", "query_budget": 5}], "split": "test"}, "max_length": 64}


@pytest.mark.parametrize(
    ("recipe", "overrides", "sets", "message"),
    [
        ("fine-tune", {"epochs": 1}, ["finetune.epochs=3"], "--epochs 1: has no effect beside --set finetune.epochs=3; give one of them"),
        ("fine-tune", {"examples": 7}, ["attack.examples=9"], "--n 7: has no effect beside --set attack.examples=9"),
        ("fine-tune", {"stages": {"attack": {"split": "dev"}}}, ["attack.split=test"], "--attack-split dev: has no effect beside"),
        ("fine-tune", {"max_length": 64}, ["max_length=32"], "--max-length 64: has no effect beside --set max_length=32"),
        ("robust-ticket", {"epochs": 1}, ["finetune.epochs=2", "search.epochs=2", "retrain.epochs=2"], "--epochs 1: has no effect beside"),
        ("fine-tune", {}, ["finetune.epochs=3", "finetune.epochs=5"], "--set finetune.epochs=3 and --set finetune.epochs=5 set the same"),
    ],
    ids=["of one stage", "attacked", "of a named stage", "of the recipe", "of three stages", "twice"],
)
def test_an_override_that_is_replaced_everywhere_is_refused(recipe: str, overrides: dict[str, Any], sets: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compose(recipe, tasks=["demo"], sets=sets, **overrides)


@pytest.mark.parametrize(
    ("recipe", "overrides", "sets"),
    [
        ("robust-ticket", {"epochs": 1}, ["search.epochs=2"]),
        ("robust-ticket", {"adversary": "pgd"}, ["search.adversary.steps=2"]),
        ("fine-tune", {"epochs": 3}, ["finetune.lr=0.1"]),
        ("fine-tune", {}, ["finetune.epochs=3", "finetune.epochs=3"]),
    ],
    ids=["of one stage of several", "a setting of a component", "of another setting", "the same twice"],
)
def test_an_override_that_is_refined_is_accepted(recipe: str, overrides: dict[str, Any], sets: list[str]) -> None:
    compose(recipe, tasks=["demo"], sets=sets, **overrides)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"attack": {**GIVEN["attack"], "split": "dev"}}, "`attack.split` to test"),
        (
            {"attack": {**GIVEN["attack"], "attacks": [{"name": "deepwordbug", "query_budget": 7}]}},
            "`attack.attacks.deepwordbug.query_budget` to 5",
        ),
        ({"attack": {**GIVEN["attack"], "attacks": ["textfooler"]}}, "`attack.attacks` to deepwordbug"),
        ({"max_length": 32}, "`max_length` to 64"),
    ],
    ids=["a value", "of a component", "components", "of the recipe"],
)
def test_replacing_a_setting_given_by_an_option_of_one_stage_is_refused(changes: dict[str, Any], path: str) -> None:
    refuse_replaced(GIVEN, {**GIVEN, "attack": {**GIVEN["attack"], "examples": 5}}, "attack.examples=5")
    with pytest.raises(UsageError, match=f"--set x=y: another option sets {path}; give one of them"):
        refuse_replaced(GIVEN, GIVEN | changes, "x=y")


def test_equal_assignments_are_no_contradiction() -> None:
    refuse_repetitions(["a.b=1", "a.b = 1", "a.c=2"])
