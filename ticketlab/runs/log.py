"""The log of a run: ``log.jsonl``, one JSON record per line, and the plugins that listen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core import disk_and_memory
from ticketlab.core.hookspecs import RunInfo
from ticketlab.runs import listeners


@frozen
class Log:
    """Writes the records of a run, or of a study, and passes them to listeners. ``write`` is None for a read-only lab."""

    write: Callable[[Mapping[str, Any]], None] | None
    run: RunInfo

    def __call__(self, record: dict[str, Any]) -> None:
        """Write one record."""
        if self.write is not None:
            self.write(record)
        listeners.notify("ticketlab_on_log", run=self.run, record=record)


@frozen
class LogFile:
    """Appends records to a ``log.jsonl``."""

    path: Path

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Append one record.

        :raises OutOfSpace: there is no space left.
        """
        with disk_and_memory.writing(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
