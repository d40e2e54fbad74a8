"""The cells that a hypothesis compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.report.cells import Factor
from ticketlab.report.hypothesis import Hypothesis, Selector, selected

Levels = Mapping[str, str]


def resolve(hypothesis: Hypothesis, factors: Sequence[Factor], cells: Mapping[str, Levels]) -> Hypothesis:
    """Return the hypothesis with the levels of both sides by factor. ``cells`` has the levels of each cell, by its label.

    :raises UsageError: there is no such factor, level or cell, several factors have the level, or both sides are the same.
    """
    of, than = _levels(hypothesis.of, factors, cells, "of"), _levels(hypothesis.than, factors, cells, "than")
    if of == than:
        raise UsageError(f"`of` and `than` are both {selected(of)}; name two different cells or levels")
    return evolve(hypothesis, of=of, than=than)


def _levels(selector: Selector, factors: Sequence[Factor], cells: Mapping[str, Levels], where: str) -> Levels:
    by_name = {factor.name: factor.levels for factor in factors}
    if isinstance(selector, str):
        if cells.get(selector):
            return cells[selector]
        having = [name for name, levels in by_name.items() if selector in levels]
        if not having:
            known = [*cells, *(level for levels in by_name.values() for level in levels)]
            raise UsageError(f"{where}: no cell or level is called `{selector}`{did_you_mean(selector, known)}")
        if len(having) > 1:
            raise UsageError(f'{where}: several factors have the level `{selector}`; write {{ {having[0]} = "{selector}" }}')
        return {having[0]: selector}
    for name, level in selector.items():
        if name not in by_name:
            raise UsageError(f"{where}: there is no factor `{name}`{did_you_mean(name, by_name)}")
        if level not in by_name[name]:
            raise UsageError(f"{where}: the factor `{name}` has no level `{level}`{did_you_mean(level, by_name[name])}")
    return selector


def pair_cells(hypothesis: Hypothesis, cells: Mapping[str, Levels]) -> list[tuple[str, str]]:
    """Return the pairs of labels that a resolved hypothesis compares: each cell of ``of`` with the one of ``than`` at the same levels.

    Factors that ``than`` names, or that do not vary among its cells, need not have the same level: fine-tuning that was run at one
    sparsity is compared at every sparsity, as for a baseline.

    :raises UsageError: one side has no cell, or a cell of ``of`` has no partner or is its own.
    """
    first, second = ([label for label, levels in cells.items() if _has(levels, side)] for side in (hypothesis.of, hypothesis.than))
    for side, found in ((hypothesis.of, first), (hypothesis.than, second)):
        if not found:
            raise UsageError(f"no cell of the study is {selected(side)}")
    names = [name for name in cells[second[0]] if name not in hypothesis.than and len({cells[label][name] for label in second}) > 1]
    pairs = []
    for label in first:
        partner = next((other for other in second if all(cells[other][name] == cells[label][name] for name in names)), None)
        if partner is None:
            where = ", ".join(f"{name}={cells[label][name]}" for name in names)
            raise UsageError(f"no cell of the study is {selected(hypothesis.than)} at {where}")
        if partner == label:
            both = f"{selected(hypothesis.of)} and {selected(hypothesis.than)}"
            raise UsageError(f"the cell {label} is both {both}; name levels that no cell has together")
        pairs.append((label, partner))
    return pairs


def _has(levels: Levels, selector: Selector) -> bool:
    return not isinstance(selector, str) and selector.items() <= levels.items()
