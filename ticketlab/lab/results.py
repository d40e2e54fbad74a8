"""Reading results: what the stages in a ``results.json`` say about one another, and whether their numbers can be true."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab.layout import RESULTS, lab_of_run, stage_folder

TRAININGS = ("train", "search")
SHARES = {
    *("accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "binary_f1", "majority", "clean", "aua", "suc", "words_changed"),
    *("majority_balanced_accuracy", "majority_macro_f1", "majority_weighted_f1", "majority_binary_f1"),
    *("bias_degree", "calibration_error", "achieved", "sparsity"),
}
"""Numbers between 0 and 1, by name."""
CORRELATIONS = {"matthews", "majority_matthews", "similarity"}
"""Numbers between -1 and 1."""
COUNTS = {
    *("n", "correct", "count", "total", "outside", "truncated", "successes", "failures", "skipped", "errors", "timeouts", "steps", "rows"),
    *("seconds", "training_seconds", "prediction_seconds", "trainable_parameters", "parameters", "units", "kept", "bytes", "queries"),
}
"""Numbers that are not negative."""
KIND_OF_ENTRIES = {
    **dict.fromkeys(("recall", "sparsity", "bias_degree_of"), "accuracy"),
    **dict.fromkeys(("labels", "predicted", "dropped", "mixed", "by_attack", "trained_on"), "n"),
}
"""What the entries of a mapping are, whatever they are called: labels and groups of units have any name."""
NAMED = {"subsets": 2, "ood": 1, "attacks": 1, "groups": 1}
"""Mappings whose keys, on so many levels, are names and say nothing about the numbers."""
PARTS = {"correct": "n", "count": "total"}
"""What counts a part of what another number counts."""
SLACK = 1e-9


def checkpoint_name(of: str, at: str) -> str:
    """Return what the model of a stage, or its checkpoint ``at``, is called: ``retrain`` or ``retrain@500``."""
    return f"{of}@{at}" if at else of


def augmentation_sources(stages: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the names of the attack stages whose texts a training learns from: they are no measurement of the model attacked.

    ``stages`` are those of one task and seed, by name.
    """
    made = [stage.get(str(stage.get("kind")), {}) for stage in stages.values() if stage.get("kind") in TRAININGS]
    return {str(one["augmented"]["by"]) for one in made if "augmented" in one} & stages.keys()


@frozen
class StageResult:
    """One stage in the results of a run. ``siblings`` are all stages of the same task and seed, by name."""

    task: str
    seed: str
    name: str
    result: Mapping[str, Any]
    siblings: Mapping[str, Mapping[str, Any]]

    @property
    def kind(self) -> str:
        """``train``, ``search``, ..."""
        return str(self.result["kind"])

    @property
    def key(self) -> str:
        """The key that its folder in the lab is named by."""
        return str(self.result["key"])


def stage_results(results: Mapping[str, Any]) -> Iterator[StageResult]:
    """Yield every stage in the results of a run, in their order: by task, seed and stage."""
    for task, seeds in results["tasks"].items():
        for seed, stages in seeds.items():
            for name, stage in stages.items():
                yield StageResult(task, seed, name, stage, stages)


def stage_folders(run: Path, kind: str) -> list[Path]:
    """Return the folders of a finished run's stages of one ``kind``, each once. Raises as :func:`read_results`."""
    keys = dict.fromkeys(stage.key for stage in stage_results(read_results(run / RESULTS)) if stage.kind == kind)
    return [stage_folder(lab_of_run(run), key) for key in keys]


def read_results(path: Path) -> Mapping[str, Any]:
    """Return what a ``results.json`` holds.

    :raises UsageError: it is none, or has a number that cannot be.
    """
    try:
        results: Mapping[str, Any] = files.read_json(path)
        stages = [
            (f"{stage.task}, seed {stage.seed}, {stage.name}", {"kind": stage.kind, "key": stage.key, **stage.result})
            for stage in stage_results(results)
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{path}: not the results of a run, or damaged") from None
    for name, stage in stages:
        if (problem := find_impossible(stage)) is not None:
            raise UsageError(f"{path}: damaged: {name}: {problem}; run the recipe again, and the file is written anew")
    return results


def find_impossible(result: Any) -> str | None:
    """Return what cannot be in the result of a stage, the first such number with its place; None for a result that can be true."""
    return next(_impossible(result, "", ""), None)


def _impossible(value: Any, key: str, path: str, names: int = 0) -> Iterator[str]:
    """Yield the numbers below ``key`` that cannot be; the keys of a mapping are mere names on so many levels."""
    if isinstance(value, Mapping):
        if names == 0 and key not in KIND_OF_ENTRIES:
            yield from _more_than_all(value, path)
        for name, entry in value.items():
            below = "" if names else KIND_OF_ENTRIES.get(key, str(name))
            levels = names - 1 if names else NAMED.get(below, 0)
            yield from _impossible(entry, below, f"{path}.{name}" if path else str(name), levels)
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _impossible(entry, key, f"{path}.{number}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _out_of_bounds(value, key.removeprefix("dev_"), path)


def _more_than_all(value: Mapping[str, Any], path: str) -> Iterator[str]:
    for part, whole in PARTS.items():
        some, all_of_them = value.get(part), value.get(whole)
        if isinstance(some, int) and isinstance(all_of_them, int) and some > all_of_them:
            yield f"{path}: {part} is {some} and {whole} {all_of_them}"


def _out_of_bounds(value: float, name: str, path: str) -> Iterator[str]:
    if isinstance(value, float) and not math.isfinite(value):
        yield f"{path} is {value}, which is no number"
    elif name in SHARES and not -SLACK <= value <= 1 + SLACK:
        yield f"{path} is {value}, and must be between 0 and 1"
    elif name in CORRELATIONS and not -1 - SLACK <= value <= 1 + SLACK:
        yield f"{path} is {value}, and must be between -1 and 1"
    elif name in COUNTS and value < 0:
        yield f"{path} is {value}, and cannot be negative"
