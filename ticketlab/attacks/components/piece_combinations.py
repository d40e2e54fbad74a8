"""Words made of several pieces, each with its own best guesses: which of the K^n combinations are tried, without forming them all."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence
from typing import Literal

Order = Literal["perplexity", "first"]
ORDERS: tuple[Order, ...] = ("perplexity", "first")


def first(choices: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield combinations of one choice a place, as numbers of the choices, the last place changing fastest."""
    yield from itertools.product(*map(range, choices))


def likeliest(scores: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
    """Yield combinations of one choice a place by the sum of their scores, largest first; each place's scores fall.

    Places are independent, so the next best differs from one that was yielded already by one step at one place. Each combination is
    reached by one path, and at most two wait for each that was yielded, however many there are.
    """
    if not all(scores):
        return
    places = sorted((place for place, found in enumerate(scores) if len(found) > 1), key=lambda place: scores[place][0] - scores[place][1])
    best = sum(found[0] for found in scores)
    yield (0,) * len(scores)
    waiting: list[tuple[float, tuple[tuple[int, int], ...]]] = []

    def step(total: float, taken: tuple[tuple[int, int], ...], at: int, choice: int) -> None:
        """Let a combination wait: ``taken``, and ``choice`` at the place ``places[at]``."""
        heapq.heappush(waiting, (-total, (*taken, (at, choice))))

    if places:
        step(best - _gap(scores[places[0]], 0), (), 0, 1)
    while waiting:
        minus_total, taken = heapq.heappop(waiting)
        steps = {places[at]: choice for at, choice in taken}
        yield tuple(steps.get(place, 0) for place in range(len(scores)))
        *before, (at, choice) = taken
        here = scores[places[at]]
        if choice + 1 < len(here):
            step(-minus_total - _gap(here, choice), tuple(before), at, choice + 1)
        if at + 1 < len(places):
            there = _gap(scores[places[at + 1]], 0)
            step(-minus_total - there, taken, at + 1, 1)
            if choice == 1:
                step(-minus_total + _gap(here, 0) - there, tuple(before), at + 1, 1)


def _gap(scores: Sequence[float], choice: int) -> float:
    return scores[choice] - scores[choice + 1]
