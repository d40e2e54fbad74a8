"""Mask distance: stop when the masks that would be drawn have stopped changing.

EarlyRobust (Xi et al., 2022, section 3.3.2) and ORTicket (2024), after the early-bird tickets of You et al. (2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from attrs import define, field, frozen
from torch import Tensor

from ticketlab.core.settings import ratio, setting
from ticketlab.stop_rules.base import Monitor, Observation, StopRule
from ticketlab.tickets.draw import SCOPES, Scope, draw, group_of
from ticketlab.training.plan import TrainingPlan

MASK, SCORE = "mask/", "score/"
"""Prefixes of a streak's tensors in checkpoints."""


@frozen
class MaskDistance(StopRule):
    """Compare the masks of successive mini-epochs, drawn at the rule's own sparsities.

    The distance of a group (heads, neurons, weights) is the fraction of its units whose mask differs: the normalised Hamming distance.
    The search ends when the distances of all groups have been below ``threshold`` for ``times`` observations in a row. As in the paper,
    each observation is compared with the one before, and the ticket is drawn at the last one. The published code compares the first
    observation of a streak with each later one (``compare = "first"``) and draws at the first (``draw_at = "first"``). If all scores of a
    group are equal they rank nothing, so their masks are not compared.
    """

    name: ClassVar[str] = "mask-distance"
    summary: ClassVar[str] = "stop when the masks that would be drawn stop changing"
    paper: ClassVar[str] = "Xi et al., 2022, https://aclanthology.org/2022.emnlp-main.569"
    judges: ClassVar[bool] = False

    threshold: float = setting(0.1, above=0, at_most=1, help="distance below which masks count as unchanged (gamma)")
    times: int = setting(5, at_least=1, help="consecutive observations with every distance below the threshold")
    compare: Literal["consecutive", "first"] = setting(
        "consecutive",
        choices=("consecutive", "first"),
        help="compare each observation with the one before, or with the first of its streak, as the published code does",
    )
    draw_at: Literal["last", "first"] = setting(
        "last",
        choices=("last", "first"),
        help="draw the ticket at the observation that ends the search, or at the first of its streak, as the published code does",
    )
    heads: float = ratio(1 / 6, help="sparsity of the heads' masks")
    neurons: float = ratio(0.3, help="sparsity of the neurons' masks")
    weights: float = ratio(0.3, help="sparsity of the masks of single weights")
    heads_scope: Scope = setting("global", choices=SCOPES, help="rank all heads together, or each layer separately")
    neurons_scope: Scope = setting("global", choices=SCOPES, help="rank all neurons together, or each layer separately")
    weights_scope: Scope = setting("global", choices=SCOPES, help="rank all weights together, or each matrix separately")

    @property
    def draws_earlier(self) -> bool:
        """Whether tickets are drawn at the first observation of the streak."""
        return self.draw_at == "first"

    def begin(self, plan: TrainingPlan) -> Monitor:
        """Return a monitor that compares masks."""
        return _MaskDistanceMonitor(self)

    def masks(self, scores: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the masks to compare."""
        groups = {group_of(name) for name in scores}
        return draw(
            scores,
            {group: getattr(self, group) for group in groups},
            {group: getattr(self, f"{group}_scope") for group in groups},
        )


def distances(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> dict[str, float]:
    """Return the fraction of units whose mask differs, for each group of units."""
    found = {}
    for group in dict.fromkeys(group_of(name) for name in after):
        pairs = [(before[name], mask) for name, mask in after.items() if group_of(name) == group]
        found[group] = sum(int((old != new).sum()) for old, new in pairs) / sum(new.numel() for _, new in pairs)
    return found


@define
class _Streak:
    """Consecutive observations whose masks have not changed.

    ``step`` and ``scores`` are those of the first one, ``masks`` are what the next one is compared with, and ``under`` is the number of
    comparisons below the threshold.
    """

    step: int
    masks: dict[str, Tensor]
    scores: dict[str, Tensor] = field(factory=dict)
    under: int = 0


class _MaskDistanceMonitor(Monitor):
    """Tracks a single streak, or with ``compare = "first"`` one from each observation; the longest comes first."""

    def __init__(self, rule: MaskDistance) -> None:
        self._rule = rule
        self._streaks: list[_Streak] = []
        self._distances: dict[str, float] = {}

    def observe(self, observation: Observation) -> bool:
        scores = observation.scores()
        if not _can_rank(scores):
            self._streaks, self._distances = [], {}
            return False
        masks = self._rule.masks(scores)
        compared = [(streak, distances(streak.masks, masks)) for streak in self._streaks]
        unbroken = [(streak, by_group) for streak, by_group in compared if max(by_group.values(), default=0) < self._rule.threshold]
        logged = unbroken[:1] or compared[-1:]
        self._distances = logged[0][1] if logged else {}
        for streak, _ in unbroken:
            streak.under += 1
            streak.masks = masks if self._rule.compare == "consecutive" else streak.masks
        self._streaks = [streak for streak, _ in unbroken]
        if self._rule.compare == "first" or not self._streaks:
            copies = {name: score.detach().clone() for name, score in scores.items()} if self._rule.draws_earlier else {}
            self._streaks.append(_Streak(observation.step, masks, copies))
        return self._streaks[0].under >= self._rule.times

    def metrics(self) -> dict[str, float]:
        return {**self._distances, "under": self._streaks[0].under if self._streaks else 0}

    def draw_from(self) -> tuple[int, Mapping[str, Tensor]] | None:
        return (self._streaks[0].step, self._streaks[0].scores) if self._rule.draws_earlier and self._streaks else None

    def state_dict(self) -> dict[str, Tensor]:
        state: dict[str, Tensor] = {}
        for index, streak in enumerate(self._streaks):
            state |= {f"{index}/step": torch.tensor(streak.step), f"{index}/under": torch.tensor(streak.under)}
            state |= {f"{index}/{MASK}{name}": mask for name, mask in streak.masks.items()}
            state |= {f"{index}/{SCORE}{name}": score for name, score in streak.scores.items()}
        return state

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        by_index: dict[int, dict[str, Tensor]] = {}
        for key, value in state.items():
            index, _, name = key.partition("/")
            by_index.setdefault(int(index), {})[name] = value
        self._streaks = [
            _Streak(int(tensors["step"]), _with_prefix(MASK, tensors), _with_prefix(SCORE, tensors), int(tensors["under"]))
            for _, tensors in sorted(by_index.items())
        ]


def _with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _can_rank(scores: Mapping[str, Tensor]) -> bool:
    """Return whether each group has at least two different scores."""
    ends: dict[str, tuple[float, float]] = {}
    for name, score in scores.items():
        low, high = ends.get(group_of(name), (float("inf"), float("-inf")))
        if score.numel():
            ends[group_of(name)] = (min(low, float(score.min())), max(high, float(score.max())))
    return all(low < high for low, high in ends.values())
