"""Connects this process to a Ray cluster, or makes a cluster of this machine, without what Ray prints and the signal handlers it sets."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import ray

from ticketlab.core import signals
from ticketlab.core.errors import UsageError

OBJECTS = 100 * 2**20
"""Bytes of Ray's object store in a cluster of our own: it holds plain values only."""
SECONDS_TO_CONNECT = 10.0
ATTEMPTS = 3
"""How often a cluster of our own is started."""


@contextlib.contextmanager
def connected(address: str | None, cpus: int) -> Iterator[None]:
    """Be connected to the cluster at ``address`` inside the block; without an address, to one of ``cpus`` cores that ends with the block.

    A process that is connected already stays connected to that cluster, also after the block.

    :raises UsageError: there is no such cluster, or it cannot be used with this version of Ray or of Python.
    """
    if ray.is_initialized():
        yield
        return
    _check(address)
    logging.getLogger("ray").setLevel(logging.ERROR)
    ray._private.worker._worker_logs_enabled = False  # otherwise Ray prints on stdout when a worker or node dies
    quiet = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
    own = {"num_cpus": cpus, "object_store_memory": OBJECTS, "include_dashboard": False} if address is None else {}
    with _own_signals():
        try:
            _init(address, {**quiet, **own})
        except ConnectionError:
            raise UsageError("no Ray cluster runs on this machine: start one with `ray start --head`, or leave out `address`") from None
        except (Exception, SystemExit) as problem:  # Ray raises errors of many types
            first = next(iter(str(problem).strip().splitlines()), type(problem).__name__)
            raise UsageError(f"the Ray cluster at {address or 'this machine'} cannot be used: {first}") from None
    try:
        yield
    finally:
        ray.shutdown()


def _init(address: str | None, options: Mapping[str, Any]) -> None:
    """Connect to a cluster, or start one. Starting it is repeated: Ray gives its processes 30 s, which is too little on a busy machine."""
    for attempt in range(ATTEMPTS):
        try:
            ray.init(address or "local", **options)
        except Exception:
            if address is not None or attempt == ATTEMPTS - 1:
                raise
            ray.shutdown()
        else:
            return


def _check(address: str | None) -> None:
    """Find out in seconds whether something listens at an address: Ray tries for minutes."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    address = os.environ.get("RAY_ADDRESS", address) if address == "auto" else address
    if address in (None, "auto"):
        return
    if "://" in address:
        raise UsageError(f"address {address}: run the command on a node of the cluster, and name it as `auto` or HOST:PORT")
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"address {address}: not `auto`, and not HOST:PORT as in 10.0.0.1:6379")
    try:
        socket.create_connection((host, int(port)), SECONDS_TO_CONNECT).close()
    except OSError as problem:
        raise UsageError(
            f"no Ray cluster answers at {address} ({problem.strerror or problem}): start one there with `ray start --head`"
        ) from None


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Restore the handler of SIGTERM, which Ray replaces, and have processes started inside ignore the end of the terminal.

    They are stopped by this process, after they have had the time to write a checkpoint.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in signals.numbers("SIGTERM", "SIGHUP")}
    signals.ignore("SIGHUP")
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
