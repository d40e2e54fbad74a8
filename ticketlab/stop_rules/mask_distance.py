"""Mask distance: stop when the ticket that would be drawn has stopped moving.

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

MASK, SCORE = "mask/", "score/"
"""What the tensors of a row are called in checkpoints."""


@frozen
class MaskDistance(StopRule):
    """Compare the masks of mini-epochs, drawn at the rule's own sparsities.

    The distance of a group (heads, neurons) is the share of its units whose mask differs, the normalised Hamming distance. The search
    ends when the distances of all groups have been under ``threshold`` so many ``times`` in a row: those of consecutive looks, and the
    ticket is drawn there, as the paper says. The published code compares the first look of a row with each later one (``compare =
    "first"``) and draws at the first (``draw_at = "first"``). Scores that are all equal rank nothing: the masks drawn from them are not
    compared.
    """

    name: ClassVar[str] = "mask-distance"
    summary: ClassVar[str] = "stop when the masks that would be drawn stop moving"
    paper: ClassVar[str] = "Xi et al., 2022, https://aclanthology.org/2022.emnlp-main.569"
    judges: ClassVar[bool] = False

    threshold: float = setting(0.1, above=0, at_most=1, help="distance under which masks count as unmoved (gamma)")
    times: int = setting(5, at_least=1, help="looks in a row with every distance under the threshold")
    compare: Literal["consecutive", "first"] = setting(
        "consecutive",
        choices=("consecutive", "first"),
        help="compare each look with the one before, or with the first of its row, as the published code does",
    )
    draw_at: Literal["last", "first"] = setting(
        "last",
        choices=("last", "first"),
        help="draw the ticket of the look that ends the search, or of the first of its row, as the published code does",
    )
    heads: float = ratio(1 / 6, help="sparsity of the heads' masks")
    neurons: float = ratio(0.3, help="sparsity of the neurons' masks")
    weights: float = ratio(0.3, help="sparsity of the masks of single weights")
    heads_scope: Scope = setting("global", choices=SCOPES, help="rank all heads together, or those of each layer apart")
    neurons_scope: Scope = setting("global", choices=SCOPES, help="rank all neurons together, or those of each layer apart")
    weights_scope: Scope = setting("global", choices=SCOPES, help="rank all weights together, or those of each matrix apart")

    @property
    def draws_earlier(self) -> bool:
        """Whether tickets are drawn at the first look of the row."""
        return self.draw_at == "first"

    def start_monitor(self) -> Monitor:
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


@define
class _Distance:
    """Looks in a row whose masks have not moved: the step of the first, what the next is compared with, and how many have agreed."""

    step: int
    masks: dict[str, Tensor]
    scores: dict[str, Tensor] = field(factory=dict)
    under: int = 0


class _Distances(Monitor):
    """Watches one row of consecutive looks, or a row from each look on, the longest first."""

    def __init__(self, rule: MaskDistance) -> None:
        self._rule = rule
        self._rows: list[_Distance] = []
        self._last: dict[str, float] = {}

    def observe(self, observation: Observation) -> bool:
        scores = observation.scores()
        if not _rank_anything(scores):
            self._rows, self._last = [], {}
            return False
        masks = self._rule.masks(scores)
        found = [(row, distances(row.masks, masks)) for row in self._rows]
        standing = [(row, apart) for row, apart in found if all(distance < self._rule.threshold for distance in apart.values())]
        nearest = standing[:1] or found[-1:]
        self._last = nearest[0][1] if nearest else {}
        for row, _ in standing:
            row.under += 1
            row.masks = masks if self._rule.compare == "consecutive" else row.masks
        self._rows = [row for row, _ in standing]
        if self._rule.compare == "first" or not self._rows:
            kept = {name: score.detach().clone() for name, score in scores.items()} if self._rule.draws_earlier else {}
            self._rows.append(_Distance(observation.step, masks, kept))
        return self._rows[0].under >= self._rule.times

    def seen(self) -> Mapping[str, float]:
        return {**self._last, "under": self._rows[0].under if self._rows else 0}

    def drawn(self) -> tuple[int, Mapping[str, Tensor]] | None:
        return (self._rows[0].step, self._rows[0].scores) if self._rule.draws_earlier and self._rows else None

    def state_dict(self) -> dict[str, Tensor]:
        state: dict[str, Tensor] = {}
        for index, row in enumerate(self._rows):
            state |= {f"{index}/step": torch.tensor(row.step), f"{index}/under": torch.tensor(row.under)}
            state |= {f"{index}/{MASK}{name}": mask for name, mask in row.masks.items()}
            state |= {f"{index}/{SCORE}{name}": score for name, score in row.scores.items()}
        return state

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        rows: dict[int, dict[str, Tensor]] = {}
        for key, value in state.items():
            index, _, name = key.partition("/")
            rows.setdefault(int(index), {})[name] = value
        self._rows = [
            _Distance(int(row["step"]), _called(MASK, row), _called(SCORE, row), int(row["under"])) for _, row in sorted(rows.items())
        ]


def _called(prefix: str, row: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)}


def _rank_anything(scores: Mapping[str, Tensor]) -> bool:
    """Say whether the scores of every group differ among themselves."""
    ends: dict[str, tuple[float, float]] = {}
    for name, score in scores.items():
        low, high = ends.get(group_of(name), (float("inf"), float("-inf")))
        if score.numel():
            ends[group_of(name)] = (min(low, float(score.min())), max(high, float(score.max())))
    return all(low < high for low, high in ends.values())
