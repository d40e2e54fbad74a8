"""Handwritten comparisons: cells of a study with one training and its measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from ticketlab.report.cells import Cell, Comparison, Factor

EXAMPLES = 400
ATTACKED = 100


def with_predictions(results: dict[str, Any], *classes: str) -> dict[str, Any]:
    """Return the results with what each seed predicts: one class for every example, or both classes if the text is empty."""
    for stages, label in zip(next(iter(results["tasks"].values())).values(), classes, strict=True):
        half = EXAMPLES // 2
        predicted = {one: EXAMPLES * (one == label) if label else half for one in ("no", "yes")}
        stages["evaluate"]["clean"] |= {"labels": {"no": half, "yes": half}, "predicted": predicted}
    return results


def results(
    task: str = "sst2",
    *,
    clean: Sequence[float] = (),
    aua: Mapping[str, Sequence[float]] | None = None,
    ood: Mapping[str, Sequence[float]] | None = None,
    seconds: Sequence[float] = (),
    sparsity: float | None = None,
    dev: Sequence[float] = (),
    name: str = "",
    model: str = "demo",
    scale: str = "full",
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the content of a ``results.json`` with one value per seed. Stages have keys of their own unless ``name`` is shared."""
    seeds = max(map(len, (clean, seconds, dev, *(aua or {}).values(), *(ood or {}).values())))
    by_seed = {}
    for seed in range(seeds):
        train = {"kind": "train", "key": f"{name} train {seed}", "inputs": {}, "train": {}}
        train["train"] = {"sparsity": {"weights": sparsity}} if sparsity is not None else {}
        train["cost"] = {"seconds": seconds[seed] + 1, "training_seconds": seconds[seed]} if seconds else {}
        evaluate: dict[str, Any] = {"kind": "evaluate", "key": f"{name} evaluate {seed}", "of": "train", "warnings": list(warnings)}
        if clean:
            evaluate["clean"] = {"split": "test", "accuracy": clean[seed], "n": EXAMPLES}
        if ood:
            evaluate["ood"] = {one: {"split": "test", "accuracy": values[seed], "n": 80} for one, values in ood.items()}
        stages = {"train": train, "evaluate": evaluate}
        if dev:
            stages["on-dev"] = {"kind": "evaluate", "key": f"{name} dev {seed}", "of": "train"}
            stages["on-dev"]["clean"] = {"split": "dev", "accuracy": dev[seed], "n": EXAMPLES}
        if aua:
            attacks = {one: {"aua": values[seed], "n": ATTACKED} for one, values in aua.items() if seed < len(values)}
            stages["attack"] = {"kind": "attack", "key": f"{name} attack {seed}", "of": "train", "attacks": attacks}
            stages["attack"]["sample"] = {"split": "test", "size": ATTACKED, "seed": 0}
        by_seed[str(seed)] = stages
    head = {"recipe": "mine", "scale": scale, "model": model, "seeds": list(range(seeds))}
    return {**head, "tasks": {task: by_seed}}


def study(cells: Sequence[Cell], keys: Mapping[str, str] | None = None, **more: Any) -> Comparison:
    """Return the comparison of cells. Its factors have the levels in the order of the cells; ``keys`` has their keys by name."""
    names = dict.fromkeys(name for cell in cells for name in cell.levels)
    factors = [Factor(name, tuple(dict.fromkeys(cell.levels[name] for cell in cells)), (keys or {}).get(name, name)) for name in names]
    return evolve(Comparison("study", tuple(factors), tuple(cells)), **more)


def cell(levels: Mapping[str, str], found: Mapping[str, Any] | None = None, **more: Any) -> Cell:
    """Return a cell whose label is its levels; its stages have keys of their own."""
    label = ", ".join(levels.values())
    return Cell(label, levels, Path(label), found, **more)
