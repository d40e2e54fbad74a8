"""The contract of executors: they start work in processes of this or other machines, and report what becomes of it.

The driver is the process of the command: it starts work whose inputs are there, starts lost work again, and writes the log and the
results. A worker is a process that computes one work at a time. Everything that a worker gets and returns is a plain JSON value.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from attrs import frozen

from ticketlab.core.component import Component
from ticketlab.core.platforms import cores
from ticketlab.core.plugin_selection import PluginSelection
from ticketlab.core.settings import setting

PROCESS_MEMORY = 10**9
"""Bytes of a process with torch, transformers and data, without a model, estimated."""


@frozen
class WorkResources:
    """What a work needs while it runs."""

    cpus: int = 1
    """Cores."""
    gpus: float = 0
    """GPUs."""
    memory: int | None = None
    """Main memory in bytes, estimated; None if unknown."""


@frozen
class Work:
    """A function to call in a worker. Its values are plain JSON values, so that another machine can run it."""

    key: str
    """Identifies the work in an execution. That of a stage is its key in the lab."""
    title: str
    """What it is, in messages."""
    function: str
    """``"package.module:function"``, called as ``function(arguments, worker)`` with a :class:`ticketlab.executors.worker.Worker`."""
    arguments: Mapping[str, Any]
    """The arguments of the function. Its answer is a JSON value too."""
    resources: WorkResources = WorkResources()
    """What it needs."""

    def to_table(self) -> dict[str, Any]:
        """Return the work as JSON values, which :meth:`from_table` reads. A worker does not need the resources."""
        return {"key": self.key, "title": self.title, "function": self.function, "arguments": dict(self.arguments)}

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Work:
        """Read what :meth:`to_table` returned."""
        return cls(**table)


@frozen
class Outcome:
    """What became of a work: its answer, or why it has none."""

    key: str
    """The key of the work."""
    answer: Any = None
    """What the function returned."""
    error: str = ""
    """The one-line message of its error; empty if it succeeded."""
    lost: bool = False
    """Whether the process or machine that ran it died. The driver starts such work again."""
    out_of_space: bool = False
    """Whether a disk is full, so that nothing else can be computed either."""
    place: str = ""
    """The host and the process that ran it: ``"HOST PID"``."""


@frozen
class Message:
    """What a worker says about the work that it computes."""

    key: str
    """The key of the work."""
    place: str
    """The host and the process that runs it: ``"HOST PID"``."""
    kind: str
    """What the payload is: one of :mod:`ticketlab.executors.messages`, or a kind that the function and its driver have agreed on."""
    payload: Any
    """A JSON value."""


Receive = Callable[[Message], None]
"""Receives the messages of workers in the driver. May be called from any thread."""


@frozen
class Session:
    """What workers need besides their work: the same for all of an execution."""

    lab: str
    """The path or URL of the lab."""
    log: Path
    """The log that the driver writes. Workers do not: they send its records as messages."""
    jobs: int | None
    """How many works to run at a time, as requested by ``--jobs``; None if it was not given."""
    threads: int
    """Threads of each worker. They are part of the keys of stages on a CPU, so a worker must have exactly as many."""
    plugins: PluginSelection = PluginSelection()
    """The plugins that workers load."""

    def to_table(self) -> dict[str, Any]:
        """Return the session as JSON values, which :meth:`from_table` reads."""
        return {
            "lab": self.lab,
            "log": str(self.log),
            "jobs": self.jobs,
            "threads": self.threads,
            "plugins": self.plugins.to_arguments(),
        }

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Session:
        """Read what :meth:`to_table` returned."""
        plugins = PluginSelection.from_arguments(table["plugins"])
        return cls(table["lab"], Path(table["log"]), table["jobs"], table["threads"], plugins)


class ExecutorRun:
    """An execution in progress: the workers, and the work that they compute. Used as a context manager, it is closed at the end."""

    @abstractmethod
    def accepts(self, resources: WorkResources) -> bool:
        """Return whether work that needs these resources could be started now.

        :raises TicketlabError: it never could; the message says why. The work fails with it.
        """

    @abstractmethod
    def start(self, work: Work) -> None:
        """Start a work. Called only after :meth:`accepts` has returned True for its resources."""

    @abstractmethod
    def wait(self, timeout: float | None = None) -> Outcome | None:
        """Wait for a work to end. Return its outcome, after all messages of the work were received; None after ``timeout`` seconds.

        :raises TicketlabError: no work can be run any more, as when a cluster has shut down.
        """

    @abstractmethod
    def close(self) -> None:
        """Stop the workers: they get SIGTERM, or what is like it, and a minute to write a checkpoint. No process is left."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


@frozen
class Executor(Component):
    """A place to compute stages. Settings say where and how; :meth:`open` starts using it.

    No setting of an executor changes a result.
    """

    kind: ClassVar[str] = "executor"

    retries: int = setting(
        2, at_least=0, identity=False, help="how often a stage is started again after the process or machine that computed it died"
    )

    def check_usable(self) -> None:
        """Check what can be known before anything is planned, such as whether a package is installed. By default there is nothing.

        :raises UsageError: the executor cannot be used; the message says what to do.
        """

    @abstractmethod
    def open(self, session: Session, receive: Receive) -> ExecutorRun:
        """Begin an execution. ``receive`` gets the messages of the workers.

        :raises TicketlabError: the place cannot be reached or used; the message says why and what to do.
        """

    def slots(self, jobs: int | None) -> int:
        """Return how many stages are computed at a time, as far as that is known in advance. ``jobs`` is that of :class:`Session`.

        :raises UsageError: that many are impossible.
        """
        return jobs or 1

    def cpus(self, jobs: int | None) -> int:
        """Return the number of cores of each stage: by default those of this process, divided among the slots."""
        return max(1, cores() // self.slots(jobs))

    def shares_machines(self, jobs: int | None) -> bool:
        """Return whether a stage leaves other cores of its machine to others, so that an attack starts no more processes than ``cpus``.

        Otherwise an attack that does not name their number starts as many as are useful on the machine.
        """
        return True

    def threads(self, jobs: int | None) -> int:
        """Return the number of threads of each stage: by default those of this process, divided among the slots.

        Stages are planned with it, since it is part of the keys of those on a CPU, whose last bits depend on it.
        """
        import torch  # planning needs it anyway, and listing executors does not

        return max(1, torch.get_num_threads() // self.slots(jobs))
