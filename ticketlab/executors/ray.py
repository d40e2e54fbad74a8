"""The executor `ray`: stages are tasks of a Ray cluster."""

from __future__ import annotations

from importlib.util import find_spec
from typing import ClassVar

from attrs import frozen

from ticketlab.core.errors import UsageError
from ticketlab.core.platforms import cores
from ticketlab.core.settings import setting
from ticketlab.executors.base import Executor, ExecutorRun, Receive, Session, WorkResources

GB = 10**9


@frozen
class Ray(Executor):
    """Computes stages as tasks of a Ray cluster: one that ``ray start`` has started, or one that is made for the occasion.

    Each stage is a task that reserves cores, GPUs and memory, and Ray chooses the node. Driver and nodes need the same versions of
    Python, of ticketlab and of the packages that compute results, and the same lab.
    """

    name: ClassVar[str] = "ray"
    summary: ClassVar[str] = "tasks of a Ray cluster, which may have many machines"

    address: str | None = setting(
        None,
        identity=False,
        help="HOST:PORT of a cluster, or `auto` for that of this machine; by default a cluster is made for the occasion",
    )
    num_cpus: int | None = setting(
        None, at_least=1, identity=False,
        help="cores and threads of each stage; by default the threads of this process, which --jobs divides if no address is given",
    )  # fmt: skip
    num_gpus: float | None = setting(
        None, at_least=0, identity=False, help="GPUs of each stage, a fraction to share one; by default 1 if this process sees a GPU"
    )
    memory: float | None = setting(
        None, above=0, unit="GB", identity=False, help="main memory that each stage reserves on its node; by default as estimated"
    )
    waiting: int = setting(
        0, at_least=0, identity=False, help="stages that wait for a free node, so that a cluster that grows on demand adds nodes"
    )

    def check_usable(self) -> None:
        """Check that Ray is installed; see :meth:`Executor.check_usable`."""
        if find_spec("ray") is None:
            raise UsageError('the executor `ray` needs the package ray: pip install "ticketlab[ray]"')

    def cpus(self, jobs: int | None) -> int:
        """Return the number of cores of each stage."""
        return self.num_cpus or (super().cpus(jobs) if self.address is None else self.threads(jobs))

    def threads(self, jobs: int | None) -> int:
        """Return the number of threads of each stage."""
        return self.num_cpus or super().threads(jobs if self.address is None else None)

    def needs(self, resources: WorkResources) -> dict[str, float]:
        """Return what a task reserves, as Ray calls it: ``CPU``, ``GPU`` and ``memory`` in bytes."""
        gpus = resources.gpus if self.num_gpus is None else self.num_gpus
        memory = resources.memory or 0 if self.memory is None else round(self.memory * GB)
        return {"CPU": self.num_cpus or resources.cpus, "GPU": gpus, "memory": memory}

    def open(self, session: Session, receive: Receive) -> ExecutorRun:
        """Connect to the cluster, or make one, and check its nodes.

        :raises TicketlabError: there is no such cluster, or none of its nodes can be used.
        """
        from ticketlab.executors.ray_run import RayRun

        return RayRun.begin(session, receive, self.needs, self.waiting, self.address, cores())
