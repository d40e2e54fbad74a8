"""An execution in worker processes of this machine, several works at a time."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence

from attrs import define, field

from ticketlab.core import signals
from ticketlab.core.child_processes import python_command
from ticketlab.core.formatting import printable
from ticketlab.core.quantities import size
from ticketlab.executors.base import ExecutorRun, Message, Outcome, Receive, Session, Work, WorkResources
from ticketlab.executors.local_worker import MESSAGE, OUTCOME
from ticketlab.executors.messages import SAY, WARN
from ticketlab.executors.worker import place

MODULE = "ticketlab.executors.local_worker"
THREADS = "OMP_NUM_THREADS"
GPUS = "CUDA_VISIBLE_DEVICES"
SECONDS_TO_STOP = 60.0
"""The time that workers have to write a checkpoint and end, all at the same time."""
SECONDS_TO_READ = 1.0
"""How long the output of a worker that has ended is read, which a process that it started may hold open."""
LAST_LINES = 20
"""The number of lines on the stderr of a worker that are kept for the message about its end."""


@define(eq=False)
class _Process:
    process: subprocess.Popen[str]
    gpu: str = ""
    work: Work | None = None
    said: deque[str] = field(factory=lambda: deque(maxlen=LAST_LINES))
    reader: threading.Thread | None = None


@define
class Processes(ExecutorRun):
    """At most ``slots`` worker processes, with ``session.threads`` threads each. Each sees one of ``gpus``, the least used at its start.

    ``memory`` is what the works that run at a time may need together, in bytes. One that needs more runs alone.
    """

    session: Session
    receive: Receive
    slots: int
    gpus: Sequence[str] = ()
    memory: int | None = None
    _processes: list[_Process] = field(factory=list)
    _outcomes: queue.Queue[tuple[_Process, Outcome | None]] = field(factory=queue.Queue)

    def accepts(self, resources: WorkResources) -> bool:
        """Return whether fewer works run than there are slots, and their estimated memory with this one's does not exceed the limit."""
        running = [process.work for process in self._processes if process.work is not None]
        if len(running) >= self.slots:
            return False
        used = sum(work.resources.memory or 0 for work in running) + (resources.memory or 0)
        return not running or self.memory is None or used <= self.memory

    def start(self, work: Work) -> None:
        """Give a work to an idle process, or to a new one."""
        needed = work.resources.memory
        if self.memory is not None and needed is not None and needed > self.memory:
            warning = f"{work.title}: needs about {size(needed)}, and the limit is {size(self.memory)} (memory): it runs alone"
            self.receive(Message(work.key, place(), WARN, warning))
        process = next((process for process in self._processes if process.work is None), None) or self._add()
        process.work = work
        assert process.process.stdin is not None
        with contextlib.suppress(OSError):  # it has died: wait() reports that
            process.process.stdin.write(f"{json.dumps(work.to_table())}\n")
            process.process.stdin.flush()

    def wait(self, timeout: float | None = None) -> Outcome | None:
        """Wait for a work to end. A work whose process died is lost."""
        while True:
            try:
                process, outcome = self._outcomes.get(timeout=timeout)
            except queue.Empty:
                return None
            work, process.work = process.work, None
            if outcome is None:
                self._processes.remove(process)
                if work is None:  # it ended after its last work: another process will be started in its place
                    continue
                return Outcome(work.key, error=self._why_ended(process), lost=True, place=self._place(process))
            return outcome

    def close(self) -> None:
        """Stop the processes. Those that compute write a checkpoint first."""
        for process in self._processes:
            with contextlib.suppress(OSError):
                if process.process.stdin is not None:
                    process.process.stdin.close()
                if process.work is not None:
                    process.process.send_signal(signal.SIGTERM)
        end = time.monotonic() + SECONDS_TO_STOP
        for process in self._processes:
            try:
                process.process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.process.kill()
                process.process.wait()
            if process.reader is not None:
                process.reader.join(3 * SECONDS_TO_READ)
        self._processes.clear()

    def _add(self) -> _Process:
        gpu = min(self.gpus, key=[process.gpu for process in self._processes].count, default="")
        environment = {**os.environ, THREADS: str(self.session.threads), **({GPUS: gpu} if gpu else {})}
        process = _Process(
            subprocess.Popen(
                python_command(MODULE),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                env=environment,
            ),
            gpu,
        )
        self._processes.append(process)
        assert process.process.stdin is not None
        with contextlib.suppress(OSError):
            process.process.stdin.write(f"{json.dumps(self.session.to_table())}\n")
            process.process.stdin.flush()
        process.reader = threading.Thread(target=self._follow, args=(process,), daemon=True)
        process.reader.start()
        return process

    def _follow(self, process: _Process) -> None:
        """Read what a process writes until it ends, and then report its end."""
        readers = [threading.Thread(target=read, args=(process,), daemon=True) for read in (self._read_answers, self._read_errors)]
        for reader in readers:
            reader.start()
        process.process.wait()
        for reader in readers:
            reader.join(SECONDS_TO_READ)
        self._outcomes.put((process, None))

    def _read_answers(self, process: _Process) -> None:
        assert process.process.stdout is not None
        for line in process.process.stdout:
            if not line.endswith("\n"):  # the process was killed while it wrote
                return
            table = json.loads(line)
            if MESSAGE in table:
                self.receive(Message(**table[MESSAGE]))
            else:
                self._outcomes.put((process, Outcome(**table[OUTCOME])))

    def _read_errors(self, process: _Process) -> None:
        assert process.process.stderr is not None
        for line in process.process.stderr:
            process.said.append(line.rstrip("\n"))
            work = process.work  # the other thread may take it away
            self.receive(Message("" if work is None else work.key, self._place(process), SAY, line.rstrip("\n")))

    @staticmethod
    def _place(process: _Process) -> str:
        return f"{socket.gethostname()} {process.process.pid}"

    @staticmethod
    def _why_ended(process: _Process) -> str:
        status = process.process.returncode
        if status < 0:
            return (
                f"the worker process was killed by {signals.name_of(-status)}; is there enough memory? (--jobs 1 runs one stage at a time)"
            )
        last = next((line for line in reversed(process.said) if line.strip()), "")
        return f"the worker process ended with status {status}{f': {printable(last.strip())}' if last else ''}"
