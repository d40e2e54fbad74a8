"""The exact McNemar test of two models on the same examples (McNemar, 1947)."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen


@frozen
class McNemar:
    """``only_first`` and ``only_second`` count the examples on which only that model's outcome is 1.

    ``p`` is two-sided: the probability of counts at least as unequal if each such example favours either model with probability 1/2. It
    is 1 if there is no such example.
    """

    only_first: int
    only_second: int
    examples: int
    p: float


def mcnemar(first: Mapping[str, int], second: Mapping[str, int]) -> McNemar:
    """Compare the outcomes (0 or 1 by example) of two models on the examples that both have."""
    from scipy.stats import binomtest

    shared = first.keys() & second.keys()
    only_first = sum(first[example] > second[example] for example in shared)
    only_second = sum(first[example] < second[example] for example in shared)
    n = only_first + only_second
    return McNemar(only_first, only_second, len(shared), float(binomtest(only_first, n).pvalue) if n else 1.0)
