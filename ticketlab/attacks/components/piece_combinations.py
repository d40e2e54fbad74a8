"""Enumerates the K^n combinations of the K predictions for each of a word's n pieces, lazily and in a chosen order."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence
from typing import Literal

Order = Literal["perplexity", "first"]
ORDERS: tuple[Order, ...] = ("perplexity", "first")


def first(choices: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield combinations of one choice per position, as indices of the choices; the last position changes fastest."""
    yield from itertools.product(*map(range, choices))


def likeliest(scores: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
    """Yield combinations of one choice per position, largest sum of scores first; the scores of each position are in descending order.

    Positions are independent, so the next best combination differs by one step at one position from one that was already yielded. Each
    combination is reached by exactly one path, and the queue grows by at most two for each one yielded.
    """
    if not all(scores):
        return
    places = sorted((place for place, found in enumerate(scores) if len(found) > 1), key=lambda place: scores[place][0] - scores[place][1])
    best = sum(found[0] for found in scores)
    yield (0,) * len(scores)
    queue: list[tuple[float, tuple[tuple[int, int], ...]]] = []

    def step(total: float, taken: tuple[tuple[int, int], ...], at: int, choice: int) -> None:
        """Queue a combination: ``taken``, and ``choice`` at the position ``places[at]``."""
        heapq.heappush(queue, (-total, (*taken, (at, choice))))

    if places:
        step(best - _gap(scores[places[0]], 0), (), 0, 1)
    while queue:
        minus_total, taken = heapq.heappop(queue)
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
