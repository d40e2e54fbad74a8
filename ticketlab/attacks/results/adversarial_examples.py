"""The texts that fooled a victim, as examples of their own: for a data set, or to learn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.attacks.results import records
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted

PLAIN_NAMES = {1: ("text",), 2: ("text1", "text2")}
"""What text columns are called where their own names are not known, or would not tell what they are."""


@frozen
class Adversarial:
    """A text (or pair) that fooled a victim.

    ``original`` is the id of the example that it came from, and in ``id`` after a slash: ``ATTACK/ORIGINAL``, of another file that has one
    already ``ATTACK#2/ORIGINAL``. ``label`` is still the right one.
    """

    id: str
    original: str
    texts: tuple[str, ...]
    label: str
    attack: str
    model: str
    taken_from: str
    before: tuple[str, ...] | None = None
    """The texts of the original, where they are known."""


@frozen
class Collection:
    """Texts from files of records. ``columns`` name the texts; ``repeated`` counts those that were there already."""

    columns: tuple[str, ...]
    texts: tuple[Adversarial, ...]
    repeated: int = 0
    sources: tuple[Path, ...] = ()


def collect(paths: Sequence[Path]) -> Collection:
    """Return the successful texts of files of records, in their order; a text that another one equals is left out.

    :raises UsageError: a file holds no records, or is of another number of text columns than the first.
    """
    found: dict[tuple[tuple[str, ...], str], Adversarial] = {}
    taken: Counter[tuple[str, str]] = Counter()
    names: tuple[str, ...] | None = None
    repeated = 0
    for path in paths:
        header, rows = records.read(path)
        own = columns_of(path, header, rows)
        names = names or own
        if len(own) != len(names):
            raise UsageError(f"{path}: its texts are {', '.join(own)}, and those of {paths[0]} are {', '.join(names)}: no one data set")
        facts = {"attack": str(header.get("attack", path.stem)), "model": str(header.get("model", "")), "taken_from": split_of(header)}
        for row in rows:
            if row.status != "success":
                continue
            if (row.perturbed, row.label) in found:
                repeated += 1
                continue
            taken[facts["attack"], row.id] += 1
            number = taken[facts["attack"], row.id]
            identity = f"{facts['attack']}{f'#{number}' if number > 1 else ''}/{row.id}"
            found[row.perturbed, row.label] = Adversarial(identity, row.id, row.perturbed, row.label, **facts, before=row.original)
    return Collection(names or (), tuple(found.values()), repeated, tuple(paths))


def columns_of(path: Path, header: Mapping[str, Any], rows: Sequence[records.Record]) -> tuple[str, ...]:
    """Return the names of the text columns: as the header says, or plain ones.

    :raises UsageError: there is a record of another number of texts.
    """
    number = len(rows[0].original) if rows else 1
    named = header.get("columns")
    known = isinstance(named, list) and all(isinstance(name, str) for name in named) and (not rows or len(named) == number)
    found = tuple(named or ()) if known else PLAIN_NAMES.get(number, tuple(f"text{index + 1}" for index in range(number)))
    for row in rows:
        if row.status == "success" and len(row.perturbed) != len(found):
            raise UsageError(f"{path}: `{row.id}` has {counted(len(row.perturbed), 'text')} under the columns {', '.join(found)}")
    return found


def split_of(header: Mapping[str, Any]) -> str:
    """Return the split that the examples of a file of records are from, or nothing where its header does not say."""
    sample = header.get("sample")
    return str(sample.get("split", "")) if isinstance(sample, Mapping) else ""
