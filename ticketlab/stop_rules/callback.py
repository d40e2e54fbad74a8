"""The callback that runs a stop rule in the training loop: schedules observations, logs them and restores them on resume."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from ticketlab.core.callback import Callback
from ticketlab.core.formatting import counted
from ticketlab.stop_rules.base import Monitor, Observation, StopRule

if TYPE_CHECKING:
    from torch.optim import Optimizer


class StopRuleCallback(Callback):
    """Passes ``rule`` an observation at the end of every mini-epoch, and keeps a record of each."""

    observes: ClassVar[bool] = True

    def __init__(
        self,
        rule: StopRule,
        monitor: Monitor,
        *,
        steps_per_epoch: int,
        scores: Callable[[], Mapping[str, Tensor]],
        development: Callable[[], float],
        log: Callable[[dict[str, Any]], None],
    ) -> None:
        self._rule = rule
        self._monitor = monitor
        self._steps_per_epoch = steps_per_epoch
        self._scores = scores
        self._development = development
        self._log = log
        self.observations: list[dict[str, float]] = []
        self.stopped = False

    def nested(self) -> Sequence[Callback]:
        """Return the callbacks that the monitor uses."""
        return self._monitor.nested()

    def on_train_start(self, optimizer: Optimizer) -> None:
        """Pass it on to the monitor."""
        self._monitor.on_train_start(optimizer)

    def on_step_start(self, step: int) -> None:
        """Pass it on to the monitor."""
        self._monitor.on_step_start(step)

    def on_pass_start(self, index: int) -> None:
        """Pass it on to the monitor."""
        self._monitor.on_pass_start(index)

    def on_after_backward(self) -> None:
        """Pass it on to the monitor."""
        self._monitor.on_after_backward()

    def on_step_end(self, step: int) -> bool:
        """Make an observation if a mini-epoch has just ended. Return whether the rule ends the search."""
        if self._monitor.on_step_end(step):
            self.stopped = True
        if self.stopped or not ends_mini_epoch(step + 1, self._rule.interval * self._steps_per_epoch):
            return self.stopped
        epoch = (step + 1) / self._steps_per_epoch
        self.stopped = self._monitor.observe(Observation(step + 1, epoch, self._scores, self._development))
        metrics = self._monitor.metrics()
        if metrics:
            self.observations.append(_record({"step": step + 1, **metrics}))
            self._log({"event": "look", "rule": self._rule.name, "epoch": epoch, **self.observations[-1]})
        return self.stopped

    def state_dict(self) -> dict[str, Tensor]:
        """Return the monitor's state (``watch/``) and the records of all observations (``looks/``), one tensor per number."""
        columns = sorted({key for record in self.observations for key in record})
        records = {
            f"looks/{key}": torch.tensor([record.get(key, float("nan")) for record in self.observations], dtype=torch.float64)
            for key in columns
        }
        return {**{f"watch/{name}": value for name, value in self._monitor.state_dict().items()}, **records}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore what :meth:`state_dict` returned."""
        self._monitor.load_state_dict({name.removeprefix("watch/"): value for name, value in state.items() if name.startswith("watch/")})
        columns = {name.removeprefix("looks/"): value.tolist() for name, value in state.items() if name.startswith("looks/")}
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        self.observations = [_record({key: value for key, value in row.items() if not math.isnan(value)}) for row in rows]

    def draw_from(self) -> tuple[int, Mapping[str, Tensor]] | None:
        """Return the step and the scores to draw from if the rule ended the search and chose an earlier observation, else None."""
        return self._monitor.draw_from() if self.stopped else None

    def report(self) -> dict[str, Any]:
        """Return the entry of the stage's result."""
        earlier = self.draw_from()
        return {
            "rule": self._rule.name,
            "stopped": self.stopped,
            "looks": self.observations,
            **({"drawn_at": earlier[0]} if earlier else {}),
        }

    def ending(self, steps: int) -> str | None:
        """Return a message for a search that the rule ended after ``steps`` steps; None if it did not."""
        if not self.stopped:
            return None
        earlier = self.draw_from()
        drawn_at = f"; the ticket is drawn at step {earlier[0]}" if earlier else ""
        return f"the stop rule `{self._rule.name}` ended it after step {steps} ({steps / self._steps_per_epoch:.2f} epochs){drawn_at}"

    def unmet(self, search: str, steps: int) -> str | None:
        """Return a warning with the last observations if the rule's condition was never met; None otherwise.

        ``search`` is the name of the stage.
        """
        if self.stopped or not self._rule.waits:
            return None
        last = "; ".join(_summary(record) for record in self.observations[-3:]) or "it never had anything to compare"
        return (
            f"the stop rule `{self._rule.name}` did not end the search in {counted(steps, 'step')}; the ticket is drawn at the last step "
            f"({last}). Raise {search}.epochs, or loosen {search}.stop"
        )


def ends_mini_epoch(steps: int, length: float) -> bool:
    """Return whether a mini-epoch of ``length`` steps ends after this many steps. If it is shorter than a step, every step ends one."""
    if length <= 1:
        return True
    return math.floor(steps / length + 1e-9) > math.floor((steps - 1) / length + 1e-9)


def _record(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers of an observation in a form that is the same before and after a checkpoint: sorted, whole numbers as int."""
    keys = ["step", *sorted(metrics.keys() - {"step"})]
    return {key: int(metrics[key]) if float(metrics[key]).is_integer() else metrics[key] for key in keys}


def _summary(record: Mapping[str, float]) -> str:
    numbers = ", ".join(f"{key} {value:.3g}" for key, value in record.items() if key != "step")
    return f"step {record['step']}: {numbers}"
