"""Leases: locks that hold on network file systems, and that are free again when their holder has died.

A lease at ``PATH`` is a folder ``PATH/NONCE/`` with a file that says who holds it. It needs no locks of the file system, only that it
renames folders atomically, as local file systems and NFS do:

- A process acquires it by making that folder under another name and renaming it to ``PATH``, which fails while ``PATH`` is not empty.
- A thread of the holder renews it by setting the time of the file. A lease is free when its holder has ended, if that is a process of the
  same machine; otherwise when an observer has seen no change for :data:`~ticketlab.lab.holder.STALE_SECONDS` of its own clock.
- Whoever finds it free removes ``PATH/NONCE/`` and then acquires it as above. The nonce is in the path, so a slow process that has seen
  an earlier lease cannot remove a later one.
- What the holder writes is moved to its place through ``PATH/NONCE/``. A process that was stopped and lost its lease finds this folder
  gone, at whatever moment it wakes up, and can replace nothing that the next holder writes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from ticketlab.core import disk_and_memory, files, platforms, temporary
from ticketlab.core.errors import LeaseLost, TicketlabError
from ticketlab.lab import heartbeat
from ticketlab.lab.holder import Holder
from ticketlab.lab.lease_wait import Waits, sleep_about
from ticketlab.lab.staleness import ABANDONED, Observations

FILE = "holder.json"
NONCE = re.compile("[0-9a-f]{16}")
HELD = (errno.EEXIST, errno.ENOTEMPTY)
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)
WAITS = Waits(first=0.01, longest=1.0, quiet=0.1)
LONGEST_ATTEMPT = 60.0
"""Seconds for which a lease may be free and yet not to be acquired."""
ATTEMPTS = 100
"""How often the folder of a lease is emptied that others write to."""


@define(eq=False)
class Lease:
    """A lease that this process holds. It guards a folder as :class:`ticketlab.core.files.Guard`."""

    path: Path
    holder: Holder
    title: str = ""
    """What it is for, in messages."""
    _process: int = field(factory=os.getpid)

    @property
    def folder(self) -> Path:
        """Its own folder, which is gone when the lease is lost."""
        return self.path / self.holder.nonce

    def is_lost(self) -> bool:
        """Return whether another process has found the lease free."""
        try:
            (self.folder / FILE).open("rb").close()  # on NFS the time of a file may be out of date, and an open file is not
        except OSError as problem:
            return problem.errno in GONE
        return False

    def check(self) -> None:
        """Check that the lease is still held.

        :raises LeaseLost: it is not.
        """
        if self.is_lost():
            raise self._lost()

    def move(self, source: Path, target: Path) -> None:
        """Move a file or folder on the same file system to its place, replacing a file there.

        :raises LeaseLost: the lease is not held any more; the place is unchanged.
        """
        staged = self.folder / os.urandom(4).hex()
        try:
            source.replace(staged)
            platforms.replace(staged, target)
        except OSError:
            self.check()
            raise

    def release(self) -> None:
        """End the lease. In a process that was forked since it was acquired, and after it was lost, this does nothing."""
        if self._process == os.getpid():
            heartbeat.stop(self.holder.nonce)
            with contextlib.suppress(OSError):
                _remove(self.path, self.holder.nonce)

    def renew(self) -> None:
        """Set the time of the file, by which others see that its holder lives."""
        with contextlib.suppress(OSError):  # it is lost, or the file system does not answer: the next write finds out
            os.utime(self.folder / FILE)

    def _lost(self) -> LeaseLost:
        seen = _look(self.path)
        by = f"{seen.holder} took it over" if seen is not None and seen.holder is not None else "another process took it over"
        return LeaseLost(
            f"{self.title or self.path}: this process was stopped, or could not write, for more than {self.holder.stale:g} s, and {by}; "
            "nothing more was written; run the same command again"
        )


@frozen
class _Seen:
    """A lease that exists. ``holder`` is None if it is being removed; ``change`` is another value after each heartbeat."""

    nonce: str
    holder: Holder | None
    change: tuple[int, str] = (0, "")


_observations = Observations()


def acquire(path: Path, about: Mapping[str, Any], *, title: str = "", waiting: Callable[[Holder], None] | None = None) -> Lease:
    """Acquire the lease at ``path``; folders above it are created. ``about`` is a mapping of JSON values for those who look at it.

    Waits while another process holds it, and calls ``waiting`` once with each that does.

    :raises OSError: ``path`` cannot be written.
    :raises TicketlabError: a process of another account has left a lease there that this account may not remove.
    """
    return WAITS.until_acquired(lambda: _attempt(path.absolute(), about, title), waiting)


def try_acquire(path: Path, about: Mapping[str, Any], *, title: str = "") -> Lease | None:
    """Acquire the lease at ``path`` like :func:`acquire`, unless another process holds it: then return None."""
    held = _attempt(path.absolute(), about, title)
    return None if isinstance(held, Holder) else held


def _attempt(path: Path, about: Mapping[str, Any], title: str) -> Lease | Holder:
    """Acquire a lease or return who holds it. Repeated while it is free and another process is about to acquire it."""
    start = time.monotonic()
    while True:
        seen, is_free = _judge(path)
        if not is_free:
            assert seen is not None
            assert seen.holder is not None
            return seen.holder
        lease = _create(path, seen, about, title)
        if lease is not None:
            return lease
        if time.monotonic() - start > LONGEST_ATTEMPT:
            raise OSError(errno.EBUSY, "holds files that are not of a lease, or is removed again and again", str(path))
        sleep_about(WAITS.first)


def held_by(path: Path) -> Holder | None:
    """Return who holds the lease at ``path``, this process included; None if it is free. Never waits and changes nothing."""
    seen, is_free = _judge(path.absolute())
    return None if is_free or seen is None else seen.holder


def sweep(path: Path) -> Holder | None:
    """Return who holds the lease at ``path``; if it is free, remove what is left of it, if the folder can be written.

    For callers that look once and do not wait. For them a lease is free if its holder has ended or, on another machine, if the last
    heartbeat was :data:`~ticketlab.lab.staleness.ABANDONED` times its stale time ago by the clock of the file system.
    """
    path = path.absolute()
    seen = _look(path)
    if seen is None:
        return None
    if seen.holder is not None and not seen.holder.is_gone and not _is_abandoned(path, seen.holder, seen.change[0] / 1e9):
        return seen.holder
    with contextlib.suppress(OSError):
        _remove(path, seen.nonce)
    return None


def _is_abandoned(path: Path, holder: Holder, last: float) -> bool:
    """Return whether the last heartbeat of a holder on another machine was very long ago."""
    longest = ABANDONED * holder.stale
    if holder.is_here or time.time() - last < longest:
        return False
    probe = temporary.temporary_path(path)
    try:
        probe.touch()
        now = probe.stat().st_mtime
        probe.unlink()
    except OSError:
        return False
    return now - last > longest


def _judge(path: Path) -> tuple[_Seen | None, bool]:
    """Return the lease at ``path`` and whether it is free."""
    before = time.monotonic()
    seen = _look(path)
    if seen is None or seen.holder is None or seen.holder.is_gone:
        _observations.forget(path)
        return seen, True
    return seen, _observations.is_stale(path, (seen.nonce, seen.change), seen.holder.stale, before)


def _look(path: Path) -> _Seen | None:
    try:
        names = os.listdir(path)  # noqa: PTH208  # one call, and no objects
    except (FileNotFoundError, NotADirectoryError):
        return None
    for nonce in filter(NONCE.fullmatch, names):
        try:
            with (path / nonce / FILE).open("rb") as file:  # opening it, NFS asks the server for its time
                changed = os.fstat(file.fileno()).st_mtime_ns
                holder = Holder.parse(nonce, file.read().decode(errors="replace"))
        except OSError as problem:
            if problem.errno not in GONE:
                raise
            return _Seen(nonce, None)
        return _Seen(nonce, holder, (changed, holder.computed()))
    return None


def _create(path: Path, free: _Seen | None, about: Mapping[str, Any], title: str) -> Lease | None:
    """Remove what is left of a free lease and make a new one. Returns None if another process was faster, or removes the folder."""
    if free is not None:
        try:
            _remove(path, free.nonce)
        except PermissionError:
            if not os.access(path.parent, os.W_OK):  # a read-only lab
                raise
            raise TicketlabError(
                f"{path}: left by {free.holder or 'a process'} of another account, which has ended, and this account may not remove it; "
                "remove the folder, or let the accounts that share a lab write in each other's folders (umask 002)"
            ) from None
    holder = Holder.here(about)
    lease = Lease(path, holder, title)
    made = temporary.temporary_path(path)
    try:
        with disk_and_memory.writing(path):
            made.mkdir(parents=True)
            (made / holder.nonce).mkdir()
            (made / holder.nonce / FILE).write_text(holder.to_json(), encoding="utf-8")
        if not _rename(made, path) and lease.is_lost():  # NFS may report the failure of the second of two equal requests
            shutil.rmtree(made, ignore_errors=True)
            return None
        heartbeat.start(holder.nonce, holder.stale, lease.renew)
    except FileNotFoundError:  # removed with the folder that it is in
        return None
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        lease.release()
        raise
    return lease


def _rename(made: Path, path: Path) -> bool:
    """Rename a folder to ``path``. Returns whether that succeeded; not if ``path`` exists and is not empty, or the folder is gone."""
    try:
        made.rename(path)
    except FileNotFoundError:
        return False
    except OSError as problem:
        if problem.errno in HELD or (os.name == "nt" and path.exists()):
            return False
        raise
    return True


def _remove(path: Path, nonce: str) -> None:
    """Remove the lease with this nonce, its file first; another lease at ``path`` stays.

    :raises OSError: it cannot be removed, as if it belongs to another account.
    """
    own = path / nonce
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        (own / FILE).unlink()
    for _ in range(ATTEMPTS):
        with contextlib.suppress(FileNotFoundError):
            for entry in list(os.scandir(own)):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    Path(entry.path).unlink(missing_ok=True)
        try:
            own.rmdir()
        except FileNotFoundError:
            break
        except OSError as problem:
            if problem.errno not in HELD:
                raise
            time.sleep(WAITS.first)  # its holder is moving a file, or NFS keeps a file that another process reads
        else:
            break
    with contextlib.suppress(OSError):
        path.rmdir()  # unless it is not empty


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=files.forget_guards)
