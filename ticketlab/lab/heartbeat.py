"""The heartbeat: a thread that renews the leases of this process while it lives."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable

BEATS = 12
"""The number of heartbeats in the time after which a lease without one is free."""

_lock = threading.Lock()
_changed = threading.Event()
_beats: dict[str, tuple[float, weakref.WeakMethod[Callable[[], None]]]] = {}
"""The seconds between the heartbeats of each lease, and the method that renews it while the lease is referenced."""
_thread: threading.Thread | None = None


def start(nonce: str, stale: float, renew: Callable[[], None]) -> None:
    """Call the method ``renew`` several times in ``stale`` seconds, until :func:`stop` or until its object is no more referenced."""
    global _thread
    with _lock:
        _beats[nonce] = (stale / BEATS, weakref.WeakMethod(renew))
        _changed.set()
        if _thread is None:
            _thread = threading.Thread(target=_beat, name="lease heartbeat", daemon=True)
            _thread.start()


def stop(nonce: str) -> None:
    """Renew a lease no more."""
    with _lock:
        _beats.pop(nonce, None)


def _beat() -> None:
    global _thread
    due: dict[str, float] = {}
    while True:
        with _lock:
            beats = dict(_beats)
            if not beats:
                _thread = None
                return
        now = time.monotonic()
        due = {nonce: due.get(nonce, now + seconds) for nonce, (seconds, _) in beats.items()}
        for nonce, (seconds, renew) in beats.items():
            if due[nonce] <= now:
                method = renew()
                if method is None:
                    stop(nonce)
                else:
                    method()
                due[nonce] = now + seconds
        _changed.wait(max(0.0, min(due.values()) - time.monotonic()))
        _changed.clear()


def _forget() -> None:
    """Renew nothing in a process that was forked: the leases are those of its parent."""
    global _lock, _changed, _thread
    _lock, _changed = threading.Lock(), threading.Event()
    _thread = None
    _beats.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
