"""Worker processes that compute the stages of a study, several at a time."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

from attrs import define, field

from ticketlab.core import registry
from ticketlab.core.errors import OutOfSpace
from ticketlab.studies.job import Job
from ticketlab.studies.job_errors import OUT_OF_SPACE

MODULE = "ticketlab.studies.worker"
THREADS = "OMP_NUM_THREADS"
SECONDS_TO_STOP = 60.0
"""The time that workers have to write a checkpoint and end when the study is interrupted."""


@define
class _Worker:
    process: subprocess.Popen[str]
    job: Job | None = None


@define
class Workers:
    """A pool of worker processes with ``threads`` threads each, and with the plugins of this process.

    Used as a context manager: at its end the workers are stopped.
    """

    number: int
    lab: Path
    log: Path
    threads: int
    _workers: list[_Worker] = field(factory=list)
    _answers: queue.Queue[tuple[_Worker, str]] = field(factory=queue.Queue)

    def __enter__(self) -> Workers:
        return self

    @property
    def idle(self) -> bool:
        """Whether a worker has no job, or another one may be started."""
        return len(self._workers) < self.number or any(worker.job is None for worker in self._workers)

    def start(self, job: Job) -> None:
        """Give a job to an idle worker."""
        worker = next((worker for worker in self._workers if worker.job is None), None) or self._add()
        worker.job = job
        assert worker.process.stdin is not None
        with contextlib.suppress(OSError):  # it has died: wait() reports that
            worker.process.stdin.write(f"{json.dumps(job.to_table())}\n")
            worker.process.stdin.flush()

    def wait(self) -> tuple[str, str]:
        """Wait for a job to end, and return its key and its error, empty if it succeeded.

        :raises OutOfSpace: the disk is full.
        """
        worker, line = self._answers.get()
        while not line and worker.job is None:  # it ended after its last job: another one will be started in its place
            self._workers.remove(worker)
            worker, line = self._answers.get()
        job, worker.job = worker.job, None
        assert job is not None
        if not line:
            self._workers.remove(worker)
            status = worker.process.wait()
            how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            return job.key, f"the worker process {how}; is there enough memory? (--jobs 1 runs one stage at a time)"
        answer = json.loads(line)
        if answer.get(OUT_OF_SPACE):
            raise OutOfSpace(str(answer["error"]))
        return str(answer["key"]), str(answer["error"])

    def _add(self) -> _Worker:
        here = {"", str(Path.cwd())}.intersection(sys.path)
        own_modules = [] if here else ["-P"]  # a user's datasets.py in the working directory must not replace a library
        command = [sys.executable, *own_modules, "-m", MODULE, str(self.lab), str(self.log), *registry.current().selection.to_arguments()]
        environment = {**os.environ, THREADS: str(self.threads)}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        worker = _Worker(process)
        self._workers.append(worker)
        threading.Thread(target=self._listen, args=(worker,), daemon=True).start()
        return worker

    def _listen(self, worker: _Worker) -> None:
        assert worker.process.stdout is not None
        for line in worker.process.stdout:
            self._answers.put((worker, line))
        self._answers.put((worker, ""))

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        for worker in self._workers:
            with contextlib.suppress(OSError):
                if worker.process.stdin is not None:
                    worker.process.stdin.close()
                if worker.job is not None:
                    worker.process.send_signal(signal.SIGTERM)
        for worker in self._workers:
            try:
                worker.process.wait(SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                worker.process.kill()
