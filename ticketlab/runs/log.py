"""The log of a run: ``log.jsonl``, one JSON record per line, and the plugins that listen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core import disk_and_memory
from ticketlab.core.hookspecs import RunInfo
from ticketlab.runs import listeners


@frozen
class Log:
    """Appends records to ``log.jsonl`` of a run, or of a study, and passes them to listeners. ``path`` is None for a read-only lab."""

    path: Path | None
    run: RunInfo

    def __call__(self, record: dict[str, Any]) -> None:
        """Write one record."""
        if self.path is not None:
            with disk_and_memory.writing(self.path), self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
        listeners.notify("ticketlab_on_log", run=self.run, record=record)
