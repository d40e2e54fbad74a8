"""Keeps the data sets and models that several recipes share, so that each is read once in a process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

from attrs import define, evolve, field

from ticketlab.backbone import fingerprint, loading
from ticketlab.core.settings import to_table
from ticketlab.recipes.recipe import Recipe
from ticketlab.tasks.assembly.loading import load_challenge_set, load_without_shortcut
from ticketlab.tasks.assembly.shortcut import inject_shortcut, without_injected_shortcut
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.datasets.shortcut_challenge import ShortcutChallenge

T = TypeVar("T")


@define
class InputCache:
    """Reads data sets and resolves models, each once. Tasks that differ only in their injected shortcut are read once together."""

    _read_data: dict[str, TaskData] = field(factory=dict)
    _data: dict[str, TaskData] = field(factory=dict)
    _models: dict[str, tuple[str, str]] = field(factory=dict)

    def task(self, recipe: Recipe, task: Task) -> TaskData:
        """Return the data of a task of the recipe. The recipe's ``train_rows`` applies if the task has none.

        :raises DataError: it cannot be read.
        """
        task = evolve(task, train_rows=recipe.train_rows) if task.train_rows is None else task
        return self._once(f"task {_name(task)}", task, lambda: inject_shortcut(task, self._without_shortcut(task)))

    def challenge_set(self, task: Task) -> TaskData:
        """Return the data of a challenge set.

        :raises DataError: it cannot be read.
        """
        if isinstance(task, ShortcutChallenge):
            return self._once(f"challenge set {_name(task)}", task, lambda: task.of(self._without_shortcut(task.task)))
        return self._once(f"challenge set {_name(task)}", task, lambda: load_challenge_set(task))

    def model(self, name: str) -> tuple[str, str]:
        """Return the resolved model of this name, and its fingerprint.

        :raises UsageError: there is no such model.
        """
        if name not in self._models:
            resolved = self._resolve(name)
            self._models[name] = resolved, self._fingerprint(resolved)
        return self._models[name]

    def _without_shortcut(self, task: Task) -> TaskData:
        name = _name(without_injected_shortcut(task))
        if name not in self._read_data:
            self._read_data[name] = load_without_shortcut(task)
        return self._read_data[name]

    def _once(self, name: str, task: Task, read: Callable[[], TaskData]) -> TaskData:
        if name not in self._data:
            self._data[name] = self._read(task, read)
        return self._data[name]

    def _read(self, task: Task, read: Callable[[], TaskData]) -> TaskData:
        return read()

    def _resolve(self, name: str) -> str:
        return loading.resolve_model(name)

    def _fingerprint(self, model: str) -> str:
        return fingerprint.of_model(model)


def _name(task: Task) -> str:
    return json.dumps([type(task).__qualname__, task.name, to_table(task)], sort_keys=True)
