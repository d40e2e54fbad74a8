"""Copies of a stage in progress in a store: if its machine dies, another one resumes it from them."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Self

from attrs import define, field

from ticketlab.core import progress, temporary
from ticketlab.core.errors import TicketlabError
from ticketlab.lab.layout import BEST, CHECKPOINT, RESULT, stage_folder, stage_name
from ticketlab.lab.mirror import Mirror
from ticketlab.lab.store_lease import StoreLease

COPY_SECONDS = 300.0
"""Seconds between two copies of what a stage has written, if it has changed. A checkpoint of BERT-base has 1.3 GB."""
COPIED_LAST = (BEST, CHECKPOINT)
"""A checkpoint names what came before it, so a copy of it must not be newer than that of the best state."""

_State = tuple[int, int]


@define(eq=False)
class StageCopies:
    """Copies the files of a stage to the store every :data:`COPY_SECONDS` while it is computed, and at its end if it is interrupted.

    Used as a context manager by the process that holds the ``lease`` of the stage.
    """

    mirror: Mirror
    key: str
    lease: StoreLease
    in_store: set[str] = field(factory=set)
    """The names of the files that are in the store."""
    _copied: dict[str, _State] = field(factory=dict)
    _ended: threading.Event = field(factory=threading.Event)
    _thread: threading.Thread | None = None

    @property
    def folder(self) -> Path:
        """The folder of the stage."""
        return stage_folder(self.mirror.root, self.key)

    def restore(self) -> None:
        """Get what the process that held the lease before has copied, unless that was a process with this mirror.

        :raises TicketlabError: the store does not answer.
        """
        prefix = f"{stage_name(self.key)}/"
        self.in_store = {name.removeprefix(prefix) for name in self.mirror.store.entries(prefix.rstrip("/"))}
        if not self.in_store or (self.lease.before.get("mirror") == self.mirror.name and self._is_whole()):
            return
        for name in reversed(list(_files(self.folder))):
            (self.folder / name).unlink()
        for name in _in_order(self.in_store):
            self.mirror.store.get(f"{prefix}{name}", self.folder / name)
            self._copied[name] = _state(self.folder / name)
        progress.say(f"{self.lease.title}: resuming what another machine has computed")

    def _is_whole(self) -> bool:
        """Return whether the folder has what this mirror had, and not the first files of a :meth:`restore` that was interrupted."""
        names = set(_files(self.folder))
        return bool(names) and (CHECKPOINT in names or CHECKPOINT not in self.in_store)

    def copy(self) -> None:
        """Copy the files that have changed since the last copy.

        :raises TicketlabError: the lease is lost, or the store does not answer.
        """
        place = temporary.temporary_path(self.folder / "copies")
        try:
            changed = _snapshot(self.folder, place, self._copied)
            if changed:
                self.lease.check()
            for name, state in changed.items():
                self.mirror.store.put(place / name, f"{stage_name(self.key)}/{name}")
                self.in_store.add(name)
                self._copied[name] = state
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def remove_all_but(self, names: set[str]) -> None:
        """Remove from the store what the stage has removed itself: its checkpoints."""
        self.mirror.store.remove(f"{stage_name(self.key)}/{name}" for name in sorted(self.in_store - names - {RESULT}))
        self.in_store.clear()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._copy_until_ended, name=f"copies {self.key[:8]}", daemon=True)
        self._thread.start()
        return self

    def end(self) -> None:
        """Copy no more, after the copy that is being made. What is put into the store from now on is not replaced by an earlier copy."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def __exit__(self, *_: object) -> None:
        self.end()
        if not (self.folder / RESULT).is_file():
            try:
                self.copy()
            except (TicketlabError, OSError) as problem:  # what ended the stage is more important
                progress.warn(f"{self.lease.title}: what it has computed is kept here alone ({problem})")

    def _copy_until_ended(self) -> None:
        while not self._ended.wait(COPY_SECONDS):
            with contextlib.suppress(TicketlabError, OSError):  # the stage itself finds out when it ends
                self.copy()


def _files(folder: Path) -> Iterator[str]:
    """Yield the names of the files of a stage in progress, in the order in which they are copied."""
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    plain = [name for name in names if name != RESULT and not any(part.startswith(".") for part in name.split("/"))]
    yield from _in_order(plain)


def _in_order(names: Iterable[str]) -> list[str]:
    """Return names of files in the order in which they are copied and restored: the checkpoint last."""
    return sorted(names, key=lambda name: (COPIED_LAST.index(name) if name in COPIED_LAST else -1, name))


def _snapshot(folder: Path, place: Path, known: Mapping[str, _State]) -> dict[str, _State]:
    """Copy the files that have another state than the known one into a folder, so that the stage can continue meanwhile.

    They are copied in the reverse order, so that no copy is older than one of a file that the stage writes later.
    """
    changed = {}
    for name in reversed(list(_files(folder))):
        with contextlib.suppress(FileNotFoundError):  # removed in the meantime
            state = _state(folder / name)
            if known.get(name) != state:
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / name, place / name)
                changed[name] = state
    return dict(reversed(changed.items()))


def _state(path: Path) -> _State:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
