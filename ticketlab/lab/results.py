"""Reads ``results.json``: its stages, the references between them, and whether their numbers are possible."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core import files
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.lab.layout import RESULTS, lab_of_run, stage_folder

TRAININGS = ("train", "search")
"""The built-in kinds of stages that train."""
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
"""For mappings by label or group of units: the number whose bounds apply to each entry."""
NAMED = {"subsets": 2, "ood": 1, "attacks": 1, "groups": 1, "metrics": 1, "numbers": 1}
"""Mappings with arbitrary names as keys, and the number of nested levels with such keys."""
PARTS = {"correct": "n", "count": "total"}
"""Numbers that count a part of what another number counts."""
SLACK = 1e-9


def checkpoint_name(of: str, at: str) -> str:
    """Return the name of a stage's model or of its checkpoint ``at``: ``retrain`` or ``retrain@500``."""
    return f"{of}@{at}" if at else of


def augmentation_sources(stages: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the names of the attack stages whose texts augment a training stage. They do not measure the model that they attack.

    ``stages`` are those of one task and seed, by name.
    """
    trainings = [training_of(stage) for stage in stages.values()]
    return {str(training["augmented"]["by"]) for training in trainings if "augmented" in training} & stages.keys()


def measuring_stages(stages: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the stages that measured a model, by name, without attacks whose texts augment a training stage."""
    augmenting = augmentation_sources(stages)
    return {name: stage for name, stage in stages.items() if "of" in stage and name not in augmenting}


def works_as(stage: Mapping[str, Any], *kinds: str) -> bool:
    """Return whether a stage in the results of a run is of one of these kinds, or writes the files of one."""
    return not {stage["kind"], *stage.get("replaces", ())}.isdisjoint(kinds)


def measures(stage: Mapping[str, Any]) -> bool:
    """Return whether the numbers of a stage in the results of a run are about the model that it names, and not about its own."""
    return "settings" in stage


def training_of(stage: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a training stage reports about its training: ``steps``, ``history``, ...; nothing for other stages."""
    kind = str(stage.get("kind"))
    found = stage.get(kind, {})
    return found if isinstance(found, Mapping) and (kind in TRAININGS or "history" in found) else {}


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

    def works_as(self, *kinds: str) -> bool:
        """Return :func:`works_as` of the stage."""
        return works_as(self.result, *kinds)

    @property
    def data(self) -> str:
        """The name of the data that its numbers are of: the stage's own task, or that of the run."""
        return str(self.result.get("task", self.task))

    @property
    def key(self) -> str:
        """The key, which is the name of its folder in the lab."""
        return str(self.result["key"])


def stage_results(results: Mapping[str, Any]) -> Iterator[StageResult]:
    """Yield every stage in the results of a run, in their order: by task, seed and stage."""
    for task, seeds in results["tasks"].items():
        for seed, stages in seeds.items():
            for name, stage in stages.items():
                yield StageResult(task, seed, name, stage, stages)


def stages_of_kind(run: Path, kind: str, task: str | None = None, seed: int | None = None) -> list[StageResult]:
    """Return a finished run's stages of one ``kind``, of a task and seed or of all; a stage that several share is listed once.

    Raises the errors of :func:`read_results`.

    :raises UsageError: the run has no such task or seed.
    """
    stages = [stage for stage in stage_results(read_results(run / RESULTS)) if stage.works_as(kind)]
    found = [stage for stage in stages if task in (None, stage.task) and (seed is None or stage.seed == str(seed))]
    if stages and not found:
        known = list(dict.fromkeys(f"{stage.task}, seed {stage.seed}" for stage in stages))
        wanted = ", ".join([*([task] if task is not None else []), *([f"seed {seed}"] if seed is not None else [])])
        raise UsageError(f"{run}: the run has no {kind} stage of {wanted}{did_you_mean(wanted, known)}")
    return list({stage.key: stage for stage in reversed(found)}.values())[::-1]


def stage_folders(run: Path, kind: str, task: str | None = None, seed: int | None = None) -> list[Path]:
    """Return the folders of the stages that :func:`stages_of_kind` returns."""
    return [stage_folder(lab_of_run(run), stage.key) for stage in stages_of_kind(run, kind, task, seed)]


def read_results(path: Path) -> Mapping[str, Any]:
    """Return the contents of a ``results.json``.

    :raises UsageError: it is not a valid results file, or contains an impossible number.
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
            raise UsageError(f"{path}: damaged: {name}: {problem}; run the recipe again to write the file again")
    return results


def find_impossible(result: Any) -> str | None:
    """Return the first impossible number in the result of a stage, with its path; None if all are possible."""
    return next(_impossible(result, "", ""), None)


def _impossible(value: Any, key: str, path: str, names: int = 0) -> Iterator[str]:
    """Yield the impossible numbers below ``key``. On the next ``names`` levels the keys of mappings are arbitrary names."""
    if isinstance(value, Mapping):
        if names == 0 and key not in KIND_OF_ENTRIES:
            yield from _parts_above_wholes(value, path)
        for name, entry in value.items():
            below = "" if names else KIND_OF_ENTRIES.get(key, str(name))
            levels = names - 1 if names else NAMED.get(below, 0)
            yield from _impossible(entry, below, f"{path}.{name}" if path else str(name), levels)
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _impossible(entry, key, f"{path}.{number}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _out_of_bounds(value, key.removeprefix("dev_"), path)


def _parts_above_wholes(value: Mapping[str, Any], path: str) -> Iterator[str]:
    for part, whole in PARTS.items():
        part_count, whole_count = value.get(part), value.get(whole)
        if isinstance(part_count, int) and isinstance(whole_count, int) and part_count > whole_count:
            yield f"{path}: {part} is {part_count} and {whole} is {whole_count}"


def _out_of_bounds(value: float, name: str, path: str) -> Iterator[str]:
    if isinstance(value, float) and not math.isfinite(value):
        yield f"{path} is {value}, which is not a finite number"
    elif name in SHARES and not -SLACK <= value <= 1 + SLACK:
        yield f"{path} is {value}, and must be between 0 and 1"
    elif name in CORRELATIONS and not -1 - SLACK <= value <= 1 + SLACK:
        yield f"{path} is {value}, and must be between -1 and 1"
    elif name in COUNTS and value < 0:
        yield f"{path} is {value}, and cannot be negative"
