"""Listeners of plugins: what they are told about runs, and that they change nothing."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.small_recipe import without_cost
from support.small_study import small_study, write_recipe
from third_party import scribe, vandal

from ticketlab.core import files, hookspecs, registry
from ticketlab.core.errors import Interrupted
from ticketlab.core.plugin_loading import Source
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs.run import run
from ticketlab.stages.evaluate import Evaluate
from ticketlab.studies.study import run_study

MakeRecipe = Callable[..., Recipe]
TWO_STAGES = ("search", "draw", "retrain", "attack")


@contextlib.contextmanager
def listening(*plugins: Any) -> Iterator[None]:
    known = registry.current()
    sources = [Source(plugin.__name__, "") for plugin in plugins]
    for plugin, source in zip(plugins, sources, strict=True):
        known.register(plugin, source)
    try:
        yield
    finally:
        for plugin, source in zip(plugins, sources, strict=True):
            if not known.manager.is_registered(plugin):  # it has raised
                known.manager.register(plugin)
            known.unregister(plugin, source)


def lines(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / scribe.FILE).read_text(encoding="utf-8").splitlines()]


def test_a_listener_gets_everything_that_a_tracker_needs(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    recipe = make_recipe("evaluate.model=finetune", without=TWO_STAGES)
    with listening(scribe):
        done = run(recipe, tmp_path)
        again = run(recipe, tmp_path)
    stages = done.stages()
    history = {record["step"]: record["loss"] for record in stages["finetune"]["train"]["history"]}
    losses = [*history.values()]
    assert len(losses) == 2
    heard = lines(done.directory)
    name = {"run": done.directory.name}
    begin = {**name, "event": "run", "recipe": "small", "tasks": ["demo"], "seeds": [0], "epochs": 2}
    ended = {**name, "event": "end", "status": "finished", "error": "", "tasks": ["demo"]}

    def told(found: bool) -> Iterator[dict[str, Any]]:
        yield begin
        yield {**name, "event": "stage", "stage": "finetune", "kind": "train", "lr": 0.001}
        for step, loss in history.items() if not found else ():
            yield {**name, "event": "scalar", "tag": "demo/0/finetune/loss", "step": step, "value": loss}
        of_stage = {"event": "done", "task": "demo", "seed": 0, "found": found}
        yield {**name, **of_stage, "stage": "finetune", "key": stages["finetune"]["key"], "files": ["model"], "history": losses}
        yield {**name, "event": "stage", "stage": "evaluate", "kind": "evaluate", "lr": None}
        yield {**name, **of_stage, "stage": "evaluate", "key": stages["evaluate"]["key"], "files": ["predictions.parquet"], "history": []}
        yield ended

    assert heard == [*told(False), *told(True)]
    assert again.results == done.results


def test_a_listener_cannot_change_a_result(make_recipe: MakeRecipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = make_recipe("evaluate.model=finetune", without=TWO_STAGES)
    expected = run(recipe, tmp_path / "without")
    with listening(vandal):
        spoiled = run(recipe, tmp_path / "with")
    assert without_cost(spoiled.results) == without_cost(expected.results)
    for name in ("results.json", "recipe.toml"):
        ours, theirs = ((found.directory / name).read_text(encoding="utf-8") for found in (spoiled, expected))
        assert "vandal" not in ours
        if name == "recipe.toml":
            assert ours == theirs
    log, other = ([json.loads(line) for line in (one.directory / "log.jsonl").open(encoding="utf-8")] for one in (spoiled, expected))
    assert without_cost(log) == without_cost(other)
    stored = files.read_json(tmp_path / "with" / "stages" / (key := spoiled.stages()["finetune"]["key"])[:2] / key / "result.json")
    assert "vandal" not in json.dumps(stored)
    assert capsys.readouterr().err.count("RuntimeError: and it fails; it is not told about anything more") == 1


@pytest.mark.parametrize(("raised", "status"), [(ValueError("no\nluck"), "failed"), (Interrupted("stopped"), "interrupted")], ids=str)
def test_a_run_that_fails_or_is_interrupted_is_told(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception, status: str
) -> None:
    def fail(*_: Any) -> Any:
        raise raised

    monkeypatch.setattr(Evaluate, "run", fail)
    with listening(scribe), pytest.raises(type(raised)):
        run(make_recipe("evaluate.model=finetune", "finetune.epochs=1", without=TWO_STAGES), tmp_path)
    (directory,) = (tmp_path / "runs").iterdir()
    *_, last = lines(directory)
    assert last == {"run": directory.name, "event": "end", "status": status, "error": str(raised), "tasks": []}
    assert [line["stage"] for line in lines(directory) if line["event"] == "done"] == ["finetune"]


def test_a_listener_that_raises_is_told_once_and_the_others_continue(
    make_recipe: MakeRecipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        @staticmethod
        @hookspecs.hookimpl
        def ticketlab_on_log(record: Any) -> None:
            raise ConnectionError("no server")

    with listening(Broken, scribe):
        done = run(make_recipe("evaluate.model=finetune", "finetune.epochs=1", without=TWO_STAGES), tmp_path)
    assert [line["event"] for line in lines(done.directory)][-1] == "end"
    assert capsys.readouterr().err.count("ticketlab_on_log of Broken: ConnectionError: no server") == 1


def test_a_study_tells_about_its_stages_and_about_the_runs_of_its_cells(tiny: dict[str, Path], tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path, tiny["bert"], without=("draw", "retrain", "evaluate", "attack"))
    with listening(scribe):
        found = run_study(small_study(recipe, {"search.pruner": ["magnitude", "random"]}), tmp_path / "lab")
    of_study = lines(found.directory)
    assert [line["found"] for line in of_study if line["event"] == "done"] == [False] * 3
    assert len([line for line in of_study if line["event"] == "scalar"]) == 2
    assert not [line for line in of_study if line["event"] in ("run", "end")]
    for directory in (tmp_path / "lab" / "runs").iterdir():
        assert [line["event"] for line in lines(directory)] == ["run", "stage", "done", "stage", "done", "end"]
        assert [line["found"] for line in lines(directory) if line["event"] == "done"] == [True, True]
