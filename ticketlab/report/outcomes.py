"""The outcome of each example, right (1) or wrong (0), behind a fraction of a cell; for paired comparisons."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path

from ticketlab.attacks.results import record_file
from ticketlab.core.errors import UsageError
from ticketlab.lab import integrity, mirror
from ticketlab.lab.layout import PREDICTIONS, lab_of_run, stage_folder
from ticketlab.report.cells import Cell
from ticketlab.report.metric_values import SeedValue, metric_values

Outcomes = Mapping[str, int]
"""0 or 1 by the id of the example."""
_PREDICTED = re.compile(r"(?:(?P<split>train|dev|all)\.)?(?:clean|ood\.(?P<set>.+)(?<!\]))\.accuracy")
_ATTACKED = re.compile(r"(?:(?P<split>train|dev|all)\.)?attack\.(?P<attack>.+)\.(?P<measure>aua|suc)")
_OF_STATUS = {"aua": {"failed": 1, "success": 0, "skipped": 0}, "suc": {"success": 1, "failed": 0}}
"""Outcomes of attacked examples. Those with another status do not count, as in the metrics."""


def has_outcomes(metric: str) -> bool:
    """Return whether a metric is a fraction of examples each of which has an outcome."""
    return bool(_PREDICTED.fullmatch(metric) or _ATTACKED.fullmatch(metric))


def data_set(metric: str) -> str:
    """Return the challenge set of a metric that has outcomes; empty for the task itself."""
    predicted = _PREDICTED.fullmatch(metric)
    return (predicted["set"] or "") if predicted else ""


def examples_of(metric: str) -> tuple[str, str]:
    """Return the split (empty for test) and the challenge set (empty for the task) of the examples of a metric that has outcomes."""
    found = _PREDICTED.fullmatch(metric) or _ATTACKED.fullmatch(metric)
    return (found["split"] or "" if found else ""), data_set(metric)


def outcomes(cell: Cell, task: str, seed: int, metric: str, of: str = "") -> Outcomes:
    """Return the outcomes whose mean is the value of a metric.

    The metric is ``clean.accuracy``, ``ood.NAME.accuracy``, ``attack.NAME.aua``, where 1 means that the attack failed, or
    ``attack.NAME.suc``, where 1 means that it succeeded; or one of these on another split, such as ``dev.clean.accuracy``. ``of`` is as
    in :func:`ticketlab.report.metric_values.metric_values`.

    :raises UsageError: the cell has no such number, it has no outcomes, or the files of the stage that measured it are not in the lab.
    :raises Damaged: a file is not what the stage wrote.
    """
    found = next((value for value in metric_values(cell, metric, of).get(task, ()) if value.seed == seed), None)
    if found is None:
        raise UsageError(f"{cell.label} has no `{metric}` of {task} with seed {seed}")
    return outcomes_of(cell, found, metric)


def outcomes_of(cell: Cell, value: SeedValue, metric: str) -> Outcomes:
    """Return the outcomes whose mean is a value of the cell; see :func:`outcomes`."""
    folder = stage_folder(lab_of_run(cell.folder), value.key)
    if predicted := _PREDICTED.fullmatch(metric):
        return _of_predictions(_present(folder / PREDICTIONS, cell, value, metric), predicted["set"] or "")
    if attacked := _ATTACKED.fullmatch(metric):
        path = _present(record_file.path_in(folder, attacked["attack"]), cell, value, metric)
        return _of_records(path, attacked["measure"])
    raise UsageError(
        f"`{metric}` is not a mean over examples that are right or wrong; accuracies, `aua` and `suc` are, and can be compared by example"
    )


@functools.lru_cache(maxsize=256)
def _of_predictions(path: Path, of_set: str) -> Outcomes:
    import pyarrow.parquet as pq

    integrity.check(path)
    with pq.ParquetFile(path) as file:  # half the time of read_table, which sets up a data set of many files
        columns = file.read(columns=["id", "set", "label", "predicted"], use_threads=False).to_pydict()
    return {
        example: int(predicted == label)
        for example, name, label, predicted in zip(columns["id"], columns["set"], columns["label"], columns["predicted"], strict=True)
        if name == of_set
    }


@functools.lru_cache(maxsize=256)
def _of_records(path: Path, measure: str) -> Outcomes:
    of_status = _OF_STATUS[measure]
    return {example: of_status[status] for example, status in record_file.statuses(path).items() if status in of_status}


def _present(path: Path, cell: Cell, value: SeedValue, metric: str) -> Path:
    mirror.fetch(path)
    if not path.is_file():
        raise UsageError(
            f"{cell.label}: the examples behind `{metric}` are not in the lab ({path.name} of the stage {value.key[:10]} is missing): it "
            "was removed, or the run was moved out of its lab; run the recipe again"
        )
    return path
