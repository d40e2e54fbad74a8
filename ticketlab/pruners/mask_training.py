"""Mask training: a real-valued mask for each weight, binarized by a threshold, trained while the weights are frozen.

SRNets (Liu et al., 2022, supplement, Algorithm 2), after Mallya et al. (2018) and Zhao et al. (2020).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.core.errors import SettingError
from ticketlab.core.setting_values import parse_ratio
from ticketlab.core.settings import ratio, setting
from ticketlab.pruners.base import Pruner, Search, sparsity_metrics, weight_units
from ticketlab.pruners.gates import Gates, weight_gates
from ticketlab.pruners.schedule import cubic, step_at
from ticketlab.pruners.sizes import weight_sizes
from ticketlab.tickets.draw import SCOPES, Scope, draw, group_of, removed_count
from ticketlab.training.plan import TrainingPlan


@frozen
class MaskTrainingPruner(Pruner):
    """The settings that masks have whatever they are of: weights, or heads and neurons."""

    needs_sparsity: ClassVar[bool] = True
    leaves_model: ClassVar[bool] = True
    has_penalty: ClassVar[bool] = False

    lr: float | None = setting(None, above=0, help="learning rate of the masks; none: that of the stage, as in the paper")
    initial: Literal["hard", "soft"] = setting(
        "hard",
        choices=("hard", "soft"),
        help="initial masks: 0 or alpha x phi by magnitude, or the magnitudes themselves",
    )
    alpha: float = setting(2.0, at_least=1, help="initial masks of what is kept in multiples of phi, if hard (alpha)")
    phi: float = setting(0.01, above=0, help="threshold until the first update, if hard (phi)")
    threshold_steps: int = setting(100, at_least=1, unit="steps", help="steps between two updates of the thresholds")
    initial_sparsity: float | None = ratio(None, help="initial sparsity, which then rises by a cubic schedule; none: the sparsity is fixed")
    schedule_end: float = setting(
        1.0,
        above=0,
        at_most=1,
        unit="fraction of the steps",
        converter=parse_ratio,
        help="part of the search in which the sparsity rises",
    )
    scope: Scope = setting("local", choices=SCOPES, help="one threshold for all matrices, or one per matrix")

    @property
    def learns_at_rate(self) -> bool:
        """Whether the masks are trained at the stage's learning rate."""
        return self.lr is None

    def unused(self) -> dict[str, str]:
        """Return the settings of hard masks if the initial ones are soft, and of a schedule without one; see :meth:`Pruner.unused`."""
        found = {} if self.initial == "hard" else dict.fromkeys(("alpha", "phi"), "the initial masks are the magnitudes themselves")
        if self.initial_sparsity is None and self.schedule_end != 1:  # the default stays in the keys, so earlier results stay valid
            found["schedule_end"] = "there is no `initial_sparsity`, so the sparsity does not rise"
        return found

    def ranks(self) -> Scope:
        """Return the scope of the thresholds."""
        return self.scope

    def check(self, sparsity: float) -> None:
        """Check that the sparsity does not have to fall; see :meth:`Pruner.check`."""
        if self.initial_sparsity is not None and self.initial_sparsity > sparsity:
            raise SettingError(f"initial_sparsity: {self.initial_sparsity:g} is more than the requested sparsity, {sparsity:g}")


@frozen
class MaskTraining(MaskTrainingPruner):
    """A weight is kept if its mask is at least the threshold. The gradient of the mask is that of the masked weight, times the weight.

    Thresholds are set to meet the sparsity; between two updates the sparsity drifts. Weights whose mask equals the threshold are kept, so
    if many are equal, fewer weights are removed during the search. The ticket drawn at the end has the exact count. So do the tickets
    that are evaluated on the development examples: they are drawn at the final sparsity even while the schedule is still rising, so
    evaluations at different times are comparable and any of them may be selected as the best.
    """

    name: ClassVar[str] = "mask-training"
    summary: ClassVar[str] = "train a mask of the weights, with the weights frozen"
    paper: ClassVar[str] = "Liu et al., 2022, https://arxiv.org/abs/2210.05211"
    version: ClassVar[int] = 2

    pooler: bool = setting(False, help="mask the pooler's matrix too, as the published code does")
    classifier: bool = setting(True, help="mask the classifier's matrix too, as the paper does")

    def groups(self) -> tuple[str, ...]:
        """Return the only group: single weights."""
        return ("weights",)

    def begin(self, plan: TrainingPlan) -> MaskTrainingSearch:
        """Put a mask on each weight of the backbone.

        :raises SettingError: the sparsity would have to fall.
        """
        names = weight_units(plan.backbone, pooler=self.pooler, classifier=self.classifier)
        return MaskTrainingSearch(self, plan, weight_gates(plan.backbone, names), weight_sizes(plan.backbone, names))


def lowest_kept(pool: Tensor, removed: int) -> float:
    """Return the lowest value that is kept when the ``removed`` lowest values of ``pool`` are removed. ``pool`` is overwritten."""
    if removed in (0, len(pool)):
        return -math.inf if removed == 0 else math.inf
    if pool.device.type != "cpu":
        return float(pool.kthvalue(removed + 1).values)
    values = pool.numpy()
    values.partition(removed)  # five to ten times faster than torch's kthvalue or topk
    return float(values[removed])


def head_thresholds(part: Mapping[str, Tensor], removed: int) -> dict[str, float]:
    """Return a threshold for each layer of ``part``, which remove the ``removed`` lowest heads and none that is the best of its layer."""
    by_layer = {name: heads.sort().values for name, heads in part.items()}
    threshold = lowest_kept(torch.cat([heads[:-1] for heads in by_layer.values()]), removed)
    return {name: min(threshold, float(heads[-1])) if len(heads) else threshold for name, heads in by_layer.items()}


class MaskTrainingSearch(Search):
    """Trains real-valued masks. The gradient of a gate, which is 0 or 1, is passed straight to its mask.

    ``sizes`` are the magnitudes of the units that the gates are on. Each update of the thresholds keeps the best head of every layer.

    :raises SettingError: the sparsity would have to fall.
    """

    def __init__(self, settings: MaskTrainingPruner, plan: TrainingPlan, gates: Mapping[str, Gates], sizes: Mapping[str, Tensor]) -> None:
        self._settings = settings
        self._gates = gates
        self._target = {group: plan.sparsity_of(group) for group in settings.groups()}
        for target in self._target.values():
            settings.check(target)
        self._first = dict.fromkeys(self._target, settings.initial_sparsity) if settings.initial_sparsity is not None else self._target
        self._end = max(1, step_at(1.0 if settings.initial_sparsity is None else settings.schedule_end, plan.steps))
        self._thresholds = dict.fromkeys(sizes, settings.phi)
        if settings.initial == "hard":
            kept = draw(sizes, self._first, settings.scope)
            sizes = {name: kept[name].to(size).mul_(settings.alpha * settings.phi) for name, size in sizes.items()}
        self.masks = {name: nn.Parameter(size) for name, size in sizes.items()}
        if settings.initial == "soft":
            self._set_thresholds(self._first)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the masks as one optimizer group without weight decay."""
        rate = {} if self._settings.lr is None else {"lr": self._settings.lr}
        return [{"params": list(self.masks.values()), "weight_decay": 0.0, **rate}]

    @torch.no_grad()
    def on_step_start(self, step: int) -> None:
        """Mask the weights for all passes of the step."""
        for name, gates in self._gates.items():
            mask = self.masks[name]
            gates.multiply(torch.ge(mask, self._thresholds[name], out=torch.empty_like(mask)))

    @torch.no_grad()
    def on_after_backward(self) -> None:
        """Propagate the gradients of the masked weights to the masks."""
        for name, gates in self._gates.items():
            gradient = gates.gradient()
            if gradient is not None:
                mask = self.masks[name]
                mask.grad = gradient if mask.grad is None else mask.grad.add_(gradient)

    def on_step_end(self, step: int) -> bool:
        """Update the thresholds if it is due, or at the end of the schedule."""
        done = step + 1
        if done % self._settings.threshold_steps == 0 or done == self._end:
            self._set_thresholds({group: cubic(self._first[group], target, done / self._end) for group, target in self._target.items()})
        return False

    def state_dict(self) -> dict[str, Tensor]:
        """Return the thresholds. The masks are in the optimizer's groups."""
        return {"thresholds": torch.tensor(list(self._thresholds.values()), dtype=torch.float64)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the thresholds."""
        self._thresholds = dict(zip(self._thresholds, state["thresholds"].tolist(), strict=True))

    def metrics(self) -> dict[str, float]:
        """Return the fraction of the units of each group that the current thresholds remove."""
        return sparsity_metrics({name: mask >= self._thresholds[name] for name, mask in self.masks.items()})

    def scores(self) -> Mapping[str, Tensor]:
        """Return the real-valued masks, copied."""
        return {name: mask.detach().to("cpu", copy=True) for name, mask in self.masks.items()}

    def close(self) -> None:
        """Remove the masks. The weights are unchanged."""
        for gates in self._gates.values():
            gates.remove()

    def _set_thresholds(self, sparsities: Mapping[str, float]) -> None:
        together = self._settings.scope == "global"
        for group, sparsity in sparsities.items():
            masks = {name: mask.detach().flatten() for name, mask in self.masks.items() if group_of(name) == group}
            for part in [masks] if together else [{name: mask} for name, mask in masks.items()]:
                removed = removed_count(sparsity, sum(mask.numel() for mask in part.values()))
                if group == "heads":
                    self._thresholds |= head_thresholds(part, removed)
                else:
                    self._thresholds |= dict.fromkeys(part, lowest_kept(torch.cat(list(part.values())), removed))
