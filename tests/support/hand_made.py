"""Comparisons made by hand, without runs: the results of cells as ``results.json`` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.report.cells import Cell, Comparison, Factor

Values = Mapping[str, Sequence[float | None]]


def stages(seed: int, *, name: str = "retrain", of: Mapping[str, float], **more: Any) -> dict[str, Any]:
    """Return the stages of a seed: a training ``name``, and what measured its model.

    ``of`` has numbers by metric: ``clean.accuracy``, ``ood.SET.accuracy``, ``attack.NAME.aua``. ``more`` are extra entries: ``history`` of
    the training, ``sparsity``, ``seconds`` of training, ``search``, the whole result of a search stage, ``salt`` of the keys, ``n``.
    """
    n, salt = more.get("n", 100), more.get("salt", "")
    training = {"steps": more.get("steps", 100), "history": more.get("history", []), "trainable_parameters": 1000}
    training |= {"sparsity": more["sparsity"]} if "sparsity" in more else {}
    found: dict[str, Any] = {}
    if "search" in more:
        found["search"] = {"kind": "search", "key": f"search-{salt}-{seed}", "inputs": {}, **more["search"]}
    inputs = {"ticket": "search"} if "search" in more else {}
    cost = {"seconds": more.get("seconds", 10.0), "training_seconds": more.get("seconds", 10.0)}
    found[name] = {"kind": "train", "key": f"{name}-{salt}-{seed}", "inputs": inputs, "train": training, "cost": cost}
    clean, ood, attacks = {}, {}, {}
    for metric, value in of.items():
        kind, *middle, measure = metric.split(".")
        if kind == "clean":
            clean[measure] = value
        elif kind == "ood":
            ood.setdefault(middle[0], {"n": n})[measure] = value
        else:
            attacks.setdefault(middle[0], {"n": n})[measure] = value
    measured = {"of": name, "inputs": {"model": name}, "cost": {"seconds": 1.0}}
    if clean or ood:
        found["evaluate"] = {"kind": "evaluate", "key": f"evaluate-{salt}-{seed}", **measured, "clean": {"n": n, **clean}, "ood": ood}
    if attacks:
        sample = {"split": "test", "size": n, "seed": 0}
        found["attack"] = {"kind": "attack", "key": f"attack-{salt}-{seed}", **measured, "attacks": attacks, "sample": sample}
    return found


def results(tasks: Mapping[str, Sequence[Mapping[str, Any]]], **more: Any) -> dict[str, Any]:
    """Return the results of a run: the stages of each seed, by task."""
    by_task = {task: {str(seed): of_seed for seed, of_seed in enumerate(seeds)} for task, seeds in tasks.items()}
    return {"recipe": "robust-ticket", "model": "bert-base", "scale": "full", "data": {}, "tasks": by_task, **more}


def cell(levels: Mapping[str, str], found: Mapping[str, Any] | None, **more: Any) -> Cell:
    """Return a cell whose label is made of its levels."""
    label = more.pop("label", ", ".join(levels.values()))
    return Cell(label, levels, more.pop("folder", Path("/nowhere/runs") / label.replace("/", "-")), found, **more)


def comparison(cells: Sequence[Cell], title: str = "a study", **keys: str) -> Comparison:
    """Return a comparison. Its factors are those of the cells, with levels in the order of appearance; ``keys`` are what they vary."""
    names = dict.fromkeys(name for one in cells for name in one.levels)
    levels = {name: tuple(dict.fromkeys(one.levels[name] for one in cells if name in one.levels)) for name in names}
    return Comparison(title, tuple(Factor(name, levels[name], keys.get(name, name)) for name in names), tuple(cells))
