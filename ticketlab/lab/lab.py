"""A lab: a directory of stage results, each addressed by its key, computed once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen
from filelock import FileLock, Timeout

from ticketlab import files, progress
from ticketlab.errors import TicketlabError
from ticketlab.stages.base import RESULT


@frozen
class Lab:
    """Stages lie under ``stages/``, runs under ``runs/``."""

    root: Path

    def stage(self, key: str) -> Path:
        """Return the folder of a stage, finished or not."""
        return self.root / "stages" / key[:2] / key

    def result(self, key: str) -> dict[str, Any] | None:
        """Return the result of a finished stage, else None. The result is the last thing that a stage writes.

        :raises TicketlabError: somebody damaged it.
        """
        path = self.stage(key) / RESULT
        if not path.exists():
            return None
        try:
            result = files.read_json(path)
        except ValueError:
            result = None
        if not isinstance(result, dict) or "cost" not in result:
            raise TicketlabError(f"{path}: damaged; delete its folder, and the stage is computed again")
        return result

    @contextlib.contextmanager
    def lock(self, key: str, title: str) -> Iterator[Path]:
        """Hold a stage's folder for this process; another process that has it is waited for."""
        folder = self.stage(key)
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            progress.say(f"{title}: another process is computing it; waiting")
            lock.acquire()
        try:
            yield folder
        finally:
            lock.release()

    def run_folder(self, name: str, digest: str) -> Path:
        """Return (and make) the directory of a run."""
        folder = self.root / "runs" / f"{name}-{digest[:10]}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder
