"""The weight of the expected share of open gates in the gradient of a search: fixed, or that of a Lagrangian which aims at a share.

The Lagrangian is that of Wang, Wohlwend and Lei (2020, FLOP, https://arxiv.org/abs/1910.04732), as used by Xia, Zhong and Chen (2022, CoFi,
https://aclanthology.org/2022.acl-long.107). Its scale is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

DECAY = 0.99
"""Of the running mean of the size of the loss's gradient."""
TOLERANCE = 0.05
"""A search that ends further than this from its target has missed it."""

Measure = Callable[[], tuple[float, float]]
"""Returns the expected share of open gates, and the sum of the absolute gradients of the loss over the gates."""


class GatePenalty:
    """What the gradient of the expected share of open gates of one group is multiplied by in each step."""

    def weight(self, step: int, measure: Measure) -> float:
        """Return the weight in optimizer step ``step``, counted from 0. Called once a step, before the gates are updated."""
        raise NotImplementedError

    def metrics(self) -> dict[str, float]:
        """Return what changes during the search, as it was in the last step."""
        return {}

    def state_dict(self) -> dict[str, Tensor]:
        """Return what the next step depends on."""
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore what :meth:`state_dict` returned."""

    def missed(self, share: float) -> float | None:
        """Return the target that a search missed which ends with ``share``; None if it has none or met it."""
        return None


class FixedPenalty(GatePenalty):
    """A fixed weight lambda, raised linearly from 0 over the first ``ramp`` steps."""

    def __init__(self, penalty: float, ramp: float) -> None:
        self._penalty = penalty
        self._ramp = ramp

    def weight(self, step: int, measure: Measure) -> float:
        """Return lambda, or the part of it that the ramp has reached."""
        return self._penalty * (min(1.0, (step + 1) / self._ramp) if self._ramp > 0 else 1.0)


class Lagrangian(GatePenalty):
    """L = lambda1 (s - t) + lambda2 (s - t)^2 in units of the loss's gradient, where s is the expected share of open gates.

    t falls linearly from ``start`` to ``target`` over the first ``warmup`` steps. The gates minimise the loss + c L, and the multipliers
    maximise L, by Adam at ``rate``, after the gates' gradient has been computed with the present ones. c is the sum of the absolute
    gradients of the loss over the gates, as a running mean over the steps. The gradient of c s for a gate is then the mean absolute
    gradient of the loss times the slope of the gate's P(m != 0): it neither shrinks with the number of gates nor with the loss, so the same
    multipliers serve every model.

    ``lambda2`` is the initial value of lambda2; lambda1 is initially 0. Numbers are 64-bit floats on the CPU, the same in each process.
    """

    def __init__(self, *, start: float, target: float, warmup: float, rate: float, lambda2: float) -> None:
        self._start = start
        self._target = target
        self._warmup = warmup
        self._aim = start
        self._scale = torch.zeros(2, dtype=torch.float64)  # the weighted sum of the running mean, and the sum of its weights
        self._multipliers = torch.tensor([0.0, lambda2], dtype=torch.float64)
        self._optimizer = torch.optim.Adam([self._multipliers], lr=rate, maximize=True)

    def target_at(self, step: int) -> float:
        """Return t in a step."""
        done = min(1.0, (step + 1) / self._warmup) if self._warmup > 0 else 1.0
        return self._start + (self._target - self._start) * done

    def weight(self, step: int, measure: Measure) -> float:
        """Return c dL/ds = c (lambda1 + 2 lambda2 (s - t)), and take a step of the multipliers."""
        share, size = measure()
        self._aim = self.target_at(step)
        self._scale = DECAY * self._scale + (1 - DECAY) * torch.tensor([size, 1.0], dtype=torch.float64)
        excess = share - self._aim
        slope = float(self._multipliers[0] + 2 * self._multipliers[1] * excess)
        self._multipliers.grad = torch.tensor([excess, excess**2], dtype=torch.float64)
        self._optimizer.step()
        return float(self._scale[0] / self._scale[1]) * slope

    def metrics(self) -> dict[str, float]:
        """Return t and the multipliers."""
        linear, quadratic = self._multipliers.tolist()
        return {"target": self._aim, "lambda1": linear, "lambda2": quadratic}

    def state_dict(self) -> dict[str, Tensor]:
        """Return the multipliers, the state of their optimizer, the running mean, and t."""
        state = {"multipliers": self._multipliers, "scale": self._scale, "aim": torch.tensor([self._aim], dtype=torch.float64)}
        return state | {f"adam_{name}": value for name, value in self._optimizer.state[self._multipliers].items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore what :meth:`state_dict` returned."""
        own = {name: value.cpu().clone() for name, value in state.items()}
        self._multipliers.copy_(own["multipliers"])
        self._scale, self._aim = own["scale"], float(own["aim"])
        adam = {name.removeprefix("adam_"): value for name, value in own.items() if name.startswith("adam_")}
        if adam:
            self._optimizer.state[self._multipliers] = adam

    def missed(self, share: float) -> float | None:
        """Return the target if ``share`` is more than :data:`TOLERANCE` away from it."""
        return self._target if abs(share - self._target) > TOLERANCE else None
