"""How far a training is, apart from tensors: what its checkpoints keep as JSON and its result is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from attrs import asdict, define, field


@define
class TrainingProgress:
    """The ``step`` is the number of optimizer steps done, ``seconds`` their time, and ``elapsed`` all seconds since the training began."""

    step: int = 0
    loss: float = 0.0
    """The smoothed loss."""
    history: list[dict[str, float]] = field(factory=list)
    seconds: float = 0.0
    elapsed: float = 0.0
    processes: list[int] = field(factory=list)
    """The numbers of processes, one for each change."""

    @classmethod
    def resumed(cls, saved: Mapping[str, Any] | None, processes: int) -> Self:
        """Return the progress that a checkpoint has, or that of a training that begins, which goes on in so many processes."""
        found = cls() if saved is None else cls(**saved)
        if found.step and not found.processes:  # a checkpoint of an earlier version
            found.processes = [1]
        if found.processes[-1:] != [processes]:
            found.processes.append(processes)
        return found

    def add_step(self, loss: float) -> None:
        """Count a step with this loss."""
        self.loss = loss if self.step == 0 else 0.95 * self.loss + 0.05 * loss
        self.step += 1

    def to_json(self) -> dict[str, Any]:
        """Return the values for the checkpoint file."""
        return asdict(self)
