"""Tells the plugins that listen about runs. What they get are copies, and whatever they do to random generators and torch is undone.

Listeners are called in the process that computes a stage: that of the command, or a worker of a study.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ticketlab.core import progress, registry
from ticketlab.core.hookspecs import RunInfo
from ticketlab.inference import random_state
from ticketlab.recipes.recipe import Recipe


def describe_run(recipe: Recipe, directory: Path, precision: str) -> RunInfo:
    """Return what listeners get to know about the run of a recipe."""
    return RunInfo(
        directory=directory.absolute(),
        name=directory.name,
        recipe=recipe.name,
        model=recipe.model,
        precision=precision,
        tasks=tuple(task.label for task in recipe.tasks),
        seeds=tuple(recipe.seeds),
        settings=recipe.to_table(),
    )


def notify(hook: str, **arguments: Any) -> None:
    """Call a life-cycle hook of every plugin. One that raises is reported once with a warning, and not called again."""
    known = registry.current()
    if not known.listens(hook):
        return
    reported = len(known.problems)
    with _undisturbed():
        known.notify(hook, **arguments)
    for problem in known.problems[reported:]:
        known.shown.add(problem)
        progress.warn(f"{problem.message}; it is not told about anything more")


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Restore the process-wide state that results depend on and a library may change: random generators, settings of torch and numpy."""
    states, threads, directory = random_state.capture(), torch.get_num_threads(), Path.cwd()
    grad, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    deterministic, warn_only = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        with random_state.preserved(), warnings.catch_warnings(), np.errstate():
            yield
    finally:
        random_state.restore(states)
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(dtype)
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
        if Path.cwd() != directory:
            os.chdir(directory)
