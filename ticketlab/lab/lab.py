"""A lab: a directory of stage results. Each is addressed by its key and computed once."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import field, frozen
from filelock import FileLock, Timeout

from ticketlab.core import files, progress, temporary
from ticketlab.core.errors import Damaged, TicketlabError
from ticketlab.lab import integrity
from ticketlab.lab.layout import LOCK, RESULT, RUNS, STAGES, stage_folder
from ticketlab.lab.results import find_impossible

READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


def is_read_only(folder: Path, root: Path) -> bool:
    """Return whether a folder inside an existing lab cannot be written or created."""
    place = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    return (place == root or root in place.parents) and not os.access(place, os.W_OK)


@frozen
class Lab:
    """Stages are in ``stages/``, runs in ``runs/``."""

    root: Path = field(converter=files.expand)

    def stage(self, key: str) -> Path:
        """Return the folder of a stage, finished or not."""
        return stage_folder(self.root, key)

    def result(self, key: str) -> dict[str, Any] | None:
        """Return the result of a stage, or None if it is not finished. A stage writes its result last.

        :raises Damaged: the result is not what the stage wrote.
        """
        path = self.stage(key) / RESULT
        if not path.exists():
            return None
        result = dict(integrity.read_result(path))
        problem = "not the result of a stage" if "cost" not in result else find_impossible(result)
        if problem is not None:
            raise Damaged(f"{path}: damaged ({problem}); delete its folder, and the stage is computed again")
        return result

    @contextlib.contextmanager
    def lock(self, key: str, title: str) -> Iterator[Path]:
        """Lock a stage's folder for this process, waiting for another process that holds the lock.

        :raises TicketlabError: the lab is read-only.
        """
        folder = self.stage(key)
        lock = FileLock(folder / LOCK)
        try:
            self._acquire(lock, folder, title)
        except OSError as problem:
            if problem.errno not in READ_ONLY:
                raise
            raise TicketlabError(f"{self.root}: the lab is read-only, and it lacks `{title}`; name another lab (--lab)") from None
        try:
            temporary.sweep(folder, locked=True)
            yield folder
        finally:
            lock.release()

    def _acquire(self, lock: FileLock, folder: Path, title: str) -> None:
        """Acquire the lock in a stage's folder, which another process may remove while this one waits."""
        while True:
            folder.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                progress.say(f"{title}: another process is computing it; waiting")
                lock.acquire()
            if (folder / LOCK).exists():
                return
            lock.release()

    def is_locked(self, key: str) -> bool:
        """Return whether another process holds the lock of a stage's folder."""
        path = self.stage(key) / LOCK
        if not path.exists():
            return False
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except (Timeout, OSError):
            return True
        lock.release()
        return False

    def sweep(self) -> None:
        """Remove temporary files that killed processes left in unfinished stages and in runs. Checkpoints are kept."""
        for folder in self.root.glob(f"{STAGES}/??/*"):
            if not (folder / RESULT).exists():
                temporary.sweep(folder)
                self._remove_if_empty(folder)
        for folder in self.root.glob(f"{RUNS}/*"):
            temporary.sweep(folder)

    def _remove_if_empty(self, folder: Path) -> None:
        """Remove the folder of a stage that started more than a day ago and has written nothing."""
        lock = folder / LOCK
        with contextlib.suppress(OSError):
            if [file.name for file in folder.iterdir()] == [LOCK] and time.time() - lock.stat().st_mtime > temporary.DAY:
                with FileLock(lock, timeout=0):
                    lock.unlink()
                    folder.rmdir()
