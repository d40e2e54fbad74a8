"""The adversarial examples in files of records: for export as a data set, or for training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.attacks.results import record_file
from ticketlab.attacks.results.record import Record
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted

PLAIN_NAMES = {1: ("text",), 2: ("text1", "text2")}
"""Names of text columns whose own names are unknown or ambiguous."""


@frozen
class AdversarialExample:
    """A text (or pair) that fooled a victim.

    ``original`` is the id of the example that it was made from; ``id`` is ``ATTACK/ORIGINAL``, or ``ATTACK#2/ORIGINAL`` if an earlier file
    has the same. ``label`` is the correct label.
    """

    id: str
    original: str
    texts: tuple[str, ...]
    label: str
    attack: str
    model: str
    taken_from: str
    before: tuple[str, ...] | None = None
    """The original texts, if known."""


@frozen
class AdversarialDataset:
    """The adversarial examples of some files of records. ``columns`` names their texts; ``repeated`` counts dropped duplicates."""

    columns: tuple[str, ...]
    texts: tuple[AdversarialExample, ...]
    repeated: int = 0
    sources: tuple[Path, ...] = ()


def collect(paths: Sequence[Path]) -> AdversarialDataset:
    """Return the successful examples of files of records, in order and without duplicates.

    :raises UsageError: a file holds no records, or the numbers of text columns differ between files.
    """
    examples: dict[tuple[tuple[str, ...], str], AdversarialExample] = {}
    taken: Counter[tuple[str, str]] = Counter()
    names: tuple[str, ...] | None = None
    repeated = 0
    for path in paths:
        header, rows = record_file.read(path)
        own = columns_of(path, header, rows)
        names = names or own
        if len(own) != len(names):
            raise UsageError(
                f"{path}: its texts are {', '.join(own)}, those of {paths[0]} are {', '.join(names)}: they cannot form one data set"
            )
        facts = {"attack": str(header.get("attack", path.stem)), "model": str(header.get("model", "")), "taken_from": split_of(header)}
        for row in rows:
            if row.status != "success":
                continue
            if (row.perturbed, row.label) in examples:
                repeated += 1
                continue
            taken[facts["attack"], row.id] += 1
            number = taken[facts["attack"], row.id]
            identity = f"{facts['attack']}{f'#{number}' if number > 1 else ''}/{row.id}"
            examples[row.perturbed, row.label] = AdversarialExample(
                identity, row.id, row.perturbed, row.label, **facts, before=row.original
            )
    return AdversarialDataset(names or (), tuple(examples.values()), repeated, tuple(paths))


def columns_of(path: Path, header: Mapping[str, Any], rows: Sequence[Record]) -> tuple[str, ...]:
    """Return the names of the text columns: from the header if it is valid, else :data:`PLAIN_NAMES`.

    :raises UsageError: the numbers of columns and of a record's texts differ.
    """
    number = len(rows[0].original) if rows else 1
    named = header.get("columns")
    known = isinstance(named, list) and all(isinstance(name, str) for name in named) and (not rows or len(named) == number)
    columns = tuple(named or ()) if known else PLAIN_NAMES.get(number, tuple(f"text{index + 1}" for index in range(number)))
    for row in rows:
        if row.status == "success" and len(row.perturbed) != len(columns):
            raise UsageError(f"{path}: `{row.id}` has {counted(len(row.perturbed), 'text')} for the columns {', '.join(columns)}")
    return columns


def split_of(header: Mapping[str, Any]) -> str:
    """Return the split of a file of records, or an empty string if its header does not name it."""
    sample = header.get("sample")
    return str(sample.get("split", "")) if isinstance(sample, Mapping) else ""
