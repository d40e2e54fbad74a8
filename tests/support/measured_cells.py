"""Cells whose examples have given outcomes, in a lab with the files of the stages that measured them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.fake_lab import data_set

from ticketlab.attacks.results.metrics import measure
from ticketlab.attacks.results.record import Record, Status
from ticketlab.attacks.results.record_file import path_in
from ticketlab.core import files
from ticketlab.lab.layout import CELLS, PREDICTIONS, RECIPE, RESULTS, STUDIES, stage_folder
from ticketlab.report.cells import Cell, Comparison, Factor
from ticketlab.stages import predictions

STATUSES: Mapping[str, Status] = {"f": "failed", "s": "success", "k": "skipped", "e": "error", "t": "timeout"}


def measured_cell(
    lab: Path,
    levels: Mapping[str, str],
    *,
    clean: Sequence[str] = (),
    dev: Sequence[str] = (),
    attack: Sequence[str] = (),
    ood: Sequence[str] = (),
    history: Sequence[Sequence[float]] = (),
    seconds: Sequence[float] = (),
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    task: str = "sst2",
    first: int = 0,
    recipe: str = "",
    **more: Any,
) -> Cell:
    """Return a cell with the results of one task.

    ``clean`` and ``ood`` (of HANS) have the outcomes of the test examples, and ``dev`` of the development examples: a text such as
    ``"1101"`` for each seed. ``attack`` has the statuses of the attacked examples: f(ailed), s(uccess), sk(ipped), e(rror), t(imeout).
    ``history`` has the development accuracies of the training, and ``seconds`` its duration. Ids of examples count from ``first``.
    ``recipe`` is the text of ``recipe.toml``; the training stage is ``retrain``.
    """
    label = ", ".join(levels.values())
    stages: dict[str, dict[str, Any]] = {}
    for index in range(max(map(len, (clean, dev, attack, ood, history, seconds)))):
        of_seed = stages.setdefault(str(seeds[index]), {})
        key = f"{label}{seeds[index]}{task}".encode().hex().ljust(60, "0")
        of_seed["retrain"] = {"kind": "train", "key": f"{key}0000", "inputs": {}, "train": {}, "cost": {}}
        if history:
            of_seed["retrain"]["train"]["history"] = [{"step": 10 * n, "dev_accuracy": a} for n, a in enumerate(history[index], start=1)]
        if seconds:
            of_seed["retrain"]["cost"] = {"seconds": seconds[index] + 1, "training_seconds": seconds[index]}
        if clean or ood:
            found = {name: outcomes[index] for name, outcomes in (("", clean), ("hans", ood)) if outcomes}
            of_seed["evaluate"] = _evaluated(lab, f"{key}0001", found, "test", first)
        if dev:
            of_seed["evaluate-dev"] = _evaluated(lab, f"{key}0002", {"": dev[index]}, "dev", first)
        if attack:
            of_seed["attack"] = _attacked(lab, f"{key}0003", attack[index], first)
    folder = lab / "runs" / label
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECIPE).write_text(recipe)
    data = {task: {"fingerprint": "f" * 8}, "hans": {"fingerprint": "f" * 8}}
    results = {"recipe": "small", "model": "demo", "scale": "full", "seeds": list(map(int, stages)), "data": data, "tasks": {task: stages}}
    return Cell(label, levels, folder, results, **more)


def compared(*cells: Cell, baseline: str = "") -> Comparison:
    """Return the comparison of the cells. The levels of a factor are in the order in which they occur, and its name is its key."""
    names = dict.fromkeys(name for cell in cells for name in cell.levels)
    levels = {name: tuple(dict.fromkeys(cell.levels[name] for cell in cells if name in cell.levels)) for name in names}
    return Comparison("test", tuple(Factor(name, levels[name], name) for name in names), cells, baseline)


def _evaluated(lab: Path, key: str, outcomes: Mapping[str, str], split: str, first: int) -> dict[str, Any]:
    rows = [
        {
            **{"id": f"{split}-{number}", "set": name, "split": split, "label": "yes", "predicted": "yes" if outcome == "1" else None},
            **{"probability_yes": 0.5, "probability_no": 0.5},
        }
        for name, of_set in outcomes.items()
        for number, outcome in enumerate(of_set, start=first)
    ]
    predictions.write(stage_folder(lab, key) / PREDICTIONS, rows, ("yes", "no"))
    shares = {name: (len(of_set), of_set.count("1") / len(of_set)) for name, of_set in outcomes.items()}
    scores = {name: {"split": split, "n": n, "accuracy": share, "macro_f1": share / 2} for name, (n, share) in shares.items()}
    result = {"kind": "evaluate", "key": key, "of": "retrain", "inputs": {"model": "retrain"}}
    result |= {"clean": scores[""]} if "" in scores else {}
    return result | ({"ood": {"hans": scores["hans"]}} if "hans" in scores else {})


def _attacked(lab: Path, key: str, statuses: str, first: int) -> dict[str, Any]:
    records = [
        Record(id=f"test-{number}", status=STATUSES[status], original=("a",), label="yes", perturbed=("b",), queries=1)
        for number, status in enumerate(statuses, start=first)
    ]
    path = path_in(stage_folder(lab, key), "pwws")
    path.parent.mkdir(parents=True)
    header = json.dumps({"format": "ticketlab-attack-records/2", "config": key})
    path.write_text("".join(f"{line}\n" for line in (header, *(record.to_json() for record in records))))
    attacks = {"pwws": measure(records).to_table()}
    return {"kind": "attack", "key": key, "of": "retrain", "inputs": {"model": "retrain"}, "attacks": attacks, "sample": {"split": "test"}}


def write_study(lab: Path, comparison: Comparison, hypotheses: Sequence[Mapping[str, Any]]) -> Path:
    """Write a comparison as a study that has run once, with these hypotheses, and return its folder."""
    for cell, results in comparison.finished:
        data = {name: data_set(about["fingerprint"]) for name, about in results["data"].items()}
        head = {"schema": 2, "run": cell.folder.name, "label": cell.label}
        files.write_json(cell.folder / RESULTS, {**head, **results, "data": data})
    cells = [
        {
            **{"label": cell.label, "levels": dict(cell.levels), "run": cell.folder.name if cell.results else None},
            **{"same_as": None, "inapplicable": [], "error": cell.error},
        }
        for cell in comparison.cells
    ]
    table = {
        **{"study": "mine", "digest": "0" * 64, "summary": "", "baseline": comparison.baseline, "cells": cells},
        "factors": [{"name": factor.name, "keys": [factor.key], "levels": list(factor.levels)} for factor in comparison.factors],
        "hypotheses": list(hypotheses),
        "first_run": {"date": "2026-01-31", "hypotheses": list(hypotheses)},
    }
    folder = lab / STUDIES / "mine"
    files.write_json(folder / CELLS, table)
    files.write_text(folder / "study.toml", "")
    return folder
