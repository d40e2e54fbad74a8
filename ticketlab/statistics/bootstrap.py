"""The paired bootstrap over seeds and examples, for the difference of two models in a fraction of examples.

The same examples are measured with every seed, so seeds and examples are *crossed*: a resample draws seeds with replacement, and
examples with replacement, and uses each drawn example for every drawn seed (the pigeonhole bootstrap of Owen, 2007). Drawing examples
anew for each seed would treat 5 seeds x 1,000 examples as 5,000 examples, and give intervals that are too narrow.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen

LEVEL = 0.95
ZERO = 1e-12
"""Differences up to this are zero: means that are equal may differ by rounding."""

KEPT_EXAMPLES = 1000
"""The maximum number of examples whose draws are kept for other comparisons: 40 MB for 10,000 resamples."""
UNKNOWN = float("inf")
"""Stands for the difference of two outcomes of which one is not known."""


@frozen
class BootstrapDifference:
    """``difference`` is the mean over seeds of the first model's fraction of ones less the second's, on the examples that both have.

    ``first`` and ``second`` are these fractions. ``examples`` counts the examples that are compared with any seed, and ``left_out`` those
    of either model that are not. ``interval`` is the 95 % percentile interval, None if no resample differs from the data, as when all
    outcomes of the two are the same. ``standard_error`` is the standard deviation of the resampled differences. ``p`` is twice the fraction
    of resamples in which the difference is not on the same side of that of the null hypothesis, counting the data themselves as one
    resample.
    """

    difference: float
    first: float
    second: float
    interval: tuple[float, float] | None
    standard_error: float
    p: float
    examples: int
    left_out: int


def paired_bootstrap(
    pairs: Sequence[tuple[Mapping[str, int], Mapping[str, int]]], *, null: float = 0.0, resamples: int = 10_000, seed: int = 0
) -> BootstrapDifference | None:
    """Compare two models by their outcomes (0 or 1 by example, or whole numbers), one pair for each seed. Equal input gives equal output.

    ``null`` is the difference under the null hypothesis. Only examples that both models have with a seed are compared. Seeds without such
    examples are ignored; None if there are none at all. With one seed, only examples are resampled.
    """
    pairs = [(first, second) for first, second in pairs if first.keys() & second.keys()]
    if not pairs:
        return None
    first, second, known, left_out = _aligned(pairs)
    first_mean, second_mean = (float((side.sum(axis=1) / known.sum(axis=1)).mean()) for side in (first, second))
    difference = first_mean - second_mean
    differences = _resampled_means(first - second, known, resamples, seed)
    low, high = np.quantile(differences, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return BootstrapDifference(
        difference=difference,
        first=first_mean,
        second=second_mean,
        interval=None if np.abs(differences - difference).max() <= ZERO else (float(low), float(high)),
        standard_error=float(differences.std()),
        p=_two_sided(differences - null),
        examples=known.shape[1],
        left_out=left_out,
    )


def _aligned(pairs: Sequence[tuple[Mapping[str, int], Mapping[str, int]]]) -> tuple[Any, Any, Any, int]:
    """Return the outcomes of both models and whether they are known, each (seeds, examples), and the number of examples left out.

    Unknown outcomes are 0.
    """
    ids = list(pairs[0][0])
    if all(list(side) == ids for pair in pairs for side in pair):  # the usual case, in a tenth of the time
        order = sorted(range(len(ids)), key=ids.__getitem__)
        first, second = (np.array([list(pair[side].values()) for pair in pairs], dtype=float)[:, order] for side in (0, 1))
        return first, second, np.ones_like(first), 0
    shared = [one.keys() & other.keys() for one, other in pairs]
    compared = sorted(set().union(*shared))
    left_out = len(set().union(*(one.keys() | other.keys() for one, other in pairs))) - len(compared)
    known = np.array([[example in examples for example in compared] for examples in shared], dtype=float)
    first, second = (np.array([[pair[side].get(example, 0) for example in compared] for pair in pairs]) * known for side in (0, 1))
    return first, second, known, left_out


def _resampled_means(values: Any, known: Any, resamples: int, seed: int) -> Any:
    """Return the mean over drawn seeds of the mean over drawn examples, for each resample; the arrays are (seeds, examples).

    ``known`` is 1 where an example has a value with a seed, and 0 elsewhere. A drawn seed for which no example was drawn does not count.
    """
    seeds, examples = values.shape
    if examples <= KEPT_EXAMPLES:
        drawn_examples = _drawn_examples(examples, resamples, seed)
    else:
        values, known, drawn_examples = _drawn_patterns(values, known, resamples, seed)
    generator = np.random.default_rng([seed, seeds])
    drawn_seeds = generator.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples)
    totals = drawn_examples @ values.T.astype(np.float32)
    sizes = np.full_like(totals, examples) if known.all() else drawn_examples @ known.T.astype(np.float32)
    counted = drawn_seeds * (sizes > 0)
    drawn = counted.any(axis=1)
    means = totals.astype(float) / np.maximum(sizes, 1)
    return (counted * means).sum(axis=1)[drawn] / counted.sum(axis=1)[drawn]


@functools.lru_cache(maxsize=2)
def _drawn_examples(examples: int, resamples: int, seed: int) -> Any:
    """Return how often each example is drawn in each resample: (resamples, examples). Comparisons of as many examples share it."""
    drawn = np.random.default_rng([seed, 0]).integers(examples, size=(resamples, examples)) + examples * np.arange(resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=resamples * examples).reshape(resamples, examples).astype(np.float32)


def _drawn_patterns(values: Any, known: Any, resamples: int, seed: int) -> tuple[Any, Any, Any]:
    """Return the patterns of values over the seeds, whether they are known, and how many examples of each are drawn in each resample.

    Examples with the same pattern are interchangeable, so drawing them gives the same distribution as drawing examples.
    """
    patterns, counts = np.unique(np.where(known, values, UNKNOWN), axis=1, return_counts=True)
    order = np.argsort(-counts, kind="stable")  # drawing is faster when the first patterns take most of the examples
    patterns, counts = patterns[:, order], counts[order]
    drawn = np.random.default_rng([seed, 0]).multinomial(counts.sum(), counts / counts.sum(), size=resamples)
    return np.where(patterns == UNKNOWN, 0, patterns), patterns != UNKNOWN, drawn.astype(np.float32)


def _two_sided(differences: Any) -> float:
    below, above = int((differences <= ZERO).sum()), int((differences >= -ZERO).sum())
    return min(1.0, 2 * (min(below, above) + 1) / (len(differences) + 1))
