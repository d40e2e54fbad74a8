"""What became of each attacked example: one JSON line each, written as soon as it is known, and taken up again after an interruption."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import attrs
from attrs import field, frozen

from ticketlab.errors import UsageError

Status = Literal["success", "failed", "skipped", "error", "timeout"]
_FORMAT = "ticketlab-attack-records/1"
_BEGINNING = b'{"format": "ticketlab-attack-records'


def _texts(texts: Any) -> tuple[str, ...]:
    return tuple(texts)


@frozen(kw_only=True)
class Record:
    """One attacked example.

    ``success``: the victim was led astray. ``failed``: it held. ``skipped``: it was wrong before any change. ``error`` and ``timeout``:
    nothing is known, and ``message`` says why. Confidences are the victim's probability of the right label.
    """

    id: str
    status: Status
    original: tuple[str, ...] = field(converter=_texts)
    label: str
    perturbed: tuple[str, ...] = field(default=(), converter=_texts)
    """The changed texts; when the attack failed, its best try."""
    predicted_before: str | None = None
    predicted_after: str | None = None
    confidence_before: float | None = None
    confidence_after: float | None = None
    queries: int = 0
    """Texts that the attack asked the victim about, cache hits included, as textattack counts."""
    words_changed: int = 0
    words_total: int = 0
    truncated: bool = False
    """The victim sees only the beginning of the original."""
    message: str = ""

    def to_json(self) -> str:
        """Return one line."""
        return json.dumps(attrs.asdict(self), ensure_ascii=False)


class RecordFile:
    """A file of records: a header that names what they were made with, then one record a line.

    With ``path=None`` records are kept in memory only.
    """

    def __init__(self, path: str | Path | None, config: str, **facts: Any) -> None:
        """Open or begin the file; a half-written last line is removed.

        ``config`` identifies the attack, the victim, the data and the seed; ``facts`` go into the header for the reader.

        :raises UsageError: the file holds records of another configuration, or is no file of records.
        """
        self.path = Path(path) if path is not None else None
        self.config = config
        self.records: dict[str, Record] = {}
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content.rfind(b"\n") + 1
        lines = content[:whole].decode("utf-8", "surrogatepass").split("\n")[:-1]
        if lines:
            _check_header(self.path, lines[0], config)
        elif not content.startswith(_BEGINNING[: len(content)]):
            raise UsageError(f"{self.path}: not a file of attack records; name another file")
        if whole < len(content):
            with self.path.open("r+b") as file:
                file.truncate(whole)
        if not lines:
            self._append(json.dumps({"format": _FORMAT, "config": config, **facts}, ensure_ascii=False))
        for number, line in enumerate(lines[1:], start=2):
            record = _parse(self.path, number, line)
            self.records[record.id] = record

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

    def _append(self, line: str) -> None:
        assert self.path is not None
        with self.path.open("ab") as file:
            file.write(line.encode("utf-8", "surrogatepass") + b"\n")
            file.flush()
            os.fsync(file.fileno())


def read(path: str | Path) -> tuple[Mapping[str, Any], list[Record]]:
    """Return the header and the records of a file, which is left as it is.

    :raises UsageError: it is no file of records.
    """
    path = Path(path)
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    lines = path.read_bytes().decode("utf-8", "surrogatepass").split("\n")[:-1]
    header = _check_header(path, lines[0] if lines else "", None)
    return header, [_parse(path, number, line) for number, line in enumerate(lines[1:], start=2)]


def _check_header(path: Path, line: str, config: str | None) -> Mapping[str, Any]:
    try:
        header = json.loads(line)
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise UsageError(f"{path}: not a file of attack records; name another file")
    if config is not None and header.get("config") != config:
        raise UsageError(
            f"{path}: holds records of another configuration ({header.get('config')}, now {config}); name another file, or remove this one"
        )
    return header


def _parse(path: Path, number: int, line: str) -> Record:
    try:
        return Record(**json.loads(line))
    except (ValueError, TypeError) as problem:
        raise UsageError(f"{path} line {number}: not a record of an attack ({problem})") from None
