"""The files of runs and studies of a lab in a store: which of them are in the mirror, and which have changed here or there."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from attrs import define, field

from ticketlab.core import files, temporary
from ticketlab.lab import lease
from ticketlab.lab.layout import CELLS, RESULTS, RUNS, STUDIES
from ticketlab.lab.store import CONNECTIONS, Entry, Store

PULLED = ".pulled.json"
"""The file of a mirror with the versions of the files of runs and studies that are here as in the store."""
PULLED_LEASE = ".pulled.lease"
SMALL = (".json", ".toml", ".jsonl")
"""The files of runs and studies that commands read to list and compare them."""
WRITTEN_LAST = (RESULTS, CELLS)
"""Files that say that a run or a cell is finished."""


@define
class MirroredRuns:
    """The files of runs and studies in a mirror at ``root`` and in its store."""

    root: Path
    store: Store
    _in_store: Mapping[str, Entry] = field(factory=dict, init=False)
    """Those in the store when they were pulled, by their names there."""

    def publish(self, folder: Path, *, without: Collection[str] = ()) -> None:
        """Put the files of a run or study into the store that have changed, those last that say that it is finished."""
        known, changed = self._pulled(), dict[str, list[Any]]()
        paths = [path for path in folder.rglob("*") if path.is_file() and path.name not in without and not _is_hidden(path, folder)]
        for path in sorted(paths, key=lambda path: (path.name in WRITTEN_LAST, path)):
            name, state = path.relative_to(self.root).as_posix(), _state_of(path)
            if name not in known or known[name][1:] != state:
                self.store.put(path, name)
                changed[name] = ["", *state]
        self._record(changed)

    def pull(self) -> None:
        """Get the tables and logs of runs and studies that the store has, and remove what other machines have removed there.

        Files that this machine has changed and not put into the store stay as they are.
        """
        known = self._pulled()
        self._in_store = {name: entry for folder in (RUNS, STUDIES) for name, entry in self.store.entries(folder).items()}
        self._bring_up_to_date(self._in_store, known)

    def pull_folder(self, name: str) -> None:
        """Get the tables and logs of the run or study with this name in the store; see :meth:`pull`."""
        known = {file: value for file, value in self._pulled().items() if file.startswith(f"{name}/")}
        self._bring_up_to_date(self.store.entries(name), known)

    def in_store(self, prefix: str) -> dict[str, Entry]:
        """Return the files in the store whose names begin with ``prefix``, as of the last :meth:`pull`."""
        return {name: entry for name, entry in self._in_store.items() if name.startswith(prefix)}

    def _bring_up_to_date(self, found: Mapping[str, Entry], known: Mapping[str, list[Any]]) -> None:
        """Get the small ones of the files ``found`` in the store, and remove those of the ``known`` ones that are not there."""
        wanted = [name for name, entry in found.items() if self._is_wanted(self.root / name, entry, known.get(name))]
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            states = list(pool.map(lambda name: self._get(name, found[name]), wanted))
        changed = {name: state for name, state in zip(wanted, states, strict=True) if state is not None}
        gone = known.keys() - found.keys()
        for name in gone:
            path = self.root / name
            if path.exists() and _state_of(path) == known[name][1:]:
                path.unlink()
                files.remove_empty_folders(path.parent, self.root)
        self._record(changed, gone)

    def _is_wanted(self, path: Path, entry: Entry, known: list[Any] | None) -> bool:
        """Return whether a file is to be fetched: it is not here, or is as it was in the store at another time."""
        if not path.exists():
            return path.suffix in SMALL
        return known is not None and known[1:] == _state_of(path) and known[0] != entry.version

    def _get(self, name: str, entry: Entry) -> list[Any] | None:
        path = self.root / name
        if not self.store.get(name, path):
            return None
        if entry.modified:
            os.utime(path, (entry.modified, entry.modified))
        return [entry.version, *_state_of(path)]

    def _record(self, changed: Mapping[str, list[Any]], gone: Collection[str] = ()) -> None:
        """Record which files are here as in the store, and which are not any more."""
        if not changed and not gone:
            return
        held = lease.acquire(self.root / PULLED_LEASE, {}, title=PULLED)
        try:
            known = {name: value for name, value in self._pulled().items() if name not in gone}
            files.write_json(self.root / PULLED, known | dict(changed))
        finally:
            held.release()

    def _pulled(self) -> dict[str, list[Any]]:
        try:
            return {str(name): list(value) for name, value in files.read_json(self.root / PULLED).items()}
        except (OSError, ValueError, AttributeError, TypeError):  # then what is here counts as changed here
            return {}


def _state_of(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_size, found.st_mtime_ns]


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts) or temporary.NAME.fullmatch(path.name) is not None
