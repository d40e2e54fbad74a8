"""Plugins that are right pass the conformance tests, and those with a mistake fail in the test that is about it."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import ticketlab_snip
from support.suite_outcomes import failures_of
from third_party import every, moods_task, scribe, vandal

from ticketlab.core import registry
from ticketlab.plugin import Lazy, RunInfo, hookimpl
from ticketlab.testing import PluginTests

LISTENERS = "test_listeners_change_nothing"
LISTED = "test_components_are_what_they_are_listed_as"
HOOKS = "test_hooks_are_known_and_marked"
MOODS = "third_party.moods_task:Moods"
API = "test_it_states_the_api_that_it_is_written_for"


def plugin(**names: Any) -> ModuleType:
    """Return a module without a file."""
    module = ModuleType("broken")
    vars(module).update({"TICKETLAB_API": "1.0", **names})
    return module


def hook(name: str, value: Any) -> dict[str, Any]:
    """Return a hook that returns a value."""

    def function() -> Any:
        return value

    function.__name__ = name
    return {name: hookimpl(function)}


def listener(act: Any) -> dict[str, Any]:
    """Return a listener."""

    def ticketlab_stage_finished(run: RunInfo, directory: Path, found: bool) -> None:
        act(run, directory, found)

    return {"ticketlab_stage_finished": hookimpl(ticketlab_stage_finished)}


def write_into_the_stage(run: RunInfo, directory: Path, found: bool) -> None:
    (directory / "notes.txt").write_text("seen")


def change_the_model(run: RunInfo, directory: Path, found: bool) -> None:
    for file in directory.rglob("config.json"):
        file.write_text(file.read_text() + "\n")


def remove_a_pruner(run: RunInfo, directory: Path, found: bool) -> None:
    registry.current().registered.pop(("pruner", "magnitude"))


def fail_when_found(run: RunInfo, directory: Path, found: bool) -> None:
    if found:
        raise ValueError("no step")


class TestSnip(PluginTests):
    plugin = ticketlab_snip


def recipe(folder: Path, text: str) -> dict[str, Any]:
    (folder / "own.toml").write_text(text, encoding="utf-8")
    return hook("ticketlab_recipes", {"own": str(folder / "own.toml")})


BROKEN = [
    pytest.param(moods_task, API, 'write `TICKETLAB_API = "1.0"`', id="no version"),
    pytest.param(plugin(TICKETLAB_API="7.0"), API, "written for plugin API 7.0", id="a later version"),
    pytest.param(plugin(ticketlab_prunners=lambda: []), HOOKS, "unknown hook `ticketlab_prunners`", id="misspelt"),
    pytest.param(plugin(ticketlab_pruners=lambda: []), HOOKS, "mark it with @ticketlab.plugin.hookimpl", id="unmarked"),
    pytest.param(plugin(), HOOKS, "has no hook", id="no hook"),
    pytest.param(
        plugin(**hook("ticketlab_tasks", [Lazy("moods", "moods", "third_party.moods_task:Moods")])),
        LISTED,
        "write the same",
        id="summary",
    ),
    pytest.param(plugin(**hook("ticketlab_tasks", [Lazy("mood", "", MOODS)])), LISTED, "is not the task `mood`", id="name"),
    pytest.param(plugin(**hook("ticketlab_tasks", [Lazy("moods", "", "third_party.none:X")])), LISTED, "does not import", id="target"),
    pytest.param(plugin(**hook("ticketlab_losses", [Lazy("focal", "", "a:B")])), HOOKS, "is registered by both", id="a name that is taken"),
    pytest.param(every, "test_it_is_listed_without_importing_torch", "listing the plugin imports torch", id="torch"),
    pytest.param(plugin(**listener(write_into_the_stage)), LISTENERS, "differs in the file", id="writes into a stage"),
    pytest.param(plugin(**listener(change_the_model)), LISTENERS, "damaged", id="changes a model"),
    pytest.param(plugin(**listener(remove_a_pruner)), LISTENERS, "registers or removes components", id="changes the registry"),
    pytest.param(plugin(**listener(fail_when_found)), LISTENERS, "a listener raises", id="raises in the second run"),
    pytest.param(vandal, LISTENERS, "a listener raises", id="spoils what it gets, and raises"),
]


@pytest.mark.parametrize(("broken", "test", "message"), BROKEN)
def test_a_mistake_fails_in_the_test_about_it(broken: ModuleType, test: str, message: str, tmp_path: Path) -> None:
    failures = failures_of(PluginTests, test, tmp_path, plugin=broken)
    assert failures
    assert all(message in text for text in failures.values()), failures


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('extends = "ticket"\n[scales.tiny.search]\nepoch = 1\n', "at tiny scale: .*did you mean `epochs`"),
        ('[finetune]\nkind = "trian"\n', "at full scale: .*did you mean `train`"),
        ('extends = "no-such-recipe"\n', "no-such-recipe"),
    ],
    ids=["a scale", "a stage", "a base"],
)
def test_a_recipe_that_cannot_be_built_is_found(text: str, message: str, tmp_path: Path) -> None:
    broken = plugin(**recipe(tmp_path, text))
    (found,) = failures_of(PluginTests, "test_recipes_build_at_every_scale", tmp_path, plugin=broken).values()
    assert re.search(message, found), found


@pytest.mark.parametrize("name", ["scribe", "own recipe"])
def test_listeners_and_recipes_that_are_right_pass(name: str, tmp_path: Path) -> None:
    right = scribe if name == "scribe" else plugin(**recipe(tmp_path, 'extends = "ticket"\n[scales.tiny.search]\nepochs = 1\n'))
    for test in (LISTENERS, "test_recipes_build_at_every_scale"):
        assert failures_of(PluginTests, test, tmp_path, plugin=right) == {}
