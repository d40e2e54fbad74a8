"""An execution in the process of the driver, one work at a time: nothing is started, and nothing is loaded again."""

from __future__ import annotations

from attrs import define, field

from ticketlab.executors.base import ExecutorRun, Outcome, Receive, Session, Work, WorkResources
from ticketlab.executors.worker import Worker, call


@define
class Here(ExecutorRun):
    """Runs each work while :meth:`wait` is called."""

    session: Session
    receive: Receive
    _work: Work | None = None
    _worker: Worker = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._worker = Worker(self.session, self.receive)

    def accepts(self, resources: WorkResources) -> bool:
        """Return whether there is no work: this process has all resources of the machine."""
        return self._work is None

    def start(self, work: Work) -> None:
        """Remember the work until :meth:`wait`."""
        self._work = work

    def wait(self, timeout: float | None = None) -> Outcome | None:
        """Run the work, however long it takes; None if there is none.

        :raises Interrupted: Ctrl-C; a checkpoint is in the lab.
        """
        if self._work is None:
            return None
        work, self._work = self._work, None
        return call(work, self._worker)

    def close(self) -> None:
        """Forget the work that has not been run."""
        self._work = None
