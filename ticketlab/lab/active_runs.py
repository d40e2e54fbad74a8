"""Runs in progress. Each process registers its run with the stages that it needs, so that no other process removes them.

A registration is a lease in ``LAB/active/`` (:mod:`ticketlab.lab.lease`), which is void when its process has ended, however it ended. To
register and to remove, a process holds the lock of the lab: what is removed is not needed by a registered run, and a run that starts later
finds it missing and computes it again.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core import files, progress, temporary
from ticketlab.lab import lease, store_lease
from ticketlab.lab.holder import Holder
from ticketlab.lab.layout import ACTIVE, LEASE
from ticketlab.lab.lease import Lease
from ticketlab.lab.mirror import mirror_at

LAB = "lab"
"""The name of the lock of a lab in a store."""
SUFFIX = ".run"
"""The end of the name of a registration."""
EARLIER = (".json", ".lock")
"""The ends of the names of the files of registrations by earlier versions."""


@frozen
class ActiveRun:
    """A run in progress: the name of its directory and the keys of the stages that it needs."""

    run: str
    keys: frozenset[str]


@contextlib.contextmanager
def lab_lock(lab: Path) -> Iterator[Lease]:
    """Hold the lock of a lab: no run starts, and nothing is removed by others, while the block runs.

    :raises LeaseLost: another process has taken the lock over, because this one was stopped for too long.
    """

    def tell(holder: Holder) -> None:
        progress.say(f"{lab}: {holder} is removing stages or starting a run; waiting")

    held = lease.acquire(lab / ACTIVE / LEASE, {}, title=str(lab), waiting=tell)
    try:
        with _held_in_store(lab, LAB, {}, waiting=tell):
            yield held
            held.check()
    finally:
        held.release()


@contextlib.contextmanager
def _held_in_store(lab: Path, name: str, about: Mapping[str, Any], *, waiting: Callable[[Holder], None] | None = None) -> Iterator[None]:
    """Hold a lease in the store of a lab at a URL, so that it holds on all machines. Does nothing for a directory."""
    mirror = mirror_at(lab)
    if mirror is None:
        yield
        return
    held = store_lease.acquire(mirror.store, name, about, title=mirror.url, waiting=waiting)
    try:
        yield
        if name == LAB:  # nobody takes over a registration
            held.check()
    finally:
        held.release(forget=name != LAB)


@contextlib.contextmanager
def registered(lab: Path, run: str, keys: Collection[str]) -> Iterator[None]:
    """Register a run while the block runs. Enter it with the lock of the lab."""
    name, about = f"{temporary.mark()}{os.urandom(4).hex()}{SUFFIX}", {"run": run, "keys": sorted(keys)}
    held = lease.acquire(lab / ACTIVE / name, about, title=run)
    try:
        with _held_in_store(lab, f"{ACTIVE}/{name}", about):
            yield
    finally:
        held.release()


def active_runs(lab: Path) -> list[ActiveRun]:
    """Return the runs in progress. Registrations of processes that have ended are removed if the lab can be written."""
    found = []
    for entry in sorted((lab / ACTIVE).glob("*")):
        if entry.suffix == SUFFIX:
            holder = lease.sweep(entry)
            if holder is not None:
                found.append(_run_of(holder))
        elif entry.name.endswith(EARLIER):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                if time.time() - entry.stat().st_mtime > temporary.DAY:
                    entry.unlink()
                elif entry.suffix == EARLIER[0]:
                    content = files.read_json(entry)
                    found.append(ActiveRun(str(content["run"]), frozenset(map(str, content["keys"]))))
    mirror = mirror_at(lab)
    return found if mirror is None else [*found, *map(_run_of, store_lease.holders_in(mirror.store, ACTIVE).values())]


def _run_of(holder: Holder) -> ActiveRun:
    return ActiveRun(str(holder.about.get("run", "")), frozenset(map(str, holder.about.get("keys", ()))))
