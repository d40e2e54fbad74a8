"""Checks of a study that name the mistake: a key that no cell has or two factors vary, or a level that no recipe accepts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.formatting import joined
from ticketlab.recipes.recipe import Recipe
from ticketlab.studies.definition import Study
from ticketlab.studies.design import unavailable
from ticketlab.studies.keys import WHOLE, argument_of
from ticketlab.studies.study_cell import StudyCell


def check_varied_once(study: Study) -> None:
    """Refuse two factors that set the same key: the levels of one of them would have no effect.

    :raises UsageError: there are two.
    """
    varied_by: dict[str, str] = {}
    for factor in study.factors:
        for key in factor.keys:
            name = key if "." in key else argument_of(key)
            if varied_by.setdefault(name, factor.name) != factor.name:
                raise UsageError(f"`{key}` is varied by two factors, `{varied_by[name]}` and `{factor.name}`; remove it from one of them")


def check_keys(study: Study, cells: Sequence[StudyCell], problem: Callable[[StudyCell, str], str]) -> None:
    """Refuse a key that no cell has. ``problem`` returns why a cell does not have a key.

    :raises UsageError: there is one.
    """
    composed = [cell for cell in cells if cell.recipe is not None]
    for key in (*study.settings, *(key for factor in study.factors for key in factor.keys)):
        setting = [cell for cell in composed if key in study.settings or any(key in level.settings for level in cell.levels.values())]
        if setting and all(key in cell.inapplicable for cell in setting):
            recipes = ", ".join(dict.fromkeys(cell.recipe.name for cell in setting if cell.recipe))
            raise UsageError(problem(setting[0], key) or f"`{key}` is not a setting of any cell (recipes: {recipes}); remove it")


def check_replaced(
    study: Study, cells: Sequence[StudyCell], compose_without: Callable[[StudyCell, Collection[str]], Recipe | None]
) -> None:
    """Refuse a setting and a factor of which one replaces the other in every cell, such as ``epochs`` and ``finetune.epochs``.

    A setting with the key of a factor is accepted, because it may be meant for other scales of a study file. ``compose_without`` returns
    the recipe of a cell without some of its keys, None if there is none.

    :raises UsageError: there are such two.
    """
    for (key, value), factor in itertools.product(study.settings.items(), study.factors):
        applicable = [cell for cell in cells if cell.recipe is not None and key not in cell.inapplicable]
        both = [cell for cell in applicable if cell.levels[factor.name].settings]
        if key in WHOLE or key in factor.keys or not both:
            continue
        setting, levels = f"`{key}` = {value}", f"the factor `{factor.name}` ({', '.join(level.label for level in factor.levels)})"
        if _replaces(factor.keys, [key], both, compose_without):
            raise UsageError(f"{setting} has no effect beside {levels}; remove one of them")
        if _replaces([key], factor.keys, both, compose_without):
            raise UsageError(f"{levels} has no effect beside {setting}; remove one of them")


def _replaces(
    keys: Collection[str],
    others: Collection[str],
    cells: Sequence[StudyCell],
    compose_without: Callable[[StudyCell, Collection[str]], Recipe | None],
) -> bool:
    """Return whether ``others`` have no effect on any cell beside ``keys``, but have one without them."""
    matters = any(compose_without(cell, keys) != compose_without(cell, [*keys, *others]) for cell in (cells[0], cells[-1]))
    return matters and all(compose_without(cell, others) == cell.recipe for cell in cells)


def check_levels(study: Study, cells: Sequence[StudyCell]) -> None:
    """Refuse a level whose cells all have errors.

    :raises UsageError: there is one; the message is that of its first cell, with the level unless all cells have the same error.
    """
    errors = {cell.error for cell in cells if not unavailable(cell.levels)}
    if len(errors) == 1 and "" not in errors:
        raise UsageError(errors.pop())
    for factor in study.factors:
        for level in factor.levels:
            of_level = [cell for cell in cells if cell.levels[factor.name] is level and not unavailable(cell.levels)]
            if of_level and all(cell.recipe is None for cell in of_level):
                raise UsageError(f"{factor.name}={level.label}: {of_level[0].error}")


def check_baseline(study: Study, cells: Sequence[StudyCell]) -> None:
    """Refuse a baseline that is neither a level of one factor nor a cell.

    :raises UsageError: it is neither.
    """
    labels = [cell.label for cell in cells]
    known = [*(level.label for factor in study.factors for level in factor.levels), *labels]
    if known.count(study.baseline) > 1 and study.baseline not in labels:
        having = joined([f"`{factor.name}`" for factor in study.factors if study.baseline in [level.label for level in factor.levels]])
        raise UsageError(f"the baseline `{study.baseline}` is a level of {having}: name a cell, such as `{labels[0]}`")
    if study.baseline and study.baseline not in known:
        raise UsageError(f"the baseline `{study.baseline}` is neither a level nor a cell of the study{did_you_mean(study.baseline, known)}")
