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

from ticketlab.backbone import masks
from ticketlab.backbone.backbone import Backbone
from ticketlab.core.errors import SettingError
from ticketlab.core.setting_values import parse_ratio
from ticketlab.core.settings import ratio, setting
from ticketlab.pruners.base import Pruner, Search, SearchPlan, weight_units
from ticketlab.pruners.schedule import cubic, step_at
from ticketlab.tickets.draw import SCOPES, Scope, draw, removed_count


@frozen
class MaskTraining(Pruner):
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
    needs_sparsity: ClassVar[bool] = True
    leaves_model: ClassVar[bool] = True
    has_penalty: ClassVar[bool] = False

    lr: float | None = setting(None, above=0, help="learning rate of the masks; none: that of the stage, as in the paper")
    initial: Literal["hard", "soft"] = setting(
        "hard",
        choices=("hard", "soft"),
        help="initial masks: 0 or alpha x phi by the weights' magnitudes, or the magnitudes themselves",
    )
    alpha: float = setting(2.0, at_least=1, help="initial masks of kept weights in multiples of phi, if hard (alpha)")
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
    pooler: bool = setting(False, help="mask the pooler's matrix too, as the published code does")
    classifier: bool = setting(True, help="mask the classifier's matrix too, as the paper does")

    @property
    def learns_at_rate(self) -> bool:
        """Whether the masks are trained at the stage's learning rate."""
        return self.lr is None

    def groups(self) -> tuple[str, ...]:
        """Return the only group: single weights."""
        return ("weights",)

    def ranks(self) -> Scope:
        """Return the scope of the thresholds."""
        return self.scope

    def check(self, sparsity: float) -> None:
        """Check that the sparsity does not have to fall; see :meth:`Pruner.check`."""
        if self.initial_sparsity is not None and self.initial_sparsity > sparsity:
            raise SettingError(f"initial_sparsity: {self.initial_sparsity:g} is more than the requested sparsity, {sparsity:g}")

    def attach(self, backbone: Backbone, plan: SearchPlan) -> MaskTrainingSearch:
        """Put a mask on each weight of ``backbone``.

        :raises SettingError: the sparsity would have to fall.
        """
        self.check(plan.sparsity)
        return MaskTrainingSearch(self, backbone, plan)


def lowest_kept(pool: Tensor, removed: int) -> float:
    """Return the lowest value that is kept when the ``removed`` lowest values of ``pool`` are removed. ``pool`` is overwritten."""
    if removed in (0, len(pool)):
        return -math.inf if removed == 0 else math.inf
    if pool.device.type != "cpu":
        return float(pool.kthvalue(removed + 1).values)
    values = pool.numpy()
    values.partition(removed)  # five to ten times faster than torch's kthvalue or topk
    return float(values[removed])


class MaskTrainingSearch(Search):
    """Masks the weights once per step. The passes see the product as a detached leaf; its gradient is passed straight to the masks."""

    def __init__(self, settings: MaskTraining, backbone: Backbone, plan: SearchPlan) -> None:
        self._settings = settings
        self._target = plan.sparsity
        self._first = plan.sparsity if settings.initial_sparsity is None else settings.initial_sparsity
        self._end = max(1, step_at(settings.schedule_end, plan.steps))
        self._sparsity = self._first
        self._backbone = backbone
        names = weight_units(backbone, pooler=settings.pooler, classifier=settings.classifier)
        self._weights = {name: backbone.weight(name) for name in names}
        self._masked = {name: masks.attach_mask(backbone.module(name)) for name in self._weights}
        sizes = {name: weight.detach().abs() for name, weight in self._weights.items()}
        self._thresholds = dict.fromkeys(sizes, settings.phi)
        if settings.initial == "hard":
            kept = draw(sizes, self._first, settings.scope)
            sizes = {name: kept[name].to(size).mul_(settings.alpha * settings.phi) for name, size in sizes.items()}
        self.masks = {name: nn.Parameter(size) for name, size in sizes.items()}
        if settings.initial == "soft":
            self._set_thresholds()

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the masks as one optimizer group without weight decay."""
        rate = {} if self._settings.lr is None else {"lr": self._settings.lr}
        return [{"params": list(self.masks.values()), "weight_decay": 0.0, **rate}]

    @torch.no_grad()
    def on_step_start(self, step: int) -> None:
        """Mask the weights for all passes of the step."""
        for name, weight in self._weights.items():
            kept = torch.ge(self.masks[name], self._thresholds[name], out=torch.empty_like(weight))
            self._masked[name].effective = kept.mul_(weight).requires_grad_()

    @torch.no_grad()
    def on_after_backward(self) -> None:
        """Propagate the gradients of the masked weights to the masks."""
        for name, masked in self._masked.items():
            product, masked.effective = masked.effective, None
            if product is None or product.grad is None:
                continue
            mask, gradient = self.masks[name], product.grad.mul_(self._weights[name])
            mask.grad = gradient if mask.grad is None else mask.grad.add_(gradient)

    def on_step_end(self, step: int) -> bool:
        """Update the thresholds if it is due, or at the end of the schedule."""
        done = step + 1
        if done % self._settings.threshold_steps == 0 or done == self._end:
            self._sparsity = cubic(self._first, self._target, done / self._end)
            self._set_thresholds()
        return False

    def state_dict(self) -> dict[str, Tensor]:
        """Return the thresholds and the sparsity that they were set for. The masks are in the optimizer's groups."""
        thresholds = torch.tensor(list(self._thresholds.values()), dtype=torch.float64)
        return {"thresholds": thresholds, "sparsity": torch.tensor(self._sparsity, dtype=torch.float64)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the thresholds and the sparsity."""
        self._thresholds = dict(zip(self._thresholds, state["thresholds"].tolist(), strict=True))
        self._sparsity = float(state["sparsity"])

    def metrics(self) -> dict[str, float]:
        """Return the fraction of weights that the current thresholds remove."""
        removed = sum(int((mask < self._thresholds[name]).sum()) for name, mask in self.masks.items())
        return {"sparsity": removed / sum(mask.numel() for mask in self.masks.values())}

    def scores(self) -> Mapping[str, Tensor]:
        """Return the real-valued masks, copied."""
        return {name: mask.detach().to("cpu", copy=True) for name, mask in self.masks.items()}

    def close(self) -> None:
        """Remove the masks. The weights are unchanged."""
        for name in self._masked:
            masks.detach_mask(self._backbone.module(name))

    def _set_thresholds(self) -> None:
        together = self._settings.scope == "global"
        for names in [list(self.masks)] if together else [[name] for name in self.masks]:
            pool = torch.cat([self.masks[name].detach().flatten() for name in names])
            threshold = lowest_kept(pool, removed_count(self._sparsity, len(pool)))
            self._thresholds |= dict.fromkeys(names, threshold)
