"""``ticketlab.evaluate`` and ``ticketlab.attack``, and the numbers of a finished run."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import ticketlab
from ticketlab.core.errors import UsageError
from ticketlab.runs import measure
from ticketlab.runs.run import Run
from ticketlab.tasks.demo.reviews import DemoTask

TASK = DemoTask(rows=48, dev_rows=12, test_rows=24)
LABELS = {"label_map": ["LABEL_0=negative", "LABEL_1=positive"]}


def results(tasks: dict[str, Any]) -> Run:
    return Run(Path("run"), {"tasks": tasks})


@pytest.fixture
def recipes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The recipes that would have been run."""
    found: list[Any] = []
    monkeypatch.setattr(measure, "run", lambda recipe, lab, name: found.append(recipe) or Run(Path(), {}))
    return found


def test_evaluate_returns_the_metrics_of_a_finished_run(make_recipe: Any, shared_lab: Path) -> None:
    trained = ticketlab.run(make_recipe(), shared_lab)
    evaluated = ticketlab.evaluate(trained, tasks=TASK, max_length=48, lab=shared_lab)
    assert evaluated.metrics()["accuracy"] == trained.metrics()["accuracy"]
    assert evaluated.attack_metrics() == {}
    assert [cell.folder for cell in ticketlab.compare(trained, evaluated, lab=shared_lab).cells] == [trained.directory, evaluated.directory]
    assert repr(trained) == f"Run(directory={trained.directory!r})"


def test_the_name_of_a_recipe_is_no_recipe() -> None:
    with pytest.raises(UsageError, match=r"ticketlab\.run takes a recipe that ticketlab\.compose makes, not of type str"):
        ticketlab.run("fine-tune")  # type: ignore[arg-type]


@pytest.mark.skipif(importlib.util.find_spec("textattack") is None, reason="textattack is not installed")
def test_attack_returns_the_metrics_of_each_attack(make_recipe: Any, shared_lab: Path) -> None:
    trained = ticketlab.run(make_recipe(), shared_lab)
    attacked = ticketlab.attack(trained, tasks=TASK, attacks="deepwordbug", examples=4, sets="attack.similarity=none", lab=shared_lab)
    metrics = attacked.attack_metrics()["deepwordbug"]
    assert metrics["successes"] + metrics["failures"] + metrics["skipped"] == 4


def test_all_examples_may_be_attacked(recipes: list[Any], tmp_path: Path) -> None:
    for examples in (None, 7, "all"):
        measure.attack(tmp_path, tasks="demo", attacks="deepwordbug", examples=examples)  # type: ignore[arg-type]
    assert [recipe.stages["attack"].examples for recipe in recipes] == [500, 7, None]


def test_a_challenge_set_is_evaluated_too(recipes: list[Any], tmp_path: Path) -> None:
    measure.evaluate(tmp_path, tasks="demo_nli", ood="hans", ood_map="neutral=non-entailment", split="dev")
    (recipe,) = recipes
    assert [task.name for task in recipe.ood] == ["hans"]
    assert recipe.ood_map == ("neutral=non-entailment",)
    assert recipe.stages["evaluate"].split == "dev"


def test_a_setting_that_no_attack_has_is_an_error(recipes: list[Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--word-vectors: none of the requested attacks \(deepwordbug\) has this setting"):
        measure.attack(tmp_path, tasks="demo", attacks=["deepwordbug"], word_vectors="vectors.txt")


def test_several_tasks_or_seeds_require_a_choice() -> None:
    stages = {"evaluate": {"kind": "evaluate", "clean": {"accuracy": 0.5}}}
    done = results({"one": {"0": stages, "1": stages}, "two": {"0": stages}})
    assert done.metrics(task="two") == {"accuracy": 0.5}
    assert done.metrics(task="one", seed=1) == {"accuracy": 0.5}
    for message, named in (
        (r"the run has 2 tasks \(one, two\); choose one", {}),
        (r"the run has 2 seeds \(0, 1\); choose one", {"task": "one"}),
        ("the run has no task `ones`; did you mean `one`?", {"task": "ones"}),
        ("the run has no seed `7`", {"task": "one", "seed": 7}),
    ):
        with pytest.raises(UsageError, match=message):
            done.metrics(**named)  # type: ignore[arg-type]


def test_a_stage_must_be_named_if_several_evaluate_or_attack() -> None:
    evaluated = {name: {"kind": "evaluate", "clean": {"accuracy": value}} for name, value in (("before", 0.25), ("after", 0.75))}
    attacked = {name: {"kind": "attack", "attacks": {"pwws": {"aua": value}}} for name, value in (("first", 0.1), ("second", 0.2))}
    other = {"third": {"kind": "attack", "attacks": {"bae": {"aua": 0.3}}}}
    done = results({"one": {"0": {**evaluated, **attacked, **other}}})
    assert done.metrics("after")["accuracy"] == 0.75
    assert done.attack_metrics() == {"first.pwws": {"aua": 0.1}, "second.pwws": {"aua": 0.2}, "bae": {"aua": 0.3}}
    with pytest.raises(UsageError, match=r"2 evaluate stages \(before, after\); choose one"):
        done.metrics()
    with pytest.raises(UsageError, match=r"the run has no evaluate stage$"):
        results({"one": {"0": attacked}}).metrics()
