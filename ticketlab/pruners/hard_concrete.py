"""Hard-concrete masks: a stochastic gate for each weight, trained while the weights are frozen.

RobusT (Zheng et al., 2022, Eq. 1-5) with the hard-concrete distribution of Louizos et al. (2018).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.backbone.device import generator_device
from ticketlab.core.settings import setting
from ticketlab.pruners.base import Pruner, Search, weight_units
from ticketlab.pruners.gates import Gates, weight_gates
from ticketlab.tickets.draw import group_of
from ticketlab.training.plan import TrainingPlan

LOW, HIGH = -0.1, 1.1
"""The interval that the concrete variable is stretched to: gamma and zeta in the paper."""
MARGIN = 1e-4
"""Uniform noise is kept this far from 0 and 1."""
METRICS = {
    "weights": ("penalty", "gates_at_zero", "gates_at_one"),
    "heads": ("heads_open", "heads_at_zero", "heads_at_one"),
    "neurons": ("neurons_open", "neurons_at_zero", "neurons_at_one"),
}
"""The names of R, and of the fractions of deterministic gates that are exactly 0 and 1, by group of units."""


@frozen
class HardConcretePruner(Pruner):
    """The settings that gates have whatever they are on: weights, or heads and neurons."""

    lr: float = setting(0.1, above=0, help="learning rate of the gates' locations")
    penalty_ramp: float = setting(
        0.0, at_least=0, at_most=1, unit="fraction of the steps", help="raise the penalty linearly from 0 over this fraction of the search"
    )
    temperature: float = setting(2 / 3, above=0, help="temperature of the concrete distribution (beta)")
    init_gate: float = setting(0.9, above=0, below=1, help="value of every deterministic gate at the start")
    resample: Literal["step", "pass"] = setting(
        "step", choices=("step", "pass"), help="sample the gates once per optimizer step, or again in each of its passes"
    )

    @property
    def learns_at_rate(self) -> bool:
        """False: the gates have their own learning rate."""
        return False


@frozen
class HardConcrete(HardConcretePruner):
    """One gate per weight of the encoder's matrices. Gates are sampled once per optimizer step and used in all its passes.

    Minimises the objective + penalty x R over the gates' locations (log alpha), where R is the expected fraction of open gates (Eq. 4).
    ``reduction="elements"`` averages R over all gates, as in the paper. ``"matrices"`` averages the means of the matrices, as in the
    published code; a gate of a small matrix then has a larger gradient than one of a large matrix. The setting ``clip_penalty`` of the
    search decides whether R's gradient is clipped together with that of the objective.
    """

    name: ClassVar[str] = "hard-concrete"
    summary: ClassVar[str] = "train a stochastic gate per weight, with the weights frozen"
    paper: ClassVar[str] = "Zheng et al., 2022, https://aclanthology.org/2022.acl-long.157"

    penalty: float = setting(0.5, at_least=0, help="weight of the expected fraction of open gates in the loss (lambda)")
    reduction: Literal["elements", "matrices"] = setting(
        "elements", choices=("elements", "matrices"), help="average R over all gates (Eq. 4), or over the means of the matrices"
    )
    pooler: bool = setting(False, help="prune the pooler's matrix too, as the published code does")

    def groups(self) -> tuple[str, ...]:
        """Return the only group: single weights."""
        return ("weights",)

    def begin(self, plan: TrainingPlan) -> HardConcreteSearch:
        """Put a gate on each weight of the backbone."""
        gates = weight_gates(plan.backbone, weight_units(plan.backbone, pooler=self.pooler))
        sizes = {name: math.prod(own.shape) for name, own in gates.items()}
        return HardConcreteSearch(self, plan, gates, {"weights": self.penalty}, shares(sizes, self.reduction))


def location_of(gate: float) -> float:
    """Return the log alpha whose deterministic gate (Eq. 5) is ``gate``."""
    inner = (gate - LOW) / (HIGH - LOW)
    return math.log(inner / (1 - inner))


def deterministic_gate(log_alpha: Tensor) -> Tensor:
    """Return the gate without noise (Eq. 5), in [0, 1]."""
    return (torch.sigmoid(log_alpha) * (HIGH - LOW) + LOW).clamp(0, 1)


def open_probability(log_alpha: Tensor, temperature: float) -> Tensor:
    """Return P(m != 0), the summand of R (Eq. 4)."""
    return torch.sigmoid(log_alpha - temperature * math.log(-LOW / HIGH))


def sample_gate(log_alpha: Tensor, noise: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Return gates for uniform ``noise`` (Eq. 1-3), and their derivatives with respect to log alpha. ``noise`` is overwritten."""
    concrete = noise.logit_(eps=MARGIN).add_(log_alpha).div_(temperature).sigmoid_()
    stretched = concrete.mul(HIGH - LOW).add_(LOW)
    gate = stretched.clamp(0, 1)
    moving = stretched.eq_(gate).mul_((HIGH - LOW) / temperature)  # a clamped gate has no gradient
    return gate, torch.addcmul(concrete, concrete, concrete, value=-1).mul_(moving)


def shares(sizes: Mapping[str, int], reduction: str) -> dict[str, float]:
    """Return the weight of one gate in R, for each matrix. ``sizes`` are the numbers of gates of the matrices."""
    if reduction == "matrices":
        return {name: 1 / (len(sizes) * size) for name, size in sizes.items()}
    return dict.fromkeys(sizes, 1 / sum(sizes.values()))


class HardConcreteSearch(Search):
    """Trains the locations of gates.

    ``penalties`` has the weight of R in the loss for each group of units, and ``shares`` that of one gate in the R of its group.
    """

    def __init__(
        self,
        settings: HardConcretePruner,
        plan: TrainingPlan,
        gates: Mapping[str, Gates],
        penalties: Mapping[str, float],
        shares: Mapping[str, float],
    ) -> None:
        self._settings = settings
        self._steps = plan.steps
        self._step = 0
        self._gates = gates
        self._penalties = penalties
        self._shares = shares
        self._slopes: dict[str, Tensor] = {}
        start = location_of(settings.init_gate)
        self.log_alpha = {name: nn.Parameter(own.filled(start)) for name, own in gates.items()}
        self._generator = torch.Generator(generator_device(next(iter(self.log_alpha.values())).device)).manual_seed(plan.seed)
        self._passes = 0
        self._first_noise: Tensor | None = None

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the gates' locations as one optimizer group."""
        return [{"params": list(self.log_alpha.values()), "lr": self._settings.lr}]

    def on_step_start(self, step: int) -> None:
        """Sample the gates of the step."""
        self._step = step
        for log_alpha in self.log_alpha.values():
            log_alpha.grad = None
        self._passes, self._first_noise = 0, self._generator.get_state()
        self._sample()

    def on_pass_start(self, index: int) -> None:
        """Sample new gates if each pass has its own. Passes of the same number, of several parts of the batch, have the same gates."""
        if self._settings.resample == "pass" and self._passes > 0:
            self._collect()
            if index == 0 and self._first_noise is not None:
                self._generator.set_state(self._first_noise)
            self._sample()
        self._passes += 1

    def on_step_end(self, step: int) -> bool:
        """Forget what belongs to the step."""
        self._passes, self._first_noise = 0, None
        return False

    def on_after_backward(self) -> None:
        """Propagate the gradients of the masked weights to the gates."""
        self._collect()

    @torch.no_grad()
    def add_penalty(self) -> None:
        """Add the gradient of penalty x R."""
        ramp = self._settings.penalty_ramp * self._steps
        ramped = min(1.0, (self._step + 1) / ramp) if ramp > 0 else 1.0
        for name, log_alpha in self.log_alpha.items():
            weight = self._penalties[group_of(name)] * ramped
            opened = open_probability(log_alpha, self._settings.temperature)
            slope = torch.addcmul(opened, opened, opened, value=-1)
            gradient = torch.zeros_like(log_alpha) if log_alpha.grad is None else log_alpha.grad
            log_alpha.grad = gradient.add_(slope, alpha=weight * self._shares[name])

    def metrics(self) -> dict[str, float]:
        """Return :data:`METRICS` for each group of units: R, without its weight lambda, and the gates that are exactly 0 and 1."""
        found: dict[str, float] = {}
        for group in self._penalties:
            own = {name: log_alpha.detach() for name, log_alpha in self.log_alpha.items() if group_of(name) == group}
            opened = {name: open_probability(log_alpha, self._settings.temperature) for name, log_alpha in own.items()}
            gates = torch.cat([deterministic_gate(log_alpha).flatten() for log_alpha in own.values()])
            numbers = (
                sum(float(part.sum()) * self._shares[name] for name, part in opened.items()),
                float((gates == 0).float().mean()),
                float((gates == 1).float().mean()),
            )
            found |= dict(zip(METRICS[group], numbers, strict=True))
        return found

    def state_dict(self) -> dict[str, Tensor]:
        """Return the state of the noise generator. The locations are in the optimizer's groups."""
        return {"generator": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the state of the noise generator."""
        self._generator.set_state(state["generator"].cpu())

    def scores(self) -> Mapping[str, Tensor]:
        """Return the locations (log alpha), copied."""
        return {name: log_alpha.detach().to("cpu", copy=True) for name, log_alpha in self.log_alpha.items()}

    def close(self) -> None:
        """Remove the gates. The weights are unchanged."""
        for gates in self._gates.values():
            gates.remove()

    @torch.no_grad()
    def _sample(self) -> None:
        for name, gates in self._gates.items():
            noise = torch.rand(gates.shape, generator=self._generator, device=self._generator.device).to(self.log_alpha[name].device)
            gate, self._slopes[name] = sample_gate(self.log_alpha[name], noise, self._settings.temperature)
            gates.multiply(gate)

    @torch.no_grad()
    def _collect(self) -> None:
        for name, gates in self._gates.items():
            gradient = gates.gradient(self._slopes[name])
            if gradient is not None:
                log_alpha = self.log_alpha[name]
                log_alpha.grad = gradient if log_alpha.grad is None else log_alpha.grad.add_(gradient)
