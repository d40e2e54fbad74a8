"""A stop rule in the training loop: when it looks, what it saw, and how it goes on after a kill."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ticketlab.core.callback import Callback
from ticketlab.core.formatting import counted
from ticketlab.stop_rules.base import Observation, StopRule


class StopRuleCallback(Callback):
    """Lets ``rule`` look at the end of every mini-epoch, and keeps what it saw."""

    def __init__(
        self,
        rule: StopRule,
        *,
        steps_per_epoch: int,
        scores: Callable[[], Mapping[str, Tensor]],
        development: Callable[[], float],
        log: Callable[[dict[str, Any]], None],
    ) -> None:
        self._rule = rule
        self._monitor = rule.start_monitor()
        self._steps_per_epoch = steps_per_epoch
        self._scores = scores
        self._development = development
        self._log = log
        self.looks: list[dict[str, float]] = []
        self.stopped = False

    def on_step_end(self, step: int) -> bool:
        """Look, if a mini-epoch has just ended."""
        if not self._due(step + 1):
            return False
        epoch = (step + 1) / self._steps_per_epoch
        self.stopped = self._monitor.observe(Observation(step + 1, epoch, self._scores, self._development))
        seen = self._monitor.seen()
        if seen:
            self.looks.append(_record({"step": step + 1, **seen}))
            self._log({"event": "look", "rule": self._rule.name, "epoch": epoch, **self.looks[-1]})
        return self.stopped

    def _due(self, steps: int) -> bool:
        """Say whether a mini-epoch ends with this many steps; where it is shorter than a step, each step ends one."""
        length = self._rule.interval * self._steps_per_epoch
        if length <= 1:
            return True
        return math.floor(steps / length + 1e-9) > math.floor((steps - 1) / length + 1e-9)

    def state_dict(self) -> dict[str, Tensor]:
        """Return what the watch remembers, and what it saw."""
        columns = sorted({key for look in self.looks for key in look})
        seen = {f"looks/{key}": torch.tensor([look.get(key, float("nan")) for look in self.looks], dtype=torch.float64) for key in columns}
        return {**{f"watch/{name}": value for name, value in self._monitor.state_dict().items()}, **seen}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take it back."""
        self._monitor.load_state_dict({name.removeprefix("watch/"): value for name, value in state.items() if name.startswith("watch/")})
        columns = {name.removeprefix("looks/"): value.tolist() for name, value in state.items() if name.startswith("looks/")}
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        self.looks = [_record({key: value for key, value in row.items() if not math.isnan(value)}) for row in rows]

    def drawn(self) -> tuple[int, Mapping[str, Tensor]] | None:
        """Return the step and the scores to draw from where the rule ended the search and means those of an earlier look."""
        return self._monitor.drawn() if self.stopped else None

    def report(self) -> dict[str, Any]:
        """Return what the result of the stage says about it."""
        drawn = self.drawn()
        return {"rule": self._rule.name, "stopped": self.stopped, "looks": self.looks, **({"drawn_at": drawn[0]} if drawn else {})}

    def ending(self, steps: int) -> str | None:
        """Return what to say of a search that the rule ended after so many steps; None where it did not."""
        if not self.stopped:
            return None
        drawn = self.drawn()
        at = f"; the ticket is that of step {drawn[0]}" if drawn else ""
        return f"the stop rule `{self._rule.name}` ended it after step {steps} ({steps / self._steps_per_epoch:.2f} epochs){at}"

    def unmet(self, search: str, steps: int) -> str | None:
        """Return what to warn of, with the last looks, if the rule of the stage ``search`` waited for something that never came."""
        if self.stopped or not self._rule.waits:
            return None
        last = "; ".join(_words(look) for look in self.looks[-3:]) or "it never had anything to compare"
        return (
            f"the stop rule `{self._rule.name}` never held in {counted(steps, 'step')}; the ticket is that of the last step "
            f"({last}). Raise {search}.epochs, or loosen {search}.stop"
        )


def _record(look: Mapping[str, float]) -> dict[str, float]:
    """Return a look as it is written down: the same before and after it has been in a checkpoint."""
    return {key: int(look[key]) if float(look[key]).is_integer() else look[key] for key in ["step", *sorted(look.keys() - {"step"})]}


def _words(look: Mapping[str, float]) -> str:
    numbers = ", ".join(f"{key} {value:.3g}" for key, value in look.items() if key != "step")
    return f"step {look['step']}: {numbers}"
