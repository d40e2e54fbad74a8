"""Files of records: one JSON line per attacked example, written as soon as it is done, so that an interrupted attack resumes."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ticketlab.attacks.results.record import Record, json_line
from ticketlab.core import disk_and_memory, files
from ticketlab.core.errors import UsageError
from ticketlab.lab import integrity
from ticketlab.lab.layout import RECORDS

_FORMAT = "ticketlab-attack-records/2"
_FORMATS = (_FORMAT, "ticketlab-attack-records/1")
"""Supported versions; version 1 lacks the counts of unseen, tried, replaceable and allowed words."""
_BEGINNING = b'{"format": "ticketlab-attack-records'
_STATUS = re.compile(rb'\{"id": ("(?:[^"\\]|\\.)*"), "status": "(\w+)"')
"""How the lines of records begin."""
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


def message_of(problem: BaseException) -> str:
    """Return the message of a record for an exception: one line of at most 500 characters, without memory addresses."""
    message = " ".join(f"{type(problem).__name__}: {problem}".split())
    return _ADDRESS.sub("0x...", message)[:500]


class RecordFile:
    """A file of records: a header that identifies their configuration, then one record per line.

    With ``path=None`` the records are kept in memory only.
    """

    def __init__(self, path: str | Path | None, config: str, **facts: Any) -> None:
        """Open or create the file; a partially written last line is removed.

        ``config`` identifies the attack, the victim, the data and the seed; ``facts`` are added to the header for readers
        (see :func:`ticketlab.attacks.results.record_header.facts`).

        :raises UsageError: the file holds records of another configuration, is not a file of records, or has a damaged line.
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
        """Add a record; it is on disk when this returns."""
        if self.path is not None:
            self._append(record.to_json())
        self.records[record.id] = record

    def finish(self, order: Sequence[str], measured: Iterable[Record] = ()) -> None:
        """Sort the records by the order of these ids, and replace the file atomically.

        So the file depends neither on the order in which examples finished nor on interruptions. Records with other ids come last.
        ``measured`` replaces records by those with values that were measured after the attack.

        :raises KeyError: an id has no record.
        """
        self.records.update((record.id, record) for record in measured)
        ordered = {example_id: self.records[example_id] for example_id in order}
        self.records = ordered | self.records
        if self.path is None:
            return
        content = "".join(f"{line}\n" for line in (self._header, *(record.to_json() for record in self))).encode()
        if self.path.read_bytes() != content:
            files.write_atomic(self.path, lambda path: _write(path, content, "wb"))

    def _append(self, line: str) -> None:
        assert self.path is not None
        files.check_guard(self.path)
        with disk_and_memory.writing(self.path):
            _write(self.path, f"{line}\n".encode(), "ab")


def path_in(stage: Path, attack: str) -> Path:
    """Return the path of the file of records of an attack, named by its label, in a stage's folder."""
    return stage / RECORDS / f"{file_name(attack)}.jsonl"


def file_name(label: str) -> str:
    """Return the label of an attack or a task in a form that is valid in file names."""
    return label.replace("/", "--").replace(":", "-")


def files_in(stage: Path) -> list[Path]:
    """Return the files of records in a stage's folder."""
    return sorted((stage / RECORDS).glob("*.jsonl"))


def read(path: str | Path) -> tuple[Mapping[str, Any], list[Record]]:
    """Return the header and the records of a file without changing it; a partially written last line is ignored.

    If an example has several records, the last one counts.

    :raises UsageError: it is not a file of records, or a line of it is damaged.
    :raises Damaged: it belongs to a finished stage of a lab, and has changed since.
    """
    path = files.expand(path)
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    integrity.check(path)
    lines = path.read_bytes().split(b"\n")[:-1]
    header = _check_header(path, lines[0] if lines else b"", None)
    return header, list({record.id: record for record in _parsed(path, lines)}.values())


def statuses(path: Path) -> dict[str, str]:
    """Return the status of each example, without parsing the rest of its record, which takes thirty times as long.

    Only for the files of finished stages, which have one record for each example. Raises the errors of :func:`read`.
    """
    begins = [_STATUS.match(line) or _damaged_beginning(path) for line in _lines(path)[1:]]
    ids = json.loads(b"[" + b",".join(found[1] for found in begins) + b"]")
    return {example: found[2].decode() for example, found in zip(ids, begins, strict=True)}


def first_of_each(path: Path, most: Mapping[str, int]) -> tuple[Mapping[str, Any], list[Record]]:
    """Return the header and the first records of each status, at most the number that is given for it; by status, in the order given.

    Only these records are parsed. For the same files as :func:`statuses`, with the same errors.
    """
    lines = _lines(path)
    chosen: dict[str, list[int]] = {status: [] for status in most}
    for number, line in enumerate(lines[1:], start=2):
        status = (_STATUS.match(line) or _damaged_beginning(path))[2].decode()
        if len(chosen.get(status, ())) < most.get(status, 0):
            chosen[status].append(number)
    header = _check_header(path, lines[0], None)
    return header, [_parse(path, number, lines[number - 1]) for numbers in chosen.values() for number in numbers]


def _lines(path: Path) -> list[bytes]:
    """Return the lines of a file of a finished stage, after checking its hash and the header."""
    integrity.check(path)
    lines = path.read_bytes().split(b"\n")[:-1]
    _check_header(path, lines[0] if lines else b"", None)
    return lines


def _damaged_beginning(path: Path) -> NoReturn:
    raise UsageError(f"{path}: damaged: a line does not begin like a record of an attack")


def is_records(path: Path) -> bool:
    """Return whether a file starts like a file of records."""
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
