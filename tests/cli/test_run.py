"""What commands do before and after a run; the run itself is replaced."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ticketlab.cli import run_recipe
from ticketlab.core.errors import UsageError
from ticketlab.lab.finished_models import locate
from ticketlab.recipes.recipe import Recipe


def _results(recipe: Recipe, errors: int) -> dict[str, Any]:
    attack = {"clean": 0.9, "aua": 0.3, "suc": 0.6, "queries": 20.0, "n": 10, "skipped": 1, "errors": errors}

    def stages(seed: int) -> dict[str, Any]:
        return {
            "finetune": {"kind": "train", "key": f"ab12{seed}", "cost": {"seconds": 3.0}},
            "evaluate": {"kind": "evaluate", "key": f"cd34{seed}", "of": "finetune", "clean": {"accuracy": 0.9, "n": 10}},
            "attack": {"kind": "attack", "key": f"ef56{seed}", "of": "finetune", "attacks": {"deepwordbug": attack}},
        }

    tasks = {task.label: {str(seed): stages(seed) for seed in recipe.seeds} for task in recipe.tasks}
    head = {"recipe": recipe.name, "scale": recipe.scale, "model": recipe.model, "seeds": list(recipe.seeds)}
    return {"schema": 1, **head, "tasks": tasks}


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The recipes that were run and their labs, and the number of examples that end in an error."""
    seen = SimpleNamespace(recipes=[], labs=[], errors=0)

    def fake(recipe: Recipe, lab: Path, **_: Any) -> Any:
        seen.recipes.append(recipe)
        seen.labs.append(lab)
        return SimpleNamespace(directory=lab / "runs" / recipe.name, results=_results(recipe, seen.errors))

    monkeypatch.setattr(run_recipe, "run_in_lab", fake)
    return seen


def test_run_prints_a_table_and_its_directory(invoke: Any, runs: SimpleNamespace) -> None:
    result = invoke("run", "fine-tune", "--task", "demo", "--model", "demo", "--scale", "small", "--seeds", "2")
    assert result.exit_code == 0
    assert "90.0 ± 0.0" in result.stdout
    assert "scale small (reduced)" in result.stdout
    assert result.stderr == "results, log and tickets: lab/runs/fine-tune\n"
    assert list(runs.recipes[0].seeds) == [0, 1]


def test_json_is_the_only_output_on_stdout(invoke: Any, runs: SimpleNamespace) -> None:
    result = invoke("run", "fine-tune", "--task", "demo", "--json", "--seed", "7")
    assert json.loads(result.stdout)["seeds"] == [7]


def test_failed_examples_give_exit_code_three(invoke: Any, runs: SimpleNamespace) -> None:
    runs.errors = 2
    result = invoke("run", "fine-tune", "--task", "demo")
    assert result.exit_code == 3
    assert "2 attacked examples ended in an error" in result.stderr
    assert "Errors" in result.stdout


def test_the_lab_comes_from_the_option_or_the_environment(invoke: Any, runs: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TICKETLAB_LAB", "from-environment")
    invoke("run", "fine-tune", "--task", "demo")
    invoke("run", "fine-tune", "--task", "demo", "--lab", "from-option")
    assert runs.labs == [Path("from-environment"), Path("from-option")]


def test_csv_is_written_in_addition_to_the_table(invoke: Any, runs: SimpleNamespace, tmp_path: Path) -> None:
    invoke("run", "fine-tune", "--task", "demo", "--csv", tmp_path / "numbers.csv")
    assert ",fine-tune,demo," in (tmp_path / "numbers.csv").read_text(encoding="utf-8")


def test_demo_compares_three_models_at_its_scale(invoke: Any, runs: SimpleNamespace) -> None:
    result = invoke("demo", "--set", "search.epochs=1", "--set", "max_length=32", "--set", 'model="another"')
    assert result.exit_code == 0, result.stderr
    assert [recipe.name for recipe in runs.recipes] == ["fine-tune", "random-ticket", "robust-ticket"]
    assert {(recipe.scale, recipe.model, recipe.max_length) for recipe in runs.recipes} == {("demo", "another", 32)}
    for label in ("fine-tuned model", "random ticket", "robust ticket"):
        assert label in result.stdout
    refused = invoke("demo", "--set", "finetune.shrink=false")
    assert refused.exit_code == 2
    assert "--set finetune.shrink=false: has no effect on the stage `finetune`: there is no ticket" in " ".join(refused.stderr.split())
    assert len(json.loads(invoke("demo", "--json").stdout)) == 3
    assert "did you mean `search`?" in invoke("demo", "--set", "serch.epochs=1").stderr


def test_attack_runs_a_recipe_with_one_stage(invoke: Any, runs: SimpleNamespace, tmp_path: Path) -> None:
    flags = [
        "--task",
        "demo",
        "--attack",
        "deepwordbug",
        "--n",
        "5",
        "--seed",
        "3",
        "--label-map",
        "neg=negative",
        "--label-map",
        "pos=positive",
    ]
    result = invoke("attack", tmp_path, *flags, "--max-length", "64")
    assert result.exit_code == 0, result.stderr
    (recipe,) = runs.recipes
    stage = recipe.stages["attack"]
    assert (stage.model, stage.examples, stage.sample_seed) == (str(tmp_path), 5, 3)
    assert stage.label_map == ("neg=negative", "pos=positive")
    assert recipe.max_length == 64


def test_a_warning_of_ticketlab_is_one_line_once(invoke: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(recipe: Recipe, lab: Path, **_: Any) -> Any:
        for _ in range(2):
            warnings.warn_explicit("other\nweights", UserWarning, run_recipe.__file__, 1)
            warnings.warn_explicit("not ours", UserWarning, "/elsewhere/torch.py", 1)
        return SimpleNamespace(directory=lab, results=_results(recipe, 0))

    monkeypatch.setattr(run_recipe, "run_in_lab", run)
    result = invoke("run", "fine-tune", "--task", "demo")
    assert result.stderr.splitlines() == ["warning: other weights", "results, log and tickets: lab"]


def test_a_run_stands_for_the_model_that_it_evaluated(tmp_path: Path) -> None:
    run, stage = tmp_path / "lab" / "runs" / "mine", tmp_path / "lab" / "stages" / "ab" / "ab12"
    (stage / "model").mkdir(parents=True)
    (stage / "model" / "config.json").touch()
    run.mkdir(parents=True)
    stages = {"finetune": {"kind": "train", "key": "ab12"}, "attack": {"kind": "attack", "key": "ef56", "of": "finetune"}}
    (run / "results.json").write_text(json.dumps({"tasks": {"sst2": {"0": stages}}}), encoding="utf-8")
    assert locate(str(run)) == str(stage / "model")
    assert locate(str(stage)) == str(stage / "model")
    assert locate("owner/name") == "owner/name"
    (stage / "model" / "config.json").unlink()
    (stage / "model").rmdir()
    stage.rmdir()
    with pytest.raises(UsageError, match="no longer in the lab"):
        locate(str(run))
