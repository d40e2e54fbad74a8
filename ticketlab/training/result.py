"""The outcome of a training run."""

from __future__ import annotations

from typing import Any

from attrs import frozen


@frozen
class TrainingResult:
    """The outcome of a training run: steps taken, the smoothed loss, one record per evaluation, and the cost.

    ``seconds`` is the time of the optimizer steps alone (forward, backward, update), including those before a resume. It excludes
    reading and padding text, stop rules, evaluation and checkpoints. ``earlier_seconds`` is the total time in the loop before the resume.
    ``parameters`` is the number of trained parameters. ``processes`` has the number of processes that trained together, and one more for
    each time that the training was resumed with another number.
    """

    steps: int
    loss: float
    history: list[dict[str, float]]
    seconds: float
    earlier_seconds: float
    parameters: int
    processes: list[int]

    def made_by(self) -> dict[str, Any]:
        """Return ``processes`` as an entry of the result, which has none if the training never had more than one."""
        return {"processes": self.processes} if max(self.processes, default=1) > 1 else {}
