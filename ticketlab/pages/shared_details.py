"""The data sets and environments of a comparison, each described once for all the cells that share it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from ticketlab.core import files
from ticketlab.lab.layout import ENVIRONMENT
from ticketlab.lab.results import stage_results
from ticketlab.report.cells import Comparison

FINGERPRINT_DIGITS = 12


@frozen
class DataSet:
    """A data set that cells used: its rows by split, and where they are known the examples of each class by split.

    ``rows`` and ``classes`` are texts by split. ``details`` are pairs of a heading and a text. ``cells`` names the cells that used it
    if not all did.
    """

    name: str
    rows: Mapping[str, str]
    classes: Mapping[str, Mapping[str, str]]
    labels: tuple[str, ...]
    details: tuple[tuple[str, str], ...]
    cells: tuple[str, ...]

    @property
    def splits(self) -> list[str]:
        """The splits with known sizes or classes."""
        return list(dict.fromkeys([*self.rows, *self.classes]))


@frozen
class Environment:
    """An environment in which cells ran: pairs of a heading and a text; ``cells`` as in :class:`DataSet`."""

    facts: tuple[tuple[str, str], ...]
    cells: tuple[str, ...]


def data_sets(comparison: Comparison) -> Iterator[DataSet]:
    """Yield each data set once, by its name and fingerprint."""
    found: dict[tuple[str, str], list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]] = {}
    for cell, results in comparison.finished:
        for name, about in results.get("data", {}).items():
            found.setdefault((name, str(about.get("fingerprint", ""))), []).append((cell.label, about, results))
    for (name, fingerprint), uses in found.items():
        _, about, _ = uses[0]
        classes = {split: _counts(found) for split, found in about.get("classes", {}).items() if about.get("rows", {}).get(split)}
        for _, _, results in uses:  # of runs that recorded no classes, those of the evaluated splits
            for split, counts in _class_counts(results, name):
                classes.setdefault(split, counts)
        labels = dict.fromkeys([*about.get("labels", ()), *(label for counts in classes.values() for label in counts)])
        yield DataSet(
            name=name,
            rows={split: f"{count:,}" for split, count in about.get("rows", {}).items() if count},
            classes=classes,
            labels=tuple(labels),
            details=tuple(_data_details(about, fingerprint)),
            cells=_unless_all([label for label, _, _ in uses], comparison),
        )


def environments(comparison: Comparison) -> Iterator[Environment]:
    """Yield each distinct environment of the finished cells."""
    found: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for cell, _ in comparison.finished:
        try:
            described = files.read_json(cell.folder / ENVIRONMENT)
        except (OSError, ValueError):
            described = {ENVIRONMENT: "is missing or cannot be read"}
        facts = tuple((str(name), _flat(value)) for name, value in described.items()) if isinstance(described, dict) else ()
        found.setdefault(facts, []).append(cell.label)
    for facts, cells in found.items():
        yield Environment(facts, _unless_all(cells, comparison))


def _class_counts(results: Mapping[str, Any], name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the evaluated splits of a data set with the examples of each class."""
    for stage in stage_results(results):
        measured = [(stage.task, stage.result.get("clean")), *stage.result.get("ood", {}).items()]
        for of, found in measured:
            if found and of == name.removesuffix(" (ood)") and "labels" in found:
                yield str(found.get("split", "test")), _counts(found["labels"])


def _counts(by_label: Mapping[str, int]) -> dict[str, str]:
    return {label: f"{count:,}" for label, count in by_label.items()}


def _data_details(about: Mapping[str, Any], fingerprint: str) -> Iterator[tuple[str, str]]:
    yield "Columns", ", ".join(about.get("columns", ()))
    if about.get("positive_label") is not None:
        yield "Positive label", str(about["positive_label"])
    for name in ("dropped", "counts"):
        for what, count in about.get(name, {}).items():
            yield f"{name} rows" if name == "dropped" else "Note", f"{what}: {count:,}"
    for notice in about.get("notices", ()):
        yield "Reading", str(notice)
    yield "Fingerprint", fingerprint[:FINGERPRINT_DIGITS]


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {version}" for name, version in value.items())
    return value if isinstance(value, str) else json.dumps(value)


def _unless_all(cells: list[str], comparison: Comparison) -> tuple[str, ...]:
    return () if len(cells) == len(comparison.finished) else tuple(cells)
