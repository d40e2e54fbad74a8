"""The hypotheses of a planned study: whether its cells can decide them, and whether they are those of its first run."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from ticketlab.core import progress
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted, joined, verb
from ticketlab.report.cells import Factor
from ticketlab.report.hypothesis import Hypothesis
from ticketlab.report.hypothesis_cells import pair_cells, resolve
from ticketlab.statistics.power import POWER, smallest_detectable
from ticketlab.studies.definition import Study
from ticketlab.studies.measured_metrics import check_measured
from ticketlab.studies.report_keys import texts_of
from ticketlab.studies.study_cell import StudyCell

HYPOTHESES, NOTES = "hypotheses", "notes"
"""Keys of the report of a study."""
FIRST_RUN = "first_run"
"""The key of ``study.json`` with the record of the first run."""


def with_checked_hypotheses(study: Study, cells: Sequence[StudyCell]) -> Study:
    """Return the study with the levels of its hypotheses by factor.

    If a scale or the command line has replaced cells, hypotheses about others are left out, and a note of the study says so.

    :raises UsageError: a hypothesis names an unknown factor, level or cell, no cell is as it says, or no stage measures its metric.
    """
    if HYPOTHESES not in study.report:
        return study
    kept, left_out = [], []
    for hypothesis in hypotheses_of(study):
        try:
            kept.append(_checked(hypothesis, study, cells).to_table())
        except UsageError as problem:
            where = f"hypothesis `{hypothesis.claim}`: {problem}"
            if not study.reduced:
                raise UsageError(f"{study.source}: {where}" if study.source else where) from None
            left_out.append(f"left out: {where}")
            progress.say(f"note: {left_out[-1]}")
    report = {**study.report, HYPOTHESES: kept}
    return evolve(study, report=report | ({NOTES: [*texts_of(study.report.get(NOTES, ())), *left_out]} if left_out else {}))


def hypotheses_of(study: Study) -> tuple[Hypothesis, ...]:
    """Return the hypotheses of a study."""
    return tuple(map(Hypothesis.from_table, study.report.get(HYPOTHESES, ())))


def levels_of(cells: Sequence[StudyCell]) -> dict[str, dict[str, str]]:
    """Return the labels of the levels of each cell, by its label."""
    return {cell.label: {name: level.label for name, level in cell.levels.items()} for cell in cells}


def _checked(hypothesis: Hypothesis, study: Study, cells: Sequence[StudyCell]) -> Hypothesis:
    factors = [Factor(factor.name, tuple(level.label for level in factor.levels)) for factor in study.factors]
    levels = levels_of(cells)
    resolved = resolve(hypothesis, factors, levels)
    compared = {label for pair in pair_cells(resolved, levels) for label in pair}
    for cell in cells:
        if cell.label in compared and cell.recipe is not None:
            for metric in resolved.metrics:
                check_measured(cell.recipe, metric)
    return resolved


@frozen
class PlannedHypothesis:
    """A hypothesis with the labels of the ``pairs`` of cells that it compares, and ``outlook``: whether they can decide it."""

    hypothesis: Hypothesis
    pairs: tuple[tuple[str, str], ...]
    decidable: bool
    outlook: str


def planned_hypotheses(
    study: Study, cells: Sequence[StudyCell], errors: Mapping[str, str], same: Mapping[str, str]
) -> Iterator[PlannedHypothesis]:
    """Yield the hypotheses of a study, as :func:`with_checked_hypotheses` returns it, with what can be expected of them.

    ``errors`` says why a cell cannot be computed, by its label, and ``same`` names the earlier cell whose stages are all the same.
    """
    recipes = {cell.label: cell.recipe for cell in cells}
    for hypothesis in hypotheses_of(study):
        pairs = tuple(pair_cells(hypothesis, levels_of(cells)))
        labels = list(dict.fromkeys(label for pair in pairs for label in pair))
        failed = next((label for label in labels if errors.get(label)), None)
        seeds = [set(recipe.seeds) for label in labels if (recipe := recipes[label])]
        number = len(set.intersection(*seeds)) if seeds else 0
        equal = sum(same.get(one, one) == same.get(other, other) for one, other in pairs)
        if failed is not None:
            yield PlannedHypothesis(hypothesis, pairs, False, f"cannot be decided: {failed} cannot be computed: {errors[failed]}")
        elif equal == len(pairs):
            yield PlannedHypothesis(hypothesis, pairs, False, "cannot be decided: the compared cells have the same stages")
        elif number < 2:
            yield PlannedHypothesis(hypothesis, pairs, False, "cannot be decided: one seed decides nothing")
        else:
            smallest = smallest_detectable(number, 1 / math.sqrt(number))
            shown = f"{number} seeds show a difference of {smallest:.1f} standard deviations between seeds"
            left_out = f"; {equal} of {counted(len(pairs), 'pair')} of cells {verb(equal)} left out: the same stages" if equal else ""
            yield PlannedHypothesis(hypothesis, pairs, True, f"{shown} with {100 * POWER:.0f} % power, before correction{left_out}")


def first_run(recorded: Mapping[str, Any] | None, current: Collection[Mapping[str, Any]], in_lab: Callable[[], int]) -> dict[str, Any]:
    """Return the record of the first run of a study: its date, its hypotheses, and how many stages the lab had already.

    ``recorded`` is the content of ``study.json`` of an earlier run, None if this is the first one; ``in_lab`` counts the stages.
    """
    if recorded is None:
        date = datetime.datetime.now(datetime.UTC).date().isoformat()
        return {"date": date, HYPOTHESES: list(current), "stages_in_lab": in_lab()}
    found = recorded.get(FIRST_RUN)
    return dict(found) if isinstance(found, Mapping) else {"date": "", HYPOTHESES: [], "stages_in_lab": 0}


def first_run_notes(first: Mapping[str, Any], current: Collection[Mapping[str, Any]]) -> Iterator[str]:
    """Yield how the hypotheses differ from those of the first run, and what the lab had computed before they were written down."""
    before, now = ({str(table["claim"]): table for table in tables} for tables in (first.get(HYPOTHESES, ()), current))
    kinds = {
        "added": [claim for claim in now if claim not in before],
        "changed": [claim for claim in now if claim in before and now[claim] != before[claim]],
        "removed": [claim for claim in before if claim not in now],
    }
    changes = "; ".join(f"{kind}: {joined([f'`{claim}`' for claim in claims])}" for kind, claims in kinds.items() if claims)
    date = f" on {first['date']}" if first.get("date") else ""
    if changes:
        yield f"the hypotheses were changed after the first run{date}: {changes}"
    if now and (computed := first.get("stages_in_lab")):
        yield f"when the study was first run{date}, the lab had {computed} of its stages already"
