"""What became of each attacked example: one JSON line each, written as soon as it is known, and taken up again after an interruption."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.attacks.results.record import STATUSES as STATUSES
from ticketlab.attacks.results.record import Record as Record
from ticketlab.attacks.results.record import Status as Status
from ticketlab.attacks.results.record import json_line
from ticketlab.core import disk_and_memory, files
from ticketlab.core.errors import UsageError
from ticketlab.lab import integrity

FOLDER = "records"
"""Where an attack stage keeps them."""
_FORMAT = "ticketlab-attack-records/2"
_FORMATS = (_FORMAT, "ticketlab-attack-records/1")
"""What can be read: the first version had no counts of words that were not seen, tried, replaceable and allowed."""
_BEGINNING = b'{"format": "ticketlab-attack-records'
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


def message_of(problem: BaseException) -> str:
    """Return what a record says of an exception: one line of 500 characters at most, without what differs from process to process."""
    message = " ".join(f"{type(problem).__name__}: {problem}".split())
    return _ADDRESS.sub("0x...", message)[:500]


class RecordFile:
    """A file of records: a header that names what they were made with, then one record a line.

    With ``path=None`` records are kept in memory only.
    """

    def __init__(self, path: str | Path | None, config: str, **facts: Any) -> None:
        """Open or begin the file; a half-written last line is removed.

        ``config`` identifies the attack, the victim, the data and the seed; ``facts`` go into the header for the reader
        (see :func:`ticketlab.attacks.results.header.facts`).

        :raises UsageError: the file holds records of another configuration, or is no file of records, or a line of it is damaged.
        """
        self.path = files.expand(path) if path is not None else None
        self.config = config
        self.records: dict[str, Record] = {}
        self._header = json_line({"format": _FORMAT, "config": config, **facts})
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content.rfind(b"\n") + 1
        lines = content[:whole].split(b"\n")[:-1]
        if lines:
            _check_header(self.path, lines[0], config)
        elif not content.startswith(_BEGINNING[: len(content)]):
            raise UsageError(f"{self.path}: not a file of attack records; name another file")
        self.records = {record.id: record for record in _parsed(self.path, lines)}
        if whole < len(content):
            with self.path.open("r+b") as file:
                file.truncate(whole)
        if lines:
            self._header = lines[0].decode()
        else:
            self._append(self._header)

    def __contains__(self, example_id: object) -> bool:
        return example_id in self.records

    def __getitem__(self, example_id: str) -> Record:
        return self.records[example_id]

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records.values())

    def __len__(self) -> int:
        return len(self.records)

    def add(self, record: Record) -> None:
        """Keep a record; it is on disk when this returns."""
        if self.path is not None:
            self._append(record.to_json())
        self.records[record.id] = record

    def finish(self, order: Sequence[str], measured: Iterable[Record] = ()) -> None:
        """Put the records in the order of these ids, which are all there, also on disk: a reader sees the old file or the new one.

        So the file depends neither on which example was done first nor on interruptions. A record of no such id comes last. ``measured``
        replaces records by those with what was measured after the attack.

        :raises KeyError: an id has no record.
        """
        self.records.update((record.id, record) for record in measured)
        found = {example_id: self.records[example_id] for example_id in order}
        self.records = found | self.records
        if self.path is None:
            return
        content = "".join(f"{line}\n" for line in (self._header, *(record.to_json() for record in self))).encode()
        if self.path.read_bytes() != content:
            files.write_atomic(self.path, lambda path: _write(path, content, "wb"))

    def _append(self, line: str) -> None:
        assert self.path is not None
        with disk_and_memory.writing(self.path):
            _write(self.path, f"{line}\n".encode(), "ab")


def path_in(stage: Path, attack: str) -> Path:
    """Return where an attack stage keeps the records of an attack, which is called by its label."""
    return stage / FOLDER / f"{file_name(attack)}.jsonl"


def file_name(label: str) -> str:
    """Return what an attack or a task is called in the names of files."""
    return label.replace("/", "--").replace(":", "-")


def files_in(stage: Path) -> list[Path]:
    """Return the files of records in a stage's folder."""
    return sorted((stage / FOLDER).glob("*.jsonl"))


def read(path: str | Path) -> tuple[Mapping[str, Any], list[Record]]:
    """Return the header and the records of a file, which is left as it is; a half-written last line does not count.

    Of an example that is there several times the last record counts.

    :raises UsageError: it is no file of records, or a line of it is damaged.
    :raises Damaged: a finished stage of a lab left it, and it is not what it was then.
    """
    path = files.expand(path)
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    integrity.check(path)
    lines = path.read_bytes().split(b"\n")[:-1]
    header = _check_header(path, lines[0] if lines else b"", None)
    return header, list({record.id: record for record in _parsed(path, lines)}.values())


def is_records(path: Path) -> bool:
    """Say whether a file begins like one of records."""
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def _write(path: Path, content: bytes, mode: str) -> None:
    with path.open(mode) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _check_header(path: Path, line: bytes, config: str | None) -> Mapping[str, Any]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("format") not in _FORMATS:
        raise UsageError(f"{path}: not a file of attack records; name another file")
    if config is not None and header.get("config") != config:
        raise UsageError(
            f"{path}: holds records of another configuration ({header.get('config')}, now {config}); name another file, or remove this one"
        )
    return header


def _parsed(path: Path, lines: Iterable[bytes]) -> Iterator[Record]:
    for number, line in enumerate(lines, start=1):
        if number > 1:
            yield _parse(path, number, line)


def _parse(path: Path, number: int, line: bytes) -> Record:
    try:
        return Record(**json.loads(line, parse_constant=_not_finite, parse_float=_finite))
    except (ValueError, TypeError, RecursionError) as problem:
        reason = " ".join(str(problem.args[0] if problem.args else problem).split()).removeprefix("Record.__init__() ")[:120]
        raise UsageError(
            f"{path} line {number}: damaged, not a record of an attack ({reason}); delete the line, and the example is attacked again"
        ) from None


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _not_finite(text)


def _not_finite(text: str) -> float:
    raise ValueError(f"{text} is not a finite number")
