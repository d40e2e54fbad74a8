"""Stages with a mistake fail in the conformance test that is about it."""

from __future__ import annotations

import itertools
import os
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from attrs import frozen
from support.suite_outcomes import failures_of
from third_party.quantise_stage import Quantise

from ticketlab.plugin import Context, Stage
from ticketlab.testing import StageTests

NUMBERS = itertools.count()
"""What broken stages remember from one run to the next."""


def broken(run: Any, **facts: Any) -> type[Stage]:
    """Return a stage that rounds a model, and does ``run`` instead."""
    return frozen(type("Broken", (Quantise,), {"__module__": __name__, "name": "broken", "run": run, **facts}))


def changed(change: Any) -> Any:
    """Return a method that changes the result."""
    return lambda self, context: {**Quantise.run(self, context), "broken": change(context)}


def write_beside(context: Context) -> int:
    return (context.directory.parent / "cache.txt").write_text("cached")


def change_the_input(context: Context) -> int:
    place = Path(context.inputs["model"].model) / "config.json"
    return place.write_text(place.read_text() + "\n")


def append(context: Context) -> int:
    with (context.directory / "notes.txt").open("a") as file:
        return file.write("rounded\n")


def other_name(context: Context) -> int:
    return (context.directory / f"{os.urandom(4).hex()}.txt").write_text("result")


def reseed(context: Context) -> int:
    torch.manual_seed(0)
    return 0


def move(context: Context) -> int:
    os.chdir(context.directory)
    return 0


def forgetful(self: Any, context: Context) -> dict[str, Any]:
    """Write the model without the record of the texts that it was trained on."""
    from ticketlab.backbone.loading import load_finished, save

    model, tokenizer, _ = load_finished(context.inputs["model"].model, context.warn_of_input)
    save(model, tokenizer, context.directory / "model")
    return {}


def nothing(self: Any, context: Context) -> dict[str, Any]:
    (context.directory / "model").mkdir(exist_ok=True)
    return {}


FOLDER = "test_the_folder_is_not_part_of_the_result"
BROKEN = [
    pytest.param(
        broken(changed(lambda _: random.random())), "test_a_repeated_run_has_the_same_result_and_files", "`broken`", id="unseeded"
    ),
    pytest.param(
        broken(changed(lambda _: next(NUMBERS))), "test_a_repeated_run_has_the_same_result_and_files", "no state on the class", id="state"
    ),
    pytest.param(broken(changed(other_name)), "test_a_repeated_run_has_the_same_result_and_files", "the file", id="names of files"),
    pytest.param(
        broken(changed(lambda context: str(context.directory))),
        "test_the_folder_is_not_part_of_the_result",
        "write paths relative",
        id="path",
    ),
    pytest.param(broken(changed(append)), "test_an_interrupted_run_ends_alike", "write each file completely", id="interrupted"),
    pytest.param(broken(changed(write_beside)), "test_it_writes_to_its_own_folder_alone", "cache.txt: write to", id="elsewhere"),
    pytest.param(broken(changed(change_the_input)), "test_it_writes_to_its_own_folder_alone", "config.json", id="changes its input"),
    pytest.param(
        broken(changed(lambda context: context.seed)), "test_without_seeded_the_seed_changes_nothing", "`seeded` is False", id="seed"
    ),
    pytest.param(broken(changed(reseed)), "test_the_process_is_left_alone", "`run` seeds the global generator of torch", id="seeds"),
    pytest.param(broken(changed(move)), "test_the_process_is_left_alone", "`run` changes the working directory", id="directory"),
    pytest.param(broken(Quantise.run, identity=lambda self: {}), "test_settings_change_the_key", "another value of `bits`", id="key"),
    pytest.param(broken(forgetful), "test_a_model_can_be_used_in_place_of_a_trained_one", "context.save_model", id="provenance"),
    pytest.param(broken(nothing), "test_a_model_can_be_used_in_place_of_a_trained_one", "config.json", id="no model"),
    pytest.param(broken(changed(lambda _: Path("x"))), "test_it_runs_once", "is not JSON", id="not JSON"),
    pytest.param(broken(lambda self, context: None), "test_it_runs_once", "`run` must return a dict", id="no result"),
]


@pytest.mark.parametrize(("component", "test", "message"), BROKEN)
def test_a_mistake_fails_in_the_test_about_it(component: type[Stage], test: str, message: str, tmp_path: Path) -> None:
    failures = failures_of(StageTests, test, tmp_path, component=component)
    assert failures
    assert all(message in text for text in failures.values()), failures


def test_a_stage_that_draws_from_its_seed_passes(tmp_path: Path) -> None:
    seeded = broken(changed(lambda context: random.Random(context.seed).random()), seeded=True)
    for test in ("test_a_repeated_run_has_the_same_result_and_files", "test_without_seeded_the_seed_changes_nothing"):
        assert failures_of(StageTests, test, tmp_path, component=seeded) == {}


def test_measurements_are_named(tmp_path: Path) -> None:
    timed = broken(changed(lambda _: {"latency": random.random()}))
    test = "test_a_repeated_run_has_the_same_result_and_files"
    assert "`broken.latency`" in "".join(failures_of(StageTests, test, tmp_path, component=timed).values())
    assert failures_of(StageTests, test, tmp_path, component=timed, measured=("latency",)) == {}
