"""Hard-concrete masks: a stochastic gate for each weight, trained while the weights are frozen.

RobusT (Zheng et al., 2022, Eq. 1-5) with the hard-concrete distribution of Louizos et al. (2018).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.backbone.device import generator_device
from ticketlab.core.setting_values import parse_ratio, settings_of
from ticketlab.core.settings import setting
from ticketlab.pruners.base import Pruner, Search, weight_units
from ticketlab.pruners.gate_penalty import FixedPenalty, GatePenalty, Lagrangian
from ticketlab.pruners.gates import Gates, weight_gates
from ticketlab.tickets.draw import group_of
from ticketlab.training.plan import TrainingPlan

LOW, HIGH = -0.1, 1.1
"""The interval that the concrete variable is stretched to: gamma and zeta in the paper."""
MARGIN = 1e-4
"""Uniform noise is kept this far from 0 and 1."""
EPSILON = 1e-15
"""Adam's epsilon of gates with a target. It is far below any gradient, so that the gates of the smallest weights move as well; squares of
gradients of this size are still normal 32-bit floats."""
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

    target: float | None = setting(
        None,
        above=0,
        below=1,
        unit="fraction",
        converter=parse_ratio,
        added_later=True,
        help="expected share of open gates (R) to reach, of each group of units, by a Lagrangian; none: a fixed penalty, as in the paper",
    )
    target_warmup: float = setting(
        0.8,
        at_least=0,
        at_most=1,
        unit="fraction of the steps",
        added_later=True,
        help="lower the target linearly, from the initial share of open gates, over this fraction of the search",
    )
    multiplier_lr: float = setting(0.3, above=0, added_later=True, help="learning rate of the multipliers of the target (lambda1, lambda2)")
    multiplier_start: float = setting(100.0, at_least=0, added_later=True, help="initial multiplier of the squared distance (lambda2)")

    @property
    def learns_at_rate(self) -> bool:
        """False: the gates have their own learning rate."""
        return False

    def unused(self) -> dict[str, str]:
        """Return the penalties if there is a target, else the settings of the target; see :meth:`Pruner.unused`."""
        if self.target is None:
            return dict.fromkeys(("target_warmup", "multiplier_lr", "multiplier_start"), "there is no `target`")
        penalties = [field.name for field in settings_of(type(self)) if field.name == "penalty" or field.name.endswith("_penalty")]
        return dict.fromkeys((*penalties, "penalty_ramp"), "`target` replaces the penalty by a Lagrangian")

    def gate_penalty(self, penalty: float, steps: int) -> GatePenalty:
        """Return the penalty of a group of units in a search of ``steps`` steps; ``penalty`` is its lambda, which a target replaces."""
        if self.target is None:
            return FixedPenalty(penalty, self.penalty_ramp * steps)
        start = float(open_probability(torch.tensor(location_of(self.init_gate)), self.temperature))
        warmup, rate = self.target_warmup * steps, self.multiplier_lr
        return Lagrangian(start=start, target=self.target, warmup=warmup, rate=rate, lambda2=self.multiplier_start)


@frozen
class HardConcrete(HardConcretePruner):
    """One gate per weight of the encoder's matrices. Gates are sampled once per optimizer step and used in all its passes.

    Minimises the objective + penalty x R over the gates' locations (log alpha), where R is the expected fraction of open gates (Eq. 4).
    ``reduction="elements"`` averages R over all gates, as in the paper. ``"matrices"`` averages the means of the matrices, as in the
    published code; a gate of a small matrix then has a larger gradient than one of a large matrix. The setting ``clip_penalty`` of the
    search decides whether R's gradient is clipped together with that of the objective.

    With a ``target``, the search minimises the objective + c (lambda1 (R - t) + lambda2 (R - t)^2) instead, where t falls from the
    initial R to the target, the multipliers are trained to maximise this (Wang et al., 2020), and c is the sum of the absolute gradients
    of the objective over the gates, so that the multipliers depend neither on the number of gates nor on the size of the loss.
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

    ``penalties`` has lambda for each group of units, and ``shares`` the weight of one gate in the R of its group.
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
        self._step = 0
        self._gates = gates
        self._penalties = {group: settings.gate_penalty(penalty, plan.steps) for group, penalty in penalties.items()}
        self._shares = shares
        self._slopes: dict[str, Tensor] = {}
        start = location_of(settings.init_gate)
        self.log_alpha = {name: nn.Parameter(own.filled(start)) for name, own in gates.items()}
        self._generator = torch.Generator(generator_device(next(iter(self.log_alpha.values())).device)).manual_seed(plan.seed)
        self._passes = 0
        self._first_noise: Tensor | None = None

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the gates' locations as one optimizer group."""
        own = {} if self._settings.target is None else {"eps": EPSILON}
        return [{"params": list(self.log_alpha.values()), "lr": self._settings.lr, **own}]

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
        """Add the gradient of R, times its weight in this step."""
        for group, penalty in self._penalties.items():
            weight = penalty.weight(self._step, functools.partial(self._measure, group))
            for name, log_alpha in self._of_group(group).items():
                opened = open_probability(log_alpha, self._settings.temperature)
                slope = torch.addcmul(opened, opened, opened, value=-1)
                gradient = torch.zeros_like(log_alpha) if log_alpha.grad is None else log_alpha.grad
                log_alpha.grad = gradient.add_(slope, alpha=weight * self._shares[name])

    def metrics(self) -> dict[str, float]:
        """Return :data:`METRICS` for each group of units: R, without its weight, and the gates that are exactly 0 and 1.

        With a target also its present value and the multipliers.
        """
        found: dict[str, float] = {}
        for group, penalty in self._penalties.items():
            gates = torch.cat([deterministic_gate(log_alpha.detach()).flatten() for log_alpha in self._of_group(group).values()])
            numbers = (self._share(group), float((gates == 0).float().mean()), float((gates == 1).float().mean()))
            found |= dict(zip(METRICS[group], numbers, strict=True))
            prefix = "" if group == "weights" else f"{group}_"
            found |= {f"{prefix}{name}": value for name, value in penalty.metrics().items()}
        return found

    def unmet(self) -> str | None:
        """Return which targets the search has missed; see :meth:`Search.unmet`."""
        shares = {group: self._share(group) for group in self._penalties}
        missed = [
            f"{share:.3g} of the gates{'' if group == 'weights' else f' of {group}'} are open, and the target is {target:g}"
            for group, share in shares.items()
            if (target := self._penalties[group].missed(share)) is not None
        ]
        return f"in the end {'; '.join(missed)}; a longer search follows its target more closely" if missed else None

    def state_dict(self) -> dict[str, Tensor]:
        """Return the state of the noise generator and of the penalties. The locations are in the optimizer's groups."""
        of_penalties = {
            f"{group}.{name}": value for group, penalty in self._penalties.items() for name, value in penalty.state_dict().items()
        }
        return {"generator": self._generator.get_state(), **of_penalties}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the state of the noise generator and of the penalties."""
        self._generator.set_state(state["generator"].cpu())
        for group, penalty in self._penalties.items():
            prefix = f"{group}."
            penalty.load_state_dict({name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)})

    def scores(self) -> Mapping[str, Tensor]:
        """Return the locations (log alpha), copied."""
        return {name: log_alpha.detach().to("cpu", copy=True) for name, log_alpha in self.log_alpha.items()}

    def close(self) -> None:
        """Remove the gates. The weights are unchanged."""
        for gates in self._gates.values():
            gates.remove()

    def _of_group(self, group: str) -> dict[str, nn.Parameter]:
        return {name: log_alpha for name, log_alpha in self.log_alpha.items() if group_of(name) == group}

    @torch.no_grad()
    def _share(self, group: str) -> float:
        """Return R of a group of units."""
        opened = {name: open_probability(log_alpha, self._settings.temperature) for name, log_alpha in self._of_group(group).items()}
        return sum(float(part.sum()) * self._shares[name] for name, part in opened.items())

    def _measure(self, group: str) -> tuple[float, float]:
        """Return R of a group of units, and the sum of the absolute gradients that its gates have."""
        gradients = [log_alpha.grad for log_alpha in self._of_group(group).values() if log_alpha.grad is not None]
        return self._share(group), sum(float(torch.linalg.vector_norm(gradient, ord=1)) for gradient in gradients)

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
