"""The group of processes that train a model together: process 0 leads, and the others follow.

Process 0 does everything that one process would do, and writes all files. The others wait for it to start a training, and take part in the
optimizer steps alone. :func:`group` is the group of this process, inside :func:`connected`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from attrs import frozen
from torch import Tensor

from ticketlab.backbone.device import pick_device
from ticketlab.core import ranks
from ticketlab.core.errors import TicketlabError, UsageError

PATIENCE = timedelta(days=365)
"""The time that the followers wait for process 0, which may compute other stages for days. If it ends, they end at once.

That is because its connections are closed. If a machine vanishes without closing them, as without power or network, the processes on other
machines that send to it fail when their system gives the connection up (on Linux after about 15 minutes), and those that only wait for it
wait on for this time, unless their launcher or a job scheduler ends them.
"""
SECONDS_FOR_LAUNCHER = 10.0
"""The time in which the command that started the processes reports that one of them ended, and ends the others."""
FAILURE = "failure"
HEADER = 8
"""Bytes of the number of a step."""


class LostProcess(TicketlabError):
    """Another process of the training failed or ended. Finished work is on disk."""


@frozen(eq=False)
class Group:
    """The processes of a training, with their collective operations. Every process calls the same ones in the same order."""

    rank: int
    """The number of this process, from 0."""
    number: int
    """The number of processes."""
    threads: int
    """The threads of this process outside of steps: in process 0, all that one process would have."""
    own_threads: int
    """The threads of each process in a step."""

    @property
    def leads(self) -> bool:
        """Whether this is process 0."""
        return self.rank == 0

    def share(self, value: Any = None) -> Any:
        """Return the ``value`` of process 0, which is pickled, in every process."""
        values = [value]
        with self._lost_processes_reported():
            dist.broadcast_object_list(values, src=0)
        return values[0]

    def share_tensors(self, tensors: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
        """Return the tensors of process 0 in every process, on the CPU."""
        own = {} if tensors is None else {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
        described = self.share({name: (tuple(value.shape), value.dtype) for name, value in own.items()})
        for name, (shape, dtype) in described.items():
            value = own.setdefault(name, torch.empty(shape, dtype=dtype))
            if value.numel():
                self._broadcast(value.reshape(-1).view(torch.uint8))
        return own

    def start_step(self, step: int) -> None:
        """In process 0: tell the others to take part in a step, from the random state of this process."""
        self._broadcast(torch.cat([torch.tensor([step]).view(torch.uint8), *_random_states()]))

    def end_steps(self) -> None:
        """In process 0: tell the others that there are no more steps."""
        self.start_step(-1)

    def next_step(self) -> int | None:
        """In the others: wait for the next step, and set the random state of process 0. None if there are no more steps."""
        states = _random_states()
        header = torch.empty(HEADER + sum(map(len, states)), dtype=torch.uint8)
        self._broadcast(header)
        sizes = [HEADER, *map(len, states)]
        step, cpu, *cuda = (part.clone() for part in torch.split(header, sizes))
        torch.set_rng_state(cpu)
        for state in cuda:
            torch.cuda.set_rng_state(state)
        found = int(step.view(torch.int64))
        return None if found < 0 else found

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum of the ``values`` of all processes, which have the same bits in each. ``values`` may be overwritten."""
        moved = values if values.device.type in ("cpu", "cuda") else values.cpu()
        with self._lost_processes_reported():
            dist.all_reduce(moved)
        return moved.to(values.device)

    @contextlib.contextmanager
    def sharing_threads(self) -> Iterator[None]:
        """Use this process's part of the threads inside the block."""
        torch.set_num_threads(self.own_threads)
        try:
            yield
        finally:
            torch.set_num_threads(self.threads)

    def report_failure(self, message: str) -> None:
        """In a follower: leave a message for process 0, which fails when this process ends."""
        with contextlib.suppress(RuntimeError):
            _store().set(FAILURE, f"process {self.rank}: {message}")

    def _broadcast(self, values: Tensor) -> None:
        with self._lost_processes_reported():
            dist.broadcast(values, src=0)

    @contextlib.contextmanager
    def _lost_processes_reported(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as problem:
            raise self._lost() from problem

    def _lost(self) -> LostProcess:
        """Return the error of an exchange that failed because another process has ended."""
        message = ""
        with contextlib.suppress(RuntimeError):
            if self.leads and _store().check([FAILURE]):
                message = _store().get(FAILURE).decode()
        if not message and ranks.is_supervised():
            time.sleep(SECONDS_FOR_LAUNCHER)
        return LostProcess(f"{message or 'another process of the training has ended'}; run the same command again to resume")


_group: Group | None = None


def group() -> Group | None:
    """Return the group of this process; None if it trains alone."""
    return _group


@contextlib.contextmanager
def connected() -> Iterator[Group | None]:
    """Meet the other processes, if the environment names any. At the end of the block, process 0 lets the others end.

    :raises UsageError: there are fewer GPUs than processes on this machine, or the processes cannot meet.
    """
    global _group
    if ranks.number() == 1:
        yield None
        return
    backend = "gloo"
    if pick_device().type == "cuda":
        if ranks.local_rank() >= torch.cuda.device_count():
            raise UsageError(
                f"process {ranks.local_rank()} of this machine needs a GPU of its own, and there are {torch.cuda.device_count()}: start at "
                "most one process per GPU"
            )
        torch.cuda.set_device(ranks.local_rank())
        backend = "cpu:gloo,cuda:nccl"
    file = os.environ.get(ranks.MEETING_FILE)
    place = f"file://{file}" if file else "env://"
    try:
        dist.init_process_group(backend, place, rank=ranks.rank(), world_size=ranks.number(), timeout=PATIENCE)
    except (RuntimeError, ValueError) as problem:
        raise UsageError(f"the processes of the training cannot meet: {problem}") from problem
    threads = torch.get_num_threads()
    own = max(1, threads // ranks.number()) if ranks.is_supervised() else threads  # other launchers give each process its own
    _group = Group(ranks.rank(), ranks.number(), own if ranks.follows() else threads, own)
    torch.set_num_threads(_group.threads)
    try:
        yield _group
        if _group.leads:
            _group.share(None)
        dist.destroy_process_group()
    finally:
        _group = None


def _store() -> Any:
    return dist.distributed_c10d._get_default_store()


def _random_states() -> list[Tensor]:
    """Return the states of the generators of the CPU and of this process's GPU."""
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state()] if torch.cuda.is_available() else [])]
