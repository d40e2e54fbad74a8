"""``--processes``: starts the processes of a training on this machine, and ends all of them when one ends."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from ticketlab.cli import signals
from ticketlab.cli.single_values import SingleValuesCommand
from ticketlab.core import progress, ranks
from ticketlab.core import signals as core_signals
from ticketlab.core.child_processes import python_command
from ticketlab.core.errors import EXIT_FAILED, UsageError

SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_TO_REPORT = 8.0
"""The time that process 0 has to report the failure of another process before it is ended."""
INTERFACE = "GLOO_SOCKET_IFNAME"
LOOPBACK = ("lo", "lo0")

PROCESSES = click.option(
    "--processes", type=click.IntRange(min=1), metavar="N", default=1, show_default=True,
    help="Processes on this machine that share the rows of each training batch; on GPUs, one for each. Results are those of one process, "
    "apart from rounding and dropout.",
)  # fmt: skip


class ParallelCommand(SingleValuesCommand):
    """A command with the option :data:`PROCESSES`, which is then run by each of the processes."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command here, or start its processes and wait for them."""
        number = ctx.params["processes"]
        elsewhere = next((f"--{name}" for name in ("executor", "executor_sets", "jobs") if ctx.params.get(name)), None)
        if elsewhere is not None and max(number, ranks.number()) > 1:
            option = elsewhere.replace("_sets", "-set")
            raise UsageError(f"{option} computes stages in processes of their own, which cannot share a training: give only one of the two")
        if number > 1 and ranks.number() > 1 and not ranks.is_supervised():
            raise UsageError(
                f"--processes {number}: this process is one of {ranks.number()} that were started together; give the number to torchrun or "
                "`accelerate launch` alone"
            )
        if number > 1 and not ctx.params.get("dry_run") and not ranks.is_supervised():
            ctx.exit(run_together(number, sys.argv[1:]))
        return super().invoke(ctx)


def run_together(number: int, arguments: Sequence[str]) -> int:
    """Run ``ticketlab`` with ``arguments`` in ``number`` processes that train together, and return the exit code of process 0.

    Ctrl-C and other signals are passed on to process 0, which finishes its step and writes a checkpoint. If another process ends before it,
    all are ended, and a line says so.
    """
    with tempfile.TemporaryDirectory(prefix="ticketlab-processes-") as folder:
        shared = {**os.environ, ranks.NUMBER: str(number), ranks.MEETING_FILE: str(Path(folder) / "meeting")}
        names = {name for _, name in socket.if_nameindex()} if hasattr(socket, "if_nameindex") else set()
        loopback = next((name for name in LOOPBACK if name in names), None)
        if loopback is not None:  # the name of a machine may have no address
            shared.setdefault(INTERFACE, loopback)
        command = [*python_command("ticketlab"), *arguments]
        processes: list[subprocess.Popen[bytes]] = []
        try:
            for rank in range(number):
                own = {ranks.RANK: str(rank), ranks.LOCAL_RANK: str(rank)}
                processes.append(subprocess.Popen(command, env=shared | own, start_new_session=True))
            with _passed_on(processes[0]):
                return _wait(processes)
        finally:
            for process in processes:
                _kill(process)


def _wait(processes: Sequence[subprocess.Popen[bytes]]) -> int:
    """Wait for process 0, and return its exit code, or that of a failure if another process ends badly."""
    first, *others = processes
    deadline: float | None = None
    while first.poll() is None:
        killed = next((rank for rank, process in enumerate(others, 1) if (process.poll() or 0) < 0), None)
        if killed is not None:
            return _report(killed, others[killed - 1].returncode)
        if deadline is None and any(process.returncode for process in others):
            deadline = time.monotonic() + SECONDS_TO_REPORT
        if deadline is not None and time.monotonic() > deadline:
            progress.say(f"error: another process of the training has ended; {signals.RESUME}")
            return EXIT_FAILED
        with contextlib.suppress(subprocess.TimeoutExpired):
            first.wait(SECONDS_BETWEEN_LOOKS)
    return _report(0, first.returncode) if first.returncode < 0 else first.returncode


def _report(rank: int, status: int) -> int:
    """Print the line about a process that a signal killed, and return the exit code."""
    killed_by = core_signals.name_of(-status)
    progress.say(f"error: process {rank} of the training was killed by {killed_by}; is there enough memory? {signals.RESUME}")
    return EXIT_FAILED


@contextlib.contextmanager
def _passed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass signals that end a command on to a process while the block runs."""
    before: dict[int, Any] = {}
    for number in core_signals.numbers(*signals.MESSAGES):
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, lambda received, _: process.send_signal(received))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it has started, unless it has ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
