"""Searches settings of a recipe: each trial is a run in the lab that is measured on development data."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.core import progress
from ticketlab.core.errors import Interrupted, OutOfSpace, TicketlabError, UsageError
from ticketlab.core.formatting import counted
from ticketlab.lab.layout import TUNING
from ticketlab.lab.mirror import mirror_at
from ticketlab.lab.open_lab import lab_folder
from ticketlab.recipes.compose import DEFAULT
from ticketlab.recipes.overrides import find_tasks, task_tables
from ticketlab.recipes.run_name import file_system_safe
from ticketlab.report.cells import compare_runs
from ticketlab.report.metric_values import lower_is_better
from ticketlab.report.one_class import metric_of_one_class
from ticketlab.runs.run import run
from ticketlab.tasks.base import Task
from ticketlab.tuning.space import Choices, Dimension, Range, search_space
from ticketlab.tuning.store import TuningStore, open_store
from ticketlab.tuning.trial_recipe import TunedRecipe, check_dev_metric, measured_value
from ticketlab.tuning.trials import Tuning, as_setting


def tune(
    recipe: str | Path | None = None,
    *,
    over: Mapping[str, str | Sequence[Any]],
    metric: str,
    trials: int,
    tasks: Task | str | Path | Sequence[Task | str | Path] = (),
    scale: str | None = None,
    seeds: int | Sequence[int] | None = None,
    settings: Mapping[str, Any] | None = None,
    sampler_seed: int = 0,
    lab: str | Path = "lab",
    name: str | None = None,
) -> Tuning:
    """Search settings of a recipe on development data, and return the trials; :attr:`Tuning.best` is the best of them.

    ``over`` maps each setting to its values: ``"1:1000"``, ``"1:1000:log"``, or a list. Keys are paths as in ``--set``, or flags of
    ``ticketlab run`` without their dashes. ``metric`` is measured on the development split (``dev.clean.accuracy``,
    ``dev.attack.deepwordbug.aua``), and averaged over seeds and tasks. ``settings`` has further keys with their values.

    Trials are kept in the lab, so the same call resumes, and one with more ``trials`` continues. A trial that fails is recorded with its
    error. ``sampler_seed`` seeds what is tried: random values first, then those that Optuna's tree-structured Parzen estimator suggests.

    Each trial has its ``values`` by key and its ``value`` of the metric. Of what is returned, ``best`` is None if all trials failed,
    ``flags`` has the best values as arguments of ``ticketlab run``, and ``path`` is the SQLite file with the trials.

    :raises UsageError: no such recipe, setting or metric, a value outside its bounds, or a metric of test data. Nothing has been run.
    :raises ResourceError: Optuna is not installed.
    :raises TicketlabError: all trials failed.
    :raises Interrupted: Ctrl-C; the same call resumes.
    """
    if trials < 1:
        raise UsageError(f"trials: must be at least 1, not {trials}")
    chosen = tuple(find_tasks(tasks))
    listed = None if seeds is None else tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    tuned = TunedRecipe(recipe=str(recipe or DEFAULT), tasks=chosen, scale=scale, seeds=listed, settings=settings or {})
    space = search_space(over, tuned.compose({}))
    _check_corners(tuned, space)
    check_dev_metric(tuned.compose(_corner(space, first=True)), metric)
    definition = _definition(tuned, over, metric, sampler_seed)
    name = name or file_system_safe(f"{Path(tuned.recipe).stem}-{_digest(definition)}")
    if file_system_safe(name) != name:
        raise UsageError(f"--name {name}: cannot be the name of a file everywhere; use letters, digits, `-` and `_`")
    root = lab_folder(lab)
    if (mirror := mirror_at(root)) is not None:
        raise UsageError(f"--lab {mirror.url}: a tuning keeps its trials in an SQLite file, which needs a directory; use --lab FOLDER")
    path = root / TUNING / f"{name}.db"
    lower = lower_is_better(metric)
    opened = open_store(path, definition, space, lower_is_better=lower, sampler_seed=sampler_seed)
    with opened as store, progress.without_details():
        _run_trials(store, trials, lambda values: _run_trial(tuned, values, metric, root))
        done = Tuning(name=name, path=path, metric=metric, lower_is_better=lower, trials=tuple(store.trials()))
    if done.best is None:
        raise TicketlabError(f"all {counted(len(done.trials), 'trial')} failed; the first: {done.trials[0].error}")
    return done


def _run_trials(store: TuningStore, wanted: int, run_trial: Callable[[Mapping[str, Any]], tuple[float, str, str]]) -> None:
    """Run trials until ``wanted`` have ended."""
    while (trial := store.next(wanted)) is not None:
        number, values = trial
        ended = len(store.trials())
        progress.say(f"trial {ended + 1} of {wanted}: {', '.join(f'{key}={as_setting(value)}' for key, value in values.items())}")
        started = time.perf_counter()
        try:
            value, name, one_class = run_trial(values)
        except (Interrupted, OutOfSpace):  # the trial has not failed: the same call runs it again
            raise
        except TicketlabError as problem:
            store.finish(number, value=None, error=str(problem), seconds=time.perf_counter() - started)
            progress.warn(f"trial {ended + 1} failed: {problem}")
        else:
            store.finish(number, value=value, run=name, seconds=time.perf_counter() - started, one_class=one_class)
    ended = len(store.trials())
    if ended < wanted:
        progress.say(f"all {counted(ended, 'combination')} of the values were tried")


def _run_trial(tuned: TunedRecipe, values: Mapping[str, Any], metric: str, lab: Path) -> tuple[float, str, str]:
    """Run a trial. Return the value of the metric, the name of the run, and that an attacked model predicts one class; see Trial."""
    done = run(tuned.compose(values), lab)
    (cell,) = compare_runs([done.directory]).cells
    return measured_value(done.directory, metric), done.directory.name, metric_of_one_class(cell, metric)


def _check_corners(tuned: TunedRecipe, space: Mapping[str, Dimension]) -> None:
    """Check the bounds of ranges and all choices, each with the first values of the other keys.

    :raises UsageError: one is not valid.
    """
    first, last = _corner(space, first=True), _corner(space, first=False)
    for values in (first, last):
        tuned.compose(values)
    for key, dimension in space.items():
        for choice in dimension.values if isinstance(dimension, Choices) else ():
            tuned.compose({**first, key: choice})


def _corner(space: Mapping[str, Dimension], *, first: bool) -> dict[str, Any]:
    """Return the lowest value or the first choice of each key, or the highest and last."""
    index = 0 if first else -1
    return {
        key: dimension.value((dimension.low, dimension.high)[index]) if isinstance(dimension, Range) else dimension.values[index]
        for key, dimension in space.items()
    }


def _definition(tuned: TunedRecipe, over: Mapping[str, str | Sequence[Any]], metric: str, sampler_seed: int) -> dict[str, Any]:
    """Return what the trials depend on, as plain values."""
    table = {
        "recipe": tuned.recipe,
        "tasks": task_tables(tuned.tasks),
        "scale": tuned.scale,
        "seeds": None if tuned.seeds is None else list(tuned.seeds),
        "settings": dict(tuned.settings),
        "over": {key: values if isinstance(values, str) else list(values) for key, values in over.items()},
        "metric": metric,
        "sampler_seed": sampler_seed,
    }
    return dict(json.loads(json.dumps(table, default=str)))


def _digest(definition: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:10]
