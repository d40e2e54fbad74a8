"""The combinations of levels that a study computes: a full grid, or one factor at a time around the first levels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from ticketlab.core.errors import UsageError
from ticketlab.studies.definition import ONE_AT_A_TIME, Study
from ticketlab.studies.levels import Level
from ticketlab.studies.required_plugin import reason_not_loaded

Combination = Mapping[str, Level]
"""The level of each factor, by the factor's name."""
MAX_CELLS = 100_000


def combinations(study: Study) -> list[Combination]:
    """Return the combinations of a study, without the excluded ones, in the order of its factors.

    :raises UsageError: all are excluded, or there are too many to plan.
    """
    number = 1
    for factor in study.factors:
        number *= len(factor.levels)
    if study.design != ONE_AT_A_TIME and number > MAX_CELLS:
        raise UsageError(f"the grid has {number:,} cells; exclude some, vary fewer factors, or use --design one-at-a-time")
    chosen = _one_at_a_time(study) if study.design == ONE_AT_A_TIME else _grid(study)
    found = [combination for combination in chosen if not _is_excluded(study, combination)]
    if not found:
        raise UsageError("every cell of the study is excluded; remove an exclusion")
    return found


def cell_label(combination: Combination) -> str:
    """Return the label of a cell: ``pruner=magnitude, sparsity=0.5``; without factors ``all``."""
    return ", ".join(f"{name}={level.label}" for name, level in combination.items()) or "all"


def unavailable(levels: Combination) -> str:
    """Return why a combination of levels is not computed: a level says so, or needs a plugin that is not loaded; empty if it is."""
    reasons = (level.unavailable or (reason_not_loaded(level.plugin) if level.plugin else "") for level in levels.values())
    return next((reason for reason in reasons if reason), "")


def _grid(study: Study) -> Iterator[Combination]:
    names = [factor.name for factor in study.factors]
    for levels in itertools.product(*(factor.levels for factor in study.factors)):
        yield dict(zip(names, levels, strict=True))


def _one_at_a_time(study: Study) -> Iterator[Combination]:
    """Yield the combination of all first levels, then those in which one factor has another level."""
    first = {factor.name: factor.levels[0] for factor in study.factors}
    yield first
    for factor in study.factors:
        for level in factor.levels[1:]:
            yield {**first, factor.name: level}


def _is_excluded(study: Study, combination: Combination) -> bool:
    return any(all(combination[name].label in labels for name, labels in excluded.items()) for excluded in study.exclude)
