"""Results as a CSV file in long format: one line per number, with columns that identify the run, model, data and attack."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from attrs import frozen

from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.report.rows import ResultRow
from ticketlab.report.set_summary import SetSummary, SubsetSummary
from ticketlab.report.statistics import Measure, summarise

IDENTITY_COLUMNS = ("run", "label", "task", "model", "scale", "seeds", "of", "checkpoint", "stage", "key")
"""They identify the run's directory, the recipe with its overrides, the measured model and the measuring stage."""
DATA_COLUMNS = ("set", "split", "subset", "attack", "sample", "sample_seed")
"""The examples that the number was measured on."""
NUMBER_COLUMNS = ("measure", "mean", "deviation", "low", "high", "n", "n_largest")
COLUMNS = (*IDENTITY_COLUMNS, *DATA_COLUMNS, *NUMBER_COLUMNS)
KEY_DIGITS = 16


@frozen
class _CsvLine:
    measure: str
    value: Measure | None
    set: str = ""
    split: str = ""
    subset: str = ""
    attack: str = ""
    sample: int | None = None
    sample_seed: int | None = None
    stage: str = ""
    keys: tuple[str, ...] = ()


def write_csv(rows: Sequence[ResultRow], path: str | Path) -> None:
    """Write the rows to a file, atomically. Only a file with numbers of the same runs is overwritten.

    Fractions are between 0 and 1; ``low`` and ``high`` bound the 95 % interval. ``stage`` is the measuring stage, and empty for the
    cost of a model; ``of`` and ``checkpoint`` identify the model. ``key`` has the first digits of the stage's key, one for each seed:
    numbers with equal keys are the same measurement. ``set`` names the challenge set, and is empty for the task's own data; ``subset`` is
    the part of the set that the number describes, ``COLUMN=VALUE``.

    :raises UsageError: the file cannot be written, or is not a file with numbers of the same runs.
    """
    path = files.expand(path)
    check_csv_path(path)
    check_csv_runs(path, {row.run for row in rows})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    with_cost: set[tuple[str, ...]] = set()
    for row in rows:
        model = row.run, row.task, row.of, row.checkpoint
        lines = [*_evaluation_lines(row), *(_cost_lines(row) if model not in with_cost else ()), *_attack_lines(row)]
        with_cost.add(model)
        for line in lines:
            if line.value is not None:
                keys = " ".join(key[:KEY_DIGITS] for key in line.keys)
                identity = (row.run, row.label, row.task, row.model, row.scale, row.seeds, row.of, row.checkpoint)
                data = (line.set, line.split, line.subset, line.attack, line.sample, line.sample_seed)
                low, high = line.value.interval or (None, None)
                numbers = (line.value.mean, line.value.deviation, low, high, line.value.n, line.value.largest)
                writer.writerow((*identity, line.stage, keys, *data, line.measure, *numbers))
    files.write_text(files.expand(path), text.getvalue())


def check_csv_path(path: str | Path) -> None:
    """Check that a CSV file can be written: its folder is writable or can be created, and no file of another kind would be overwritten.

    :raises UsageError: it cannot.
    """
    path = files.expand(path)
    folder = next(place for place in path.absolute().parents if place.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"{path}: no file can be written in {folder}")
    head = ",".join(COLUMNS).encode()
    if csv_has_content(path):
        with path.open("rb") as file:
            if file.read(len(head)).rstrip() != head:
                raise UsageError(
                    f"{path}: the file exists and does not hold numbers written by this version of ticketlab; name another file, or "
                    "remove it"
                )


def csv_has_content(path: str | Path) -> bool:
    """Return whether the file exists and is not empty."""
    path = files.expand(path)
    return path.is_file() and path.stat().st_size > 0


def check_csv_runs(path: str | Path, runs: Collection[str]) -> None:
    """Check that an existing CSV file holds numbers of these runs only, since it is about to be overwritten.

    :raises UsageError: it holds numbers of another run, or is damaged.
    """
    if not csv_has_content(path):
        return
    path = files.expand(path)
    try:
        with path.open(encoding="utf-8", newline="", errors="replace") as file:
            existing = dict.fromkeys(line.get("run") or "" for line in csv.DictReader(file))
    except csv.Error as problem:
        raise UsageError(f"{path}: the file exists and is damaged ({problem}); name another file, or remove it") from None
    others = [run for run in existing if run not in runs]
    if others:
        raise UsageError(
            f"{path}: the file exists and holds the numbers of another run ({others[0] or 'unknown'}); name another file, or remove it"
        )


def _evaluation_lines(row: ResultRow) -> Iterator[_CsvLine]:
    """Yield the results of the evaluation."""
    if row.own_split is not None:
        yield from _set_lines(row, row.own_split, "clean", "")
    for summary in row.challenges:
        yield from _set_lines(row, summary, "accuracy", summary.name)
    if row.own_split is not None:
        yield _CsvLine("latency", row.latency, stage=row.stage, keys=row.keys)


def _cost_lines(row: ResultRow) -> Iterator[_CsvLine]:
    """Yield the sparsity and the cost of the model. They are written once per model, even if it is measured several times."""
    for group, measure in row.sparsity.items():
        yield _CsvLine(f"sparsity {group}", measure, keys=row.model_keys)
    for name in ("parameters", "search_seconds", "training_seconds", "seconds"):
        yield _CsvLine(name, getattr(row, name), keys=row.model_keys)


def _attack_lines(row: ResultRow) -> Iterator[_CsvLine]:
    for attack in row.attacks:
        names = ("clean", "aua", "suc", "queries", "words", "similarity", "replaceable_examples", "replaceable_words")
        measured = {name: getattr(attack, name) for name in names}
        for name in ("attacked", "skipped", "errors", "timeouts"):
            measured[name] = summarise([getattr(sample, name) for sample in attack.samples])
        for name, measure in measured.items():
            yield _CsvLine(
                name,
                measure,
                split=attack.split,
                attack=attack.name,
                sample=attack.size,
                sample_seed=attack.sample_seed,
                stage=attack.stage,
                keys=attack.keys,
            )


def _set_lines(row: ResultRow, summary: SetSummary, accuracy: str, name: str) -> Iterator[_CsvLine]:
    """Yield the measures of the predictions on a set; ``accuracy`` is the name for its accuracy."""

    def line(measure: str, value: Measure | None, subset: str = "") -> _CsvLine:
        return _CsvLine(measure, value, set=name, split=summary.split, subset=subset, stage=row.stage, keys=row.keys)

    yield line(accuracy, summary.accuracy)
    positive = f" {summary.positive_label}" if summary.positive_label else ""
    names = {measure: f"{measure}{positive}" if measure == "binary_f1" else measure for measure in summary.measures}
    for measure, value in summary.measures.items():
        yield line(names[measure], value)
    yield line("majority", _constant(summary.majority, summary.n))
    for measure, baseline in summary.baselines.items():
        yield line(f"majority_{names[measure]}", _constant(baseline, summary.n))
    yield line("outside", summary.outside)
    for label, fraction in summary.labels.items():
        yield line(f"examples {label}", _constant(fraction, summary.n))
    for kind, measures in (("predicted", summary.predicted), ("recall", summary.recall)):
        for label, value in measures.items():
            yield line(f"{kind} {label}", value)
    for column, subsets in summary.subsets.items():
        for part, subset in subsets.items():
            for measure, value in _subset_measures(subset):
                yield line(measure, value, f"{column}={part}")


def _subset_measures(summary: SubsetSummary) -> Iterator[tuple[str, Measure | None]]:
    yield "accuracy", summary.accuracy
    yield "majority", _constant(summary.majority, summary.n)
    for label, measure in summary.recall.items():
        yield f"recall {label}", measure


def _constant(value: float | None, n: int) -> Measure | None:
    """Return a property of the examples, independent of the model, as a measure without deviation and interval."""
    return None if value is None else Measure(value, n=n)
