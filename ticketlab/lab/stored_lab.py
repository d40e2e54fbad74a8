"""A lab in an object store, or any other place that fsspec reaches by a URL. This machine has a mirror of what it needs.

Files of stages are fetched when they are inputs of a stage that this machine computes, or when a command reads them. The folder of a
finished stage is put into the store whole: its files first and its result last, so that other machines see it finished or not at all.
What could not be put there is kept in the mirror, and put when a command needs the stage again. A mirror may be deleted at any time:
nothing is lost that was put into the store.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
from attrs import define, field

from ticketlab.core import files, progress
from ticketlab.core.errors import TicketlabError
from ticketlab.lab import store_lease
from ticketlab.lab.holder import Holder
from ticketlab.lab.lab import Lab
from ticketlab.lab.layout import RESULT, STAGES, is_stage, stage_name
from ticketlab.lab.mirror import Mirror
from ticketlab.lab.mirrored_runs import WRITTEN_LAST, MirroredRuns
from ticketlab.lab.stage_copies import StageCopies
from ticketlab.lab.store import CONNECTIONS, Entry, Store
from ticketlab.lab.store_facts import describe_store
from ticketlab.lab.store_lease import StoreLease

PENDING = ".pending"
"""The folder of a mirror with an empty file for each stage whose result is not in the store yet."""
FRESH_SECONDS = 20.0
"""For how long a listing of the store tells which stages are not finished."""


@define
class _State:
    """What a process knows about the store."""

    verified: set[str] = field(factory=set)
    """Stages that are in the store and whose result is here."""
    finished: set[str] = field(factory=set)
    """Stages that were finished when the store was listed."""
    files: dict[str, dict[str, Entry]] = field(factory=dict)
    """The files of each stage then, by their names in the store."""
    listed: float = float("-inf")
    """When that was, by the monotonic clock."""
    held: dict[str, tuple[StoreLease, StageCopies]] = field(factory=dict)
    """The stages that this process computes."""


@attrs.frozen
class StoredLab(Lab):
    """The lab of a mirror. ``root`` is that of the mirror, which is laid out as any lab."""

    mirror: Mirror = field(kw_only=True)
    _runs: MirroredRuns = field(kw_only=True, eq=False)
    _state: _State = field(factory=_State, kw_only=True, eq=False)

    @_runs.default
    def _mirrored_runs(self) -> MirroredRuns:
        return MirroredRuns(self.root, self.mirror.store)

    @property
    def place(self) -> str:
        """The URL of the lab."""
        return self.mirror.url

    @property
    def store(self) -> Store:
        """The store of the lab."""
        return self.mirror.store

    def has(self, key: str) -> bool:
        """Return whether a stage is finished, as of some seconds ago."""
        if time.monotonic() - self._state.listed >= FRESH_SECONDS:
            self._list()
        return key in self._state.verified or key in self._state.finished

    def look_again(self) -> None:
        """List the store again when :meth:`has` is called."""
        self._state.listed = float("-inf")

    def _list(self) -> None:
        files_of: dict[str, dict[str, Entry]] = {}
        before = set(self._state.verified)
        for name, entry in self.store.entries(STAGES).items():
            files_of.setdefault(name.split("/")[2], {})[name] = entry
        self._state.files, self._state.listed = files_of, time.monotonic()
        self._state.finished = {key for key, found in files_of.items() if f"{stage_name(key)}/{RESULT}" in found}
        self._state.verified -= before - self._state.finished  # another machine may have removed those

    def result(self, key: str) -> dict[str, Any] | None:
        """Return the result of a stage, or None if it is not finished. Raises the errors of :meth:`Lab.result`."""
        if key not in self._state.verified:
            if self._pending(key).exists():
                return None
            if is_stage(self.stage(key)):
                if not self.store.has(f"{stage_name(key)}/{RESULT}"):
                    self._forget(key)  # another machine removed it
                    return None
            elif not self.mirror.fetch_result(key):
                return None
            self._state.verified.add(key)
        return Lab.result(self, key)

    def fetch(self, key: str) -> None:
        """Get the files of a finished stage that are not here.

        :raises Damaged: a file in the store is not what the stage wrote.
        :raises TicketlabError: another machine has removed the stage.
        """
        try:
            self.mirror.fetch_stage(key)
        except TicketlabError:
            self._state.verified.discard(key)  # so that the next command in this process computes it again
            raise

    def holds(self, key: str, name: str) -> bool:
        """Return whether a finished stage whose result is here has a file or folder of this name, here or in the store."""
        return any(f"{file}/".startswith(f"{name}/") for file in self.mirror.files_of(key))

    @contextlib.contextmanager
    def lock(self, key: str, title: str) -> Iterator[Path]:
        """Lock a stage for this process among those of all machines, and get what another one has computed of it.

        While the block runs, checkpoints are copied to the store now and then. Raises the errors of :meth:`Lab.lock`.
        """

        def tell(holder: Holder) -> None:
            progress.say(f"{title}: {holder}, is computing it; waiting")

        with Lab.lock(self, key, title) as folder:
            about = {"stage": title, "mirror": self.mirror.name}
            held = store_lease.acquire(self.store, stage_name(key), about, title=title, waiting=tell)
            try:
                copies = StageCopies(self.mirror, key, held)
                self._settle(key, copies)
                self._state.held[key] = held, copies
                with copies if not is_stage(folder) else contextlib.nullcontext():
                    yield folder
            finally:
                self._state.held.pop(key, None)
                held.release()

    def is_locked(self, key: str) -> bool:
        """Return whether a process of any machine computes a stage."""
        return Lab.is_locked(self, key) or store_lease.held_by(self.store, stage_name(key)) is not None

    def _settle(self, key: str, copies: StageCopies) -> None:
        """Put a result into the store that could not be put there before, or get what is there of a stage."""
        self._state.verified.discard(key)  # another machine may have removed it
        if self._pending(key).exists():
            if self.store.has(f"{stage_name(key)}/{RESULT}"):
                self._forget(key)
                self._pending(key).unlink(missing_ok=True)
            elif is_stage(self.stage(key)):
                self._put(key, copies)
            else:
                self._pending(key).unlink(missing_ok=True)
        if self.result(key) is None:
            copies.restore()

    def finish(self, key: str, result: Mapping[str, Any]) -> None:
        """Store the result of a stage and put its folder into the store. Called with the lock of the stage.

        :raises LeaseLost: another process has taken the lock over.
        :raises TicketlabError: the store does not answer; the result is kept here, and put there when a command needs it.
        """
        held, copies = self._state.held[key]
        copies.end()
        held.check()
        if key in self._state.verified:  # it lacked a checkpoint, and its result must not be read together with files of the new one
            self._state.verified.discard(key)
            self.store.remove([f"{stage_name(key)}/{RESULT}"])
        self._pending(key).parent.mkdir(exist_ok=True)
        self._pending(key).touch()
        Lab.finish(self, key, result)
        self._put(key, copies)

    def _put(self, key: str, copies: StageCopies) -> None:
        names = list(self.mirror.files_of(key))
        for name in names:
            copies.lease.check_renewals()
            self.store.put(self.stage(key) / name, f"{stage_name(key)}/{name}")
        copies.lease.check()
        path, result = f"{stage_name(key)}/{RESULT}", (self.stage(key) / RESULT).read_bytes()
        # this process may have been stopped since the check, and then the result is that of the process that took the stage over
        if not self.store.create(path, result) and self.store.read(path) != result:
            raise copies.lease.lost()
        self._pending(key).unlink(missing_ok=True)
        self._state.verified.add(key)
        copies.remove_all_but(set(names))

    def _pending(self, key: str) -> Path:
        return self.root / PENDING / key

    def _forget(self, key: str) -> None:
        """Remove a finished stage from the mirror, its result first."""
        names = self.mirror.files_of(key)
        for name in (RESULT, *names):
            (self.stage(key) / name).unlink(missing_ok=True)
        self._state.verified.discard(key)

    def publish(self, folder: Path, *, without: Collection[str] = ()) -> None:
        """Put the files of a run or study into the store that have changed, those last that say that it is finished."""
        self._runs.publish(folder, without=without)

    def pull(self) -> None:
        """Get the tables and logs of runs and studies that the store has; see :meth:`MirroredRuns.pull`."""
        self._runs.pull()

    @contextlib.contextmanager
    def updating(self, folder: Path, *, without: Collection[str] = ()) -> Iterator[None]:
        """Keep other processes of all machines from writing the folder of a study while the block reads and writes it."""
        inside = folder.absolute().relative_to(self.root).as_posix()
        with Lab.updating(self, folder):
            held = store_lease.acquire(self.store, inside, {}, title=folder.name)
            try:
                self._runs.pull_folder(inside)
                yield
                held.check()
                self.publish(folder, without=without)
            finally:
                held.release()

    def refresh(self) -> None:
        """List the store, get the results of all finished stages, and remove from the mirror the stages that the store has no more."""
        self.pull()
        self._list()
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(self.mirror.fetch_result, self._state.finished))
        for folder in self.root.glob(f"{STAGES}/??/*"):
            if folder.name not in self._state.finished and is_stage(folder) and self.result(folder.name) is None:
                files.remove_empty_folders(folder, self.root)

    def files_in(self, folder: Path) -> Mapping[str, Entry] | None:
        """Return the files of a stage, run or study in the store, as of the last :meth:`refresh`."""
        prefix = f"{folder.absolute().relative_to(self.root).as_posix()}/"
        if prefix.startswith(f"{STAGES}/"):
            if self._state.listed == float("-inf"):
                self._list()
            found: Mapping[str, Entry] = self._state.files.get(folder.name, {})
        else:
            found = self._runs.in_store(prefix)
        return {name.removeprefix(prefix): entry for name, entry in found.items()}

    def stage_keys(self) -> list[str]:
        """Return the keys of all stages that were in the store at the last :meth:`refresh`, finished or not."""
        if self._state.listed == float("-inf"):
            self._list()
        return sorted(self._state.files)

    def remove(self, folder: Path) -> None:
        """Remove the folder of a stage, run or study from the store, what says that it is finished first."""
        inside = folder.absolute().relative_to(self.root).as_posix()
        last = (RESULT, *WRITTEN_LAST)
        self.store.remove(sorted(self.store.entries(inside), key=lambda name: (name.rpartition("/")[2] not in last, name)))
        self._state.verified.discard(folder.name)
        self._state.finished.discard(folder.name)

    def traffic(self) -> Mapping[str, int]:
        """Return what this process has exchanged with the store so far."""
        return attrs.asdict(self.store.traffic)

    def facts(self) -> dict[str, Any]:
        """Return what the store supports (:mod:`ticketlab.lab.store_facts`)."""
        return describe_store(self.store)
