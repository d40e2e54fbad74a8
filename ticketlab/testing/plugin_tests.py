"""The conformance tests of a whole plugin: its entry module, with the hooks, the recipes and the listeners."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest
import torch

from ticketlab.core import plugin_api, registry
from ticketlab.core.errors import PluginError, TicketlabError
from ticketlab.core.hookspecs import EVENTS, HOOK_OF_KIND
from ticketlab.core.plugin_loading import RECIPE, Entry
from ticketlab.core.plugin_source import PluginCode, Source
from ticketlab.core.registry import Registry
from ticketlab.recipes import tables
from ticketlab.recipes.compose import compose
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.listened_run import listened_run
from ticketlab.testing.trials.reported_errors import reported_errors
from ticketlab.testing.trials.workspace import Workspace, workspace_in

RECIPES = "ticketlab_recipes"
HEAVY = ("torch", "transformers", "textattack")
"""Packages that take seconds to import."""
LIST = """
import importlib, importlib.util, json, sys
module, file, heavy = json.loads(sys.argv[1])
from ticketlab.core import registry
from ticketlab.core.plugin_source import Source
known = registry.load(entry_points=False)
try:
    plugin = importlib.import_module(module)
except ModuleNotFoundError:  # such as a file of tests
    spec = importlib.util.spec_from_file_location(module, file)
    plugin = sys.modules[module] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
known.register(plugin, Source(module, ""))
names = [entry.name for entries in known.by_kind().values() for entry in entries]
print(json.dumps([name for name in heavy if name in sys.modules]))
"""
TASKS = ("demo", "demo_nli")


class PluginTests:
    """The tests of a plugin.

    - ``plugin``: the module that the entry point names.
    - ``tasks``: the task to build a recipe for, by the name of the recipe, if it is for none of the demo tasks.
    """

    plugin: ModuleType  # mypy takes no module for a ClassVar
    tasks: ClassVar[Mapping[str, str]] = {}

    @pytest.fixture
    def workspace(self, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
        """The models and the data that all suites share."""
        return workspace_in(tmp_path_factory.getbasetemp() / "ticketlab-testing")

    @pytest.fixture
    def known(self) -> Iterator[Registry]:
        """A registry with the plugin and the built-in components, in use."""
        with registry.using(registry.load(entry_points=False)) as found:
            found.register(self.plugin, self._source)
            yield found

    @property
    def _source(self) -> Source:
        """The source of the plugin's components."""
        name = self.plugin.__name__
        return Source(f"{name} under test", "0", name.replace("_", "-"), PluginCode(modules=(name,)))

    def test_it_states_the_api_that_it_is_written_for(self) -> None:
        """A later ticketlab with another API refuses it with one clear line."""
        hint = f'write `{plugin_api.CONSTANT} = "{plugin_api.API_VERSION}"` at the top level of {self.plugin.__name__}'
        require(hasattr(self.plugin, plugin_api.CONSTANT), f"the entry module states no version of the plugin API: {hint}")
        file = getattr(self.plugin, "__file__", None)
        message = ""
        try:
            stated = plugin_api.of_file(Path(file)) if file else None
            plugin_api.check_imported(self.plugin, stated)
            plugin_api.check(stated or plugin_api.API_VERSION)
        except PluginError as problem:
            message = str(problem)
        require(not message, message)

    def test_hooks_are_known_and_marked(self, known: Registry) -> None:
        """A misspelt hook, or one without ``@hookimpl``, is never called; a name that is taken needs the name of the plugin before it."""
        require(not known.problems, next((problem.message for problem in known.problems), ""))
        hooks = {*HOOK_OF_KIND.values(), RECIPES, *EVENTS}
        require(any(hasattr(self.plugin, name) for name in hooks), f"{self.plugin.__name__} has no hook, such as `ticketlab_pruners`")

    def test_components_are_what_they_are_listed_as(self, known: Registry) -> None:
        """Each can be imported, is of the kind and name that it is listed under, and has the same summary."""
        for entry in self._entries(known):
            with reported_errors():
                cls = entry.load()
            require(
                entry.summary == cls.summary,
                f"the {entry.kind} `{entry.name}` is listed as {entry.summary!r}, and its class says {cls.summary!r}: write the same",
            )

    def test_it_is_listed_without_importing_torch(self) -> None:
        """``ticketlab --help`` and the completion of names load the entry module of every plugin."""
        arguments = json.dumps([self.plugin.__name__, getattr(self.plugin, "__file__", None), HEAVY])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run([sys.executable, "-c", LIST, arguments], env=environment, capture_output=True, text=True, check=False)
        last = (done.stderr.strip().splitlines() or [""])[-1]
        require(done.returncode == 0, f"the plugin cannot be listed in a process of its own: {last}")
        found = json.loads(done.stdout.strip().splitlines()[-1])
        require(
            not found,
            f"listing the plugin imports {', '.join(found)}: return `Lazy(name, summary, target)` from the hooks, and import nothing but "
            "`ticketlab.plugin` in the entry module",
        )

    def test_recipes_build_at_every_scale(self, known: Registry) -> None:
        """Their stages, components and settings exist, and fit each other."""
        for name in sorted(entry.name for entry in self._entries(known, RECIPE)):
            with reported_errors():
                _, table, _ = tables.read(known.recipe(name))
                scales = [None, *tables.overlays(table, "scales")]
            for scale in scales:
                tasks = (self.tasks[name],) if name in self.tasks else TASKS
                problems = [self._problem(name, scale, task) for task in tasks]
                require(not all(problems), f"the recipe `{name}` cannot be built at {scale or 'full'} scale: {problems[0]}")

    def test_listeners_change_nothing(self, known: Registry, workspace: Workspace, tmp_path: Path) -> None:
        """Results, files and keys are the same with and without them, and none of them raises, whether a run finishes or fails."""
        if not any(hasattr(self.plugin, name) for name in EVENTS):
            return
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with registry.using(registry.load(entry_points=False)):
                expected = listened_run(workspace, tmp_path / "without")
            before = _listed(known)
            found = listened_run(workspace, tmp_path / "with")
            require(_listed(known) == before, "a listener registers or removes components: return them from the hooks of their kind")
        finally:
            torch.set_num_threads(threads)
        require(not known.problems, f"a listener raises: {next((problem.message for problem in known.problems), '')}")
        differing = expected.difference(found)
        require(
            not differing,
            f"a run with the listeners of the plugin differs in {differing}: a listener writes to the directory of the run alone, and "
            "leaves the process as it is",
        )

    def _entries(self, known: Registry, kind: str | None = None) -> list[Entry]:
        """Return the entries of the plugin: those of a kind, or those of all components."""
        return [
            entry
            for (of_kind, _), entries in known.registered.items()
            for entry in entries
            if entry.source == self._source and (of_kind == kind if kind else of_kind != RECIPE)
        ]

    def _problem(self, recipe: str, scale: str | None, task: str) -> str:
        """Return why a recipe cannot be built for a task; empty if it can."""
        try:
            compose(recipe, tasks=task, scale=scale)
        except TicketlabError as problem:
            return str(problem)
        return ""


def _listed(known: Registry) -> dict[tuple[str, str], tuple[Entry, ...]]:
    """Return what is registered now."""
    return {key: tuple(entries) for key, entries in known.registered.items()}
