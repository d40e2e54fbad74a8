"""A plugin that breaks in the middle of a run: one line with its file and line, and the rest works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ticketlab.core.hookspecs import EVENTS

FILE = Path(__file__).parents[1] / "third_party" / "cracked.py"
LINES = FILE.read_text(encoding="utf-8").splitlines()
LINE = next(number for number, line in enumerate(LINES, start=1) if "raise ZeroDivisionError" in line)
FLAGS = {
    "pruner": ["--pruner", "cracked"],
    "adversary": ["--adversary", "cracked"],
    "loss": ["--search-loss", "cracked"],
    "objective": ["--set", "search.objective=cracked"],
    "stop rule": ["--set", "search.stop=cracked"],
    "bias model": ["--search-loss", "reweight", "--set", "search.bias=bias", "--set", "bias.kind=bias", "--set", "bias.model=cracked"],
    "metric": ["--metric", "cracked"],
}
CALLBACK = ("parameter_groups", "on_train_start", "on_step_start", "on_pass_start", "on_after_backward", "penalty", "on_step_end")
PLACES = {
    "pruner": ("groups", "begin", "scores", "close", "state_dict", "metrics", *CALLBACK),
    "adversary": ("begin", "backward", "on_step_start", "penalty", "state_dict", "metrics"),
    "loss": ("per_example", "reduce"),
    "objective": ("start_session", "begin", "loss_function", "extend", "evaluate", "facts"),
    "stop rule": ("begin", "observe", "on_step_end", "state_dict", "metrics"),
    "bias model": ("features",),
    "metric": ("compute",),
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lab that keeps the fine-tuned model."""
    return tmp_path_factory.mktemp("cracked") / "lab"


@pytest.fixture
def run(invoke: Any, quick: list[str], lab: Path) -> Any:
    """Run a recipe with the plugin."""
    return lambda *flags: invoke("run", *flags, *quick, "--lab", lab, "--plugin", FILE)


@pytest.fixture
def search(run: Any) -> Any:
    """Run a search of a few steps, with a checkpoint after each."""
    return lambda *flags: run("ticket", "--set", "search.epochs=1", "--set", "search.checkpoint_seconds=0", *flags)


def failure(done: Any, kind: str, place: str) -> None:
    """Check that a run has failed with one line, which has everything."""
    *_, error = done.stderr.splitlines()
    assert done.exit_code == 1, done.stderr
    assert re.fullmatch(
        rf"error: ([\w.]+: )?{kind} `cracked` of {FILE} failed: ZeroDivisionError: a crack in {kind}\.{place} "
        rf"\(third_party/cracked\.py:{LINE}, in crack\)",
        error,
    ), error
    assert done.stderr.count("a crack") == 1


@pytest.mark.parametrize(("kind", "place"), [(kind, place) for kind, places in PLACES.items() for place in places])
def test_a_component_that_breaks_fails_the_run_with_one_line(search: Any, monkeypatch: pytest.MonkeyPatch, kind: str, place: str) -> None:
    monkeypatch.setenv("CRACK", f"{kind}.{place}")
    failure(search(*FLAGS[kind]), kind, place)


def test_a_stage_that_breaks_fails_the_run_with_one_line(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = tmp_path / "own.toml"
    recipe.write_text('extends = "ticket"\n[own]\nkind = "cracked"\nmodel = "finetune"\n', encoding="utf-8")
    monkeypatch.setenv("CRACK", "stage.run")
    failure(run(str(recipe), "--pruner", "magnitude"), "stage", "run")
    monkeypatch.delenv("CRACK")
    assert run(str(recipe), "--pruner", "magnitude").exit_code == 0


def test_a_search_that_breaks_is_resumed_and_its_plugin_may_break_again(search: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = [*FLAGS["pruner"], *FLAGS["adversary"], "--set", "search.batch_size=8"]
    for place in ("second_step", "load_state_dict"):
        monkeypatch.setenv("CRACK", f"pruner.{place}")
        failure(search(*flags), "pruner", place)
    monkeypatch.delenv("CRACK")
    done = search(*flags)
    assert done.exit_code == 0, done.stderr
    assert "resuming after step 1" in done.stderr


@pytest.mark.parametrize("hook", EVENTS)
def test_a_listener_that_breaks_is_a_warning_and_the_run_goes_on(run: Any, monkeypatch: pytest.MonkeyPatch, hook: str) -> None:
    monkeypatch.setenv("CRACK", hook)
    done = run("ticket", "--pruner", "magnitude")
    assert done.exit_code == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "a crack" in line]
    assert told == [
        f"warning: {hook} of {FILE}: ZeroDivisionError: a crack in {hook} (third_party/cracked.py:{LINE}, in crack); "
        "it is not told about anything more"
    ]
