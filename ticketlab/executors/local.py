"""The executor `local`: this process, or several processes of this machine that share its cores, GPUs and memory."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from ticketlab.backbone.device import visible_gpus
from ticketlab.core.disk_and_memory import available_memory
from ticketlab.core.errors import UsageError
from ticketlab.core.platforms import cores
from ticketlab.core.settings import setting
from ticketlab.executors.base import Executor, ExecutorRun, Receive, Session
from ticketlab.executors.here import Here
from ticketlab.executors.processes import Processes

GB = 10**9


@frozen
class Local(Executor):
    """Computes stages on this machine: one at a time in this process, or several at a time in worker processes.

    Threads are divided among the stages. On a machine with several GPUs each worker sees one of them, and by default as many stages run
    at a time as there are GPUs.
    """

    name: ClassVar[str] = "local"
    summary: ClassVar[str] = "processes of this machine, which share its cores, GPUs and memory"

    jobs: int | None = setting(
        None, at_least=1, identity=False, help="stages at a time, as --jobs; by default one, or one per GPU if there are several"
    )
    memory: float | None = setting(
        None, above=0, unit="GB", identity=False,
        help="main memory that stages at a time may need together, as estimated; by default what is available at the start (on Linux); "
        "a stage that needs more runs alone",
    )  # fmt: skip

    def slots(self, jobs: int | None) -> int:
        """Return the number of stages at a time.

        :raises UsageError: it is not between 1 and the number of cores; or ``jobs`` contradicts the setting.
        """
        if jobs is not None and self.jobs is not None and jobs != self.jobs:
            raise UsageError(
                f"the command asks for {jobs} at a time (--jobs, or --workers of `attack`) and the executor for {self.jobs} "
                f"(--executor-set jobs={self.jobs}): give one of them"
            )
        wanted = jobs or self.jobs or max(1, min(len(visible_gpus()), cores()))
        if not 1 <= wanted <= cores():
            raise UsageError(f"{'--jobs' if jobs else 'executor.jobs ='} {wanted}: choose between 1 and {cores()}, the number of cores")
        return wanted

    def shares_machines(self, jobs: int | None) -> bool:
        """Return whether several stages run at a time."""
        return self.slots(jobs) > 1

    def open(self, session: Session, receive: Receive) -> ExecutorRun:
        """Begin an execution. A worker process is started when it is first needed."""
        slots = self.slots(session.jobs)
        if slots == 1:
            return Here(session, receive)
        memory = available_memory() if self.memory is None else round(self.memory * GB)
        return Processes(session, receive, slots, visible_gpus(), memory)
