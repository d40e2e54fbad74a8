"""Evaluates or attacks a finished model from Python, as ``ticketlab evaluate`` and ``ticketlab attack`` do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from ticketlab.lab.finished_runs import find_run
from ticketlab.lab.open_lab import lab_folder
from ticketlab.recipes.measured_model import choose_data, find_model
from ticketlab.recipes.overrides import attack_tables, find_tasks
from ticketlab.recipes.single_stage import one_stage, one_stage_per_attack
from ticketlab.runs.run import Run, run
from ticketlab.stages.base import Split
from ticketlab.tasks.base import Task

Tasks = Task | str | Path | Sequence[Task | str | Path]


def evaluate(
    model: str | Path | Run,
    *,
    tasks: Tasks = (),
    ood: Tasks = (),
    ood_map: str | Sequence[str] = (),
    split: Split | None = None,
    label_map: str | Sequence[str] = (),
    max_length: int | None = None,
    metrics: str | Sequence[str] = (),
    sets: str | Sequence[str] = (),
    run_seed: int | None = None,
    run_task: str | None = None,
    name: str | None = None,
    lab: str | Path = "lab",
) -> Run:
    """Evaluate a finished classifier, and return the run: :meth:`Run.metrics` has the numbers.

    ``model`` is a folder, a hub name, the directory of a run or stage, a finished :class:`Run`, the name of a run in ``lab``, or the name
    of a recipe for its latest run there. ``run_seed`` and ``run_task`` choose one of the models of a run. Each task is a name, a path or a
    :class:`~ticketlab.tasks.base.Task`; without ``tasks``, the model of a run is evaluated on the run's own task and challenge sets.
    ``ood`` are challenge sets; ``ood_map`` (``TASK_LABEL=OOD_LABEL``) and ``label_map`` (``MODEL_LABEL=TASK_LABEL``) translate labels whose
    names differ. ``split`` is the split to evaluate, by default ``test``, and ``max_length`` the longest input in tokens. ``metrics`` are
    names of further metrics (``ticketlab show metric``), ``sets`` are further settings, such as ``"evaluate.batch_size=16"``, and ``name``
    is the name of the new run.

    :raises UsageError: no task, no such model, or an invalid setting.
    """
    settings = _given(split=split, metrics=_listed(metrics) or None, label_map=_listed(label_map) or None)
    measured = find_model(_find_run(model, lab), seed=run_seed, task=run_task)
    data = choose_data(measured, find_tasks(tasks), find_tasks(ood), _listed(ood_map), takes_ood=True)
    recipe = one_stage("evaluate", measured, data.tasks, settings, _listed(sets), max_length=max_length, ood=data.ood, ood_map=data.ood_map)
    done = run(recipe, lab, name=name)
    data.warn_if_changed(done.results)
    return done


def attack(
    model: str | Path | Run,
    *,
    attacks: str | Sequence[str],
    tasks: Tasks = (),
    examples: int | Literal["all"] | None = None,
    seed: int | None = None,
    split: Split | None = None,
    label_map: str | Sequence[str] = (),
    word_vectors: str | None = None,
    encoder: str | None = None,
    mlm: str | None = None,
    query_budget: int | None = None,
    timeout: float | None = None,
    precision: Literal["fp32", "bf16"] | None = None,
    in_flight: int | None = None,
    workers: int | None = None,
    max_length: int | None = None,
    sets: str | Sequence[str] = (),
    run_seed: int | None = None,
    run_task: str | None = None,
    name: str | None = None,
    lab: str | Path = "lab",
) -> Run:
    """Attack a finished classifier, and return the run: :meth:`Run.attack_metrics` has the numbers of each attack.

    ``model``, ``run_seed``, ``run_task``, ``tasks``, ``label_map``, ``sets`` and ``name`` are those of :func:`evaluate`. ``attacks`` are
    names (``ticketlab show attack``), ``examples`` is the size of the sample that ``seed`` selects from ``split``; None means the default
    of the `attack stage <stages.md#attack>`_. ``word_vectors``, ``encoder``, ``mlm`` and ``query_budget`` apply to the attacks that have
    such a setting. ``timeout`` is in seconds per example, ``precision`` is that of the victim and of the attack's models, and
    ``max_length`` is the longest input in tokens. ``in_flight`` (examples at a time) and ``workers`` (processes) change no record. If there
    are several attacks, each becomes a separate stage, ``attack-NAME``.

    :raises UsageError: no task, no such model or attack, or an invalid setting.
    :raises ResourceError: something that an attack needs is unavailable.
    """
    own_settings = _given(word_vectors=word_vectors, encoder=encoder, mlm=mlm, query_budget=query_budget)
    settings = _given(
        attacks=attack_tables([{"name": own} for own in _listed(attacks)], own_settings),
        examples="none" if examples == "all" else examples,
        sample_seed=seed,
        split=split,
        label_map=_listed(label_map) or None,
        timeout=timeout,
        precision=precision,
        in_flight=in_flight,
        workers=workers,
    )
    measured = find_model(_find_run(model, lab), seed=run_seed, task=run_task)
    data = choose_data(measured, find_tasks(tasks))
    recipe = one_stage("attack", measured, data.tasks, settings, _listed(sets), max_length=max_length)
    done = run(one_stage_per_attack(recipe), lab, name=name)
    data.warn_if_changed(done.results)
    return done


def _find_run(model: str | Path | Run, lab: str | Path) -> str:
    return find_run(str(model.directory if isinstance(model, Run) else model), lab_folder(lab), "model")


def _given(**values: Any) -> dict[str, Any]:
    """Return the arguments that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _listed(value: Any) -> list[Any]:
    """Return one value or several as a list."""
    return [value] if isinstance(value, str) else list(value)
