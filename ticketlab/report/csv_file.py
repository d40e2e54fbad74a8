"""Results as a csv file, one line per number, as plotting and statistics packages like them. Each line says whose number it is."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from attrs import frozen

from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.report.challenges import ChallengeCells, SubsetCells
from ticketlab.report.rows import ResultRow
from ticketlab.report.statistics import Measure, summarise

ABOUT = ("run", "label", "task", "model", "scale", "seeds", "of", "checkpoint", "stage", "key")
"""Whose number it is: the run's directory, the recipe with what overrides it, and which stage measured which model."""
ON = ("set", "split", "subset", "attack", "sample", "sample_seed")
"""What it was measured on."""
NUMBERS = ("measure", "mean", "deviation", "low", "high", "n", "n_largest")
COLUMNS = (*ABOUT, *ON, *NUMBERS)
KEY_DIGITS = 16


@frozen
class _Line:
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
    """Write the rows to a file, atomically, in the place of nothing but the numbers of the same runs.

    Fractions are between 0 and 1; ``low`` and ``high`` bound the 95 % interval. ``stage`` is the stage that measured, ``of`` and
    ``checkpoint`` the model; ``stage`` is empty for what the making of a model took. ``key`` has the beginning of the stage's key, one for
    each seed: numbers with equal keys are one measurement. ``set`` names the challenge set, and is empty for the task's own; ``subset`` is
    the part of the set that the number is about, ``COLUMN=VALUE``.

    :raises UsageError: another file is there.
    """
    path = files.expand(path)
    check_place(path)
    check_runs(path, {row.run for row in rows})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    made: set[tuple[str, ...]] = set()
    for row in rows:
        model = row.run, row.task, row.of, row.checkpoint
        lines = [*_measured(row), *(_making(row) if model not in made else ()), *_attacked(row)]
        made.add(model)
        for line in lines:
            if line.value is not None:
                keys = " ".join(key[:KEY_DIGITS] for key in line.keys)
                about = (row.run, row.label, row.task, row.model, row.scale, row.seeds, row.of, row.checkpoint)
                on = (line.set, line.split, line.subset, line.attack, line.sample, line.sample_seed)
                low, high = line.value.interval or (None, None)
                numbers = (line.value.mean, line.value.deviation, low, high, line.value.n, line.value.largest)
                writer.writerow((*about, line.stage, keys, *on, line.measure, *numbers))
    files.write_text(files.expand(path), text.getvalue())


def check_place(path: str | Path) -> None:
    """Make sure that a file may be written: its folder is there or can be made, and nothing is in its place, or numbers like these.

    :raises UsageError: it may not.
    """
    path = files.expand(path)
    folder = next(place for place in path.absolute().parents if place.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"{path}: no file can be written in {folder}")
    head = ",".join(COLUMNS).encode()
    if has_numbers(path):
        with path.open("rb") as file:
            if file.read(len(head)).rstrip() != head:
                raise UsageError(
                    f"{path}: there is such a file already, and it holds no numbers of this version of ticketlab; name another one, or "
                    "remove it"
                )


def has_numbers(path: str | Path) -> bool:
    """Say whether a file is there that holds anything."""
    path = files.expand(path)
    return path.is_file() and path.stat().st_size > 0


def check_runs(path: str | Path, runs: Collection[str]) -> None:
    """Make sure that a file of numbers holds none of other runs than these, which are about to be written.

    :raises UsageError: it does.
    """
    if not has_numbers(path):
        return
    path = files.expand(path)
    try:
        with path.open(encoding="utf-8", newline="", errors="replace") as file:
            found = dict.fromkeys(line.get("run") or "" for line in csv.DictReader(file))
    except csv.Error as problem:
        raise UsageError(f"{path}: there is such a file already, and it is damaged ({problem}); name another file, or remove it") from None
    others = [run for run in found if run not in runs]
    if others:
        raise UsageError(
            f"{path}: there is such a file already, with the numbers of another run ({others[0] or 'unknown'}); name another file, or "
            "remove it"
        )


def _measured(row: ResultRow) -> Iterator[_Line]:
    """Yield what evaluation found."""
    if row.own_split is not None:
        yield from _judged(row, row.own_split, "clean", "")
    for cells in row.challenges:
        yield from _judged(row, cells, "accuracy", cells.name)
    if row.own_split is not None:
        yield _Line("latency", row.latency, stage=row.stage, keys=row.keys)


def _making(row: ResultRow) -> Iterator[_Line]:
    """Yield what the model is like, and what making it took: once a model, however often it is measured."""
    for group, measure in row.sparsity.items():
        yield _Line(f"sparsity {group}", measure, keys=row.made)
    for name in ("parameters", "search_seconds", "training_seconds", "seconds"):
        yield _Line(name, getattr(row, name), keys=row.made)


def _attacked(row: ResultRow) -> Iterator[_Line]:
    for attack in row.attacks:
        named = ("clean", "aua", "suc", "queries", "words", "similarity", "replaceable_examples", "replaceable_words")
        measured = {name: getattr(attack, name) for name in named}
        for name in ("attacked", "skipped", "errors", "timeouts"):
            measured[name] = summarise([getattr(sample, name) for sample in attack.samples])
        for name, measure in measured.items():
            yield _Line(
                name,
                measure,
                split=attack.split,
                attack=attack.name,
                sample=attack.size,
                sample_seed=attack.sample_seed,
                stage=attack.stage,
                keys=attack.keys,
            )


def _judged(row: ResultRow, cells: ChallengeCells, accuracy: str, name: str) -> Iterator[_Line]:
    """Yield what the predictions on a set say; ``accuracy`` is what its accuracy is called."""

    def line(measure: str, value: Measure | None, subset: str = "") -> _Line:
        return _Line(measure, value, set=name, split=cells.split, subset=subset, stage=row.stage, keys=row.keys)

    yield line(accuracy, cells.accuracy)
    positive = f" {cells.positive_label}" if cells.positive_label else ""
    named = {measure: f"{measure}{positive}" if measure == "binary_f1" else measure for measure in cells.measures}
    for measure, value in cells.measures.items():
        yield line(named[measure], value)
    yield line("majority", _fact(cells.majority, cells.n))
    for measure, baseline in cells.baselines.items():
        yield line(f"majority_{named[measure]}", _fact(baseline, cells.n))
    yield line("outside", cells.outside)
    for label, share in cells.labels.items():
        yield line(f"examples {label}", _fact(share, cells.n))
    for kind, measures in (("predicted", cells.predicted), ("recall", cells.recall)):
        for label, value in measures.items():
            yield line(f"{kind} {label}", value)
    for column, subsets in cells.subsets.items():
        for part, subset in subsets.items():
            for measure, value in _subset(subset):
                yield line(measure, value, f"{column}={part}")


def _subset(cells: SubsetCells) -> Iterator[tuple[str, Measure | None]]:
    yield "accuracy", cells.accuracy
    yield "majority", _fact(cells.majority, cells.n)
    for label, measure in cells.recall.items():
        yield f"recall {label}", measure


def _fact(value: float | None, n: int) -> Measure | None:
    """Return a number that belongs to the examples, whatever a model says of them: without deviation and interval."""
    return None if value is None else Measure(value, n=n)
