"""Mask distance: stop when the ticket that would be drawn has stopped moving.

EarlyRobust (Xi et al., 2022, section 3.3.2) and ORTicket (2024), after the early-bird tickets of You et al. (2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.options import ratio, setting
from ticketlab.stop_rules.base import Look, StopRule, Watch
from ticketlab.tickets.draw import SCOPES, Scope, draw, group_of


@frozen
class MaskDistance(StopRule):
    """Compare the masks of consecutive mini-epochs, drawn at the rule's own sparsities.

    The distance of a group (heads, neurons) is the share of its units whose mask differs, the normalised Hamming distance. The search
    ends when the distances of all groups have been under ``threshold`` so many ``times`` in a row. Scores that are all equal rank
    nothing: the masks drawn from them are not compared.
    """

    name: ClassVar[str] = "mask-distance"
    summary: ClassVar[str] = "stop when the masks that would be drawn stop moving"
    paper: ClassVar[str] = "Xi et al., 2022, https://aclanthology.org/2022.emnlp-main.569"

    threshold: float = setting(0.1, above=0, at_most=1, help="distance under which masks count as unmoved (gamma)")
    times: int = setting(5, at_least=1, help="looks in a row with every distance under the threshold")
    heads: float = ratio(1 / 6, help="sparsity of the heads' masks")
    neurons: float = ratio(0.3, help="sparsity of the neurons' masks")
    weights: float = ratio(0.3, help="sparsity of the masks of single weights")
    heads_scope: Scope = setting("global", choices=SCOPES, help="rank all heads together, or those of each layer apart")
    neurons_scope: Scope = setting("global", choices=SCOPES, help="rank all neurons together, or those of each layer apart")
    weights_scope: Scope = setting("global", choices=SCOPES, help="rank all weights together, or those of each matrix apart")

    def begin(self) -> Watch:
        """Start watching a search."""
        return _Distances(self)

    def masks(self, scores: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the masks that are compared."""
        groups = {group_of(name) for name in scores}
        return draw(
            scores,
            {group: getattr(self, group) for group in groups},
            {group: getattr(self, f"{group}_scope") for group in groups},
        )


def distances(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> dict[str, float]:
    """Return the share of units whose mask differs, for each group of units."""
    found = {}
    for group in dict.fromkeys(group_of(name) for name in after):
        pairs = [(before[name], mask) for name, mask in after.items() if group_of(name) == group]
        found[group] = sum(int((old != new).sum()) for old, new in pairs) / sum(new.numel() for _, new in pairs)
    return found


class _Distances(Watch):
    def __init__(self, rule: MaskDistance) -> None:
        self._rule = rule
        self._before: dict[str, Tensor] = {}
        self._under = 0
        self._last: dict[str, float] = {}

    def look(self, look: Look) -> bool:
        scores = look.scores()
        self._last = {}
        if not _rank_anything(scores):
            self._before, self._under = {}, 0
            return False
        masks = self._rule.masks(scores)
        if self._before:
            self._last = distances(self._before, masks)
            self._under = self._under + 1 if all(distance < self._rule.threshold for distance in self._last.values()) else 0
        self._before = masks
        return self._under >= self._rule.times

    def seen(self) -> Mapping[str, float]:
        return {**self._last, "under": self._under}

    def state_dict(self) -> dict[str, Tensor]:
        return {"under": torch.tensor(self._under), **{f"mask/{name}": mask for name, mask in self._before.items()}}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self._under = int(state["under"])
        self._before = {name.removeprefix("mask/"): mask for name, mask in state.items() if name.startswith("mask/")}


def _rank_anything(scores: Mapping[str, Tensor]) -> bool:
    """Say whether the scores of every group differ among themselves."""
    ends: dict[str, tuple[float, float]] = {}
    for name, score in scores.items():
        low, high = ends.get(group_of(name), (float("inf"), float("-inf")))
        if score.numel():
            ends[group_of(name)] = (min(low, float(score.min())), max(high, float(score.max())))
    return all(low < high for low, high in ends.values())
