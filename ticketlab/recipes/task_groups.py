"""The tasks of a recipe's stages: those that stages name themselves, and the groups of stages that use the same data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from ticketlab.recipes.recipe import Recipe

if TYPE_CHECKING:
    from ticketlab.tasks.base import Task


def own_task(recipe: Recipe, name: str) -> Task | None:
    """Return the task of a stage's own, limited to the recipe's ``train_rows`` unless it has its own limit; None if it has none."""
    task: Task | None = getattr(recipe.stages[name], "own_task", None)
    return task if task is None else with_train_rows(recipe, task)


def with_train_rows(recipe: Recipe, task: Task) -> Task:
    """Return a task with the recipe's ``train_rows``, unless the task has its own."""
    return evolve(task, train_rows=recipe.train_rows) if task.train_rows is None else task


def own_tasks(recipe: Recipe) -> dict[Task, str]:
    """Return the tasks of a recipe's stages for all tasks of a run, each with the first stage that names it."""
    found: dict[Task, str] = {}
    for part in recipe.parts():
        for name in part.stages:
            task = own_task(part, name)
            if task is not None:
                found.setdefault(task, name)
    return found


def by_data(recipe: Recipe) -> dict[Task | None, Recipe]:
    """Return the recipe without the stages that have their own task, as None; and for each such task, the recipe of its stages alone."""
    stages: dict[Task | None, list[str]] = {None: []}
    for name in recipe.stages:
        stages.setdefault(own_task(recipe, name), []).append(name)
    return {task: evolve(recipe, stages={name: recipe.stages[name] for name in names}) for task, names in stages.items()}
