"""Holm's correction of p values for several comparisons (Holm, 1979)."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the corrected p values, in the order given; those that are None are no comparisons, and stay None.

    Rejecting every hypothesis with a corrected p value below 0.05 rejects a true one with a probability of at most 5 %, whatever the
    dependence between the tests.
    """
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, index) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        corrected[index] = largest
    return corrected
