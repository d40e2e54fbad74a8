"""Leases in an object store, which has no folders to rename: like :mod:`ticketlab.lab.lease`, for processes of all machines.

A lease called ``NAME`` is the series of files ``leases/NAME/00000001``, ``00000002``, ... in the store, of which the last counts:

- A process acquires it by creating the next file, which the store does for one process only. It says who holds the lease.
- A thread of the holder renews it by writing the file again. The lease is free when the file says that it was released, when its holder is
  a process of the observer's machine and has ended, or when the file has not changed for the holder's stale time, by the observer's own
  clock.
- A process that was stopped for too long finds a later file than its own: it has lost the lease, writes no result any more, and ends.

The last file is never removed while others may look at the lease, so that no number is used twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field, frozen

from ticketlab.core.errors import LeaseLost, ResourceError, TicketlabError
from ticketlab.lab.holder import Holder
from ticketlab.lab.lease_wait import Waits, sleep_about
from ticketlab.lab.staleness import ABANDONED, Observations
from ticketlab.lab.store import CREATES_EXCLUSIVELY, Entry, Store

LEASES = "leases"
"""The folder of leases in a store."""
BEATS = 6
"""The number of renewals in the time after which a lease without one is free. Each is two requests."""
WAITS = Waits(first=0.1, longest=5.0)
DIGITS = 8


@define(eq=False)
class StoreLease:
    """A lease that this process holds. ``before`` says what the lease before it was for; empty if there was none."""

    store: Store
    name: str
    number: int
    holder: Holder
    title: str
    before: Mapping[str, Any] = field(factory=dict)
    _beats: int = 0
    _is_lost: bool = False
    _ended: threading.Event = field(factory=threading.Event)
    _writing: threading.Lock = field(factory=threading.Lock)
    _process: int = field(factory=os.getpid)

    def __attrs_post_init__(self) -> None:
        threading.Thread(target=self._renew_until_ended, name=f"lease {self.name}", daemon=True).start()

    def check(self) -> None:
        """Check that the lease is still held.

        :raises LeaseLost: it is not.
        """
        self._is_lost = self._is_lost or max(_numbers(self.store, self.name), default=0) != self.number
        self.check_renewals()

    def check_renewals(self) -> None:
        """Like :meth:`check`, going by what the last renewal found, without asking the store."""
        if self._is_lost:
            raise self.lost()

    def lost(self) -> LeaseLost:
        """Return the error that says that the lease is not held any more."""
        return LeaseLost(
            f"{self.title or self.name}: this process was stopped, or could not reach {self.store.url}, for more than "
            f"{self.holder.stale:g} s, and another process took over; nothing more was written; run the same command again"
        )

    def release(self, *, forget: bool = False) -> None:
        """End the lease. In a process that was forked since it was acquired, and after it was lost, this does nothing.

        :param forget: nobody else looks at this lease, and nothing is left of it.
        """
        if self._process != os.getpid():
            return
        self._ended.set()
        with self._writing, contextlib.suppress(TicketlabError):  # otherwise it is free when it is stale
            self.check()
            path = _path(self.name, self.number)
            if forget:
                self.store.remove([path])
            else:
                self.store.write(path, _content(self.holder, self._beats, released=True))

    def _renew_until_ended(self) -> None:
        while not self._ended.wait(self.holder.stale / BEATS):
            with self._writing, contextlib.suppress(TicketlabError):  # the store may answer again in time
                if self._ended.is_set():
                    return
                self._beats += 1
                self.check()
                self.store.write(_path(self.name, self.number), _content(self.holder, self._beats))


@frozen
class _Seen:
    """The last file of a lease: ``holder`` is None if the lease was released."""

    number: int
    holder: Holder | None = None
    about: Mapping[str, Any] = field(factory=dict)
    change: tuple[bytes, str] = (b"", "")


_observations = Observations()


def acquire(
    store: Store, name: str, about: Mapping[str, Any], *, title: str = "", waiting: Callable[[Holder], None] | None = None
) -> StoreLease:
    """Acquire a lease in a store. ``about`` is a mapping of JSON values for those who look at it.

    Waits while another process holds it, and calls ``waiting`` once with each that does.

    :raises ResourceError: the store cannot create a file exclusively.
    :raises TicketlabError: the store does not answer.
    """
    return WAITS.until_acquired(lambda: _attempt(store, name, about, title), waiting)


def try_acquire(store: Store, name: str, about: Mapping[str, Any], *, title: str = "") -> StoreLease | None:
    """Acquire a lease like :func:`acquire`, unless another process holds it: then return None."""
    held = _attempt(store, name, about, title)
    return None if isinstance(held, Holder) else held


def _attempt(store: Store, name: str, about: Mapping[str, Any], title: str) -> StoreLease | Holder:
    """Acquire a lease or return who holds it. Repeated while it is free and another process is about to acquire it."""
    check_exclusive(store)
    waits = WAITS.growing()
    while True:
        seen, is_free = _judge(store, name)
        if not is_free:
            assert seen.holder is not None
            return seen.holder
        number = seen.number + 1
        holder = Holder.here(about)
        if store.create(_path(name, number), _content(holder, 0)):
            numbers = _numbers(store, name)
            if max(numbers, default=0) == number:
                store.remove(_path(name, old) for old in numbers if old < number)
                return StoreLease(store, name, number, holder, title, seen.about)
            store.remove([_path(name, number)])  # others acquired the lease since it was read, and removed the file of this number
        sleep_about(next(waits))


def held_by(store: Store, name: str) -> Holder | None:
    """Return who holds a lease, this process included; None if it is free. Never waits."""
    seen, is_free = _judge(store, name)
    return None if is_free else seen.holder


def holders_in(store: Store, folder: str) -> dict[str, Holder]:
    """Return who holds the leases in a folder of leases, by name, for callers that look once and do not wait.

    A lease whose last renewal is :data:`~ticketlab.lab.staleness.ABANDONED` stale times ago by the clock of the store has no holder.
    """
    found = {}
    last = _last_files(store.entries(f"{LEASES}/{folder}"))
    now = _time_of(store) if last else 0.0
    for name, (number, entry) in last.items():
        seen = _read(store, name, number)
        if seen.holder is not None and not seen.holder.is_gone and now - entry.modified < ABANDONED * seen.holder.stale:
            found[name] = seen.holder
    return found


def check_exclusive(store: Store) -> None:
    """Check that a store creates files exclusively.

    :raises ResourceError: it does not; the message says so.
    """
    if not creates_exclusively(store):
        raise ResourceError(
            f"{store.url}: this store does not create a file exclusively, so that two machines might compute one stage at a time; results "
            "can be read from it, and computing needs another lab (--lab): a shared directory, or a store of S3, Google or Azure"
        )


def creates_exclusively(store: Store) -> bool:
    """Return whether a store creates a file only if there is none, found out once per process: servers of S3 exist that do not."""
    if store not in _exclusive:
        _exclusive[store] = store.protocol in CREATES_EXCLUSIVELY and _create_twice(store)
    return _exclusive[store]


_exclusive: dict[Store, bool] = {}


def _create_twice(store: Store) -> bool:
    name = f"{LEASES}/probe-{os.urandom(6).hex()}"
    try:
        return store.create(name, b"1") and not store.create(name, b"2")
    finally:
        store.remove([name])


def _judge(store: Store, name: str) -> tuple[_Seen, bool]:
    """Return the last file of a lease and whether the lease is free."""
    before = time.monotonic()
    seen = _read(store, name, max(_numbers(store, name), default=0))
    place = store.url, name
    if seen.holder is None or seen.holder.is_gone:
        _observations.forget(place)
        return seen, True
    return seen, _observations.is_stale(place, seen.change, seen.holder.stale, before)


def _read(store: Store, name: str, number: int) -> _Seen:
    """Return what a file of a lease says. A file that is gone was replaced by a later one, which the next look finds."""
    content = store.read(_path(name, number)) if number else None
    if content is None:
        return _Seen(number)
    try:
        table = json.loads(content)
        about, released, nonce = dict(table["holder"]["about"]), bool(table["released"]), str(table["holder"]["nonce"])
        holder = Holder.parse(nonce, json.dumps(table["holder"]))
    except (ValueError, KeyError, TypeError):  # not yet whole
        return _Seen(number, Holder(f"{number}"), {}, (content, ""))
    return _Seen(number, None if released else holder, about, (content, holder.computed()))


def _content(holder: Holder, beats: int, *, released: bool = False) -> bytes:
    return json.dumps({"holder": json.loads(holder.to_json()), "beats": beats, "released": released}).encode()


def _path(name: str, number: int) -> str:
    return f"{LEASES}/{name}/{number:0{DIGITS}}"


def _numbers(store: Store, name: str) -> list[int]:
    return [number for of, (number, _) in _files(store.entries(f"{LEASES}/{name}")) if of == name]


def _files(entries: Mapping[str, Entry]) -> list[tuple[str, tuple[int, Entry]]]:
    split = [(*path.removeprefix(f"{LEASES}/").rpartition("/"), entry) for path, entry in entries.items()]
    return [(name, (int(number), entry)) for name, _, number, entry in split if name and number.isdecimal() and len(number) == DIGITS]


def _last_files(entries: Mapping[str, Entry]) -> dict[str, tuple[int, Entry]]:
    last: dict[str, tuple[int, Entry]] = {}
    for name, (number, entry) in _files(entries):
        if name not in last or number > last[name][0]:
            last[name] = number, entry
    return last


def _time_of(store: Store) -> float:
    """Return the time of the store's clock, in seconds."""
    name = f"{LEASES}/probe-{os.urandom(6).hex()}"
    store.write(name, b"")
    try:
        return max((entry.modified for path, entry in store.entries(LEASES).items() if path == name), default=time.time())
    finally:
        store.remove([name])
