"""Refuses a setting that is given twice: by an option and by ``--set``, of which only the second has an effect, or by ``--set`` twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import joined
from ticketlab.recipes import tables
from ticketlab.recipes.ineffective_settings import describe_value
from ticketlab.recipes.overrides import flag_of
from ticketlab.recipes.recipe import Recipe

Build = Callable[[Mapping[str, Any], Sequence[str]], Recipe]
"""Returns the recipe with the overrides of :func:`ticketlab.compose` and the assignments of ``--set``."""


def refuse_contradictions(build: Build, overrides: Mapping[str, Any], sets: Sequence[str]) -> None:
    """Refuse overrides that change the recipe alone, but not beside ``sets``.

    One that sets several stages, and is replaced in some of them, is accepted.

    :raises UsageError: with the flag, and the assignments that replace it.
    """
    refuse_repetitions(sets)
    if not sets:
        return
    for flag, others in _without_each(overrides):
        if _differ(build, overrides, others, ()) and not _differ(build, overrides, others, sets):
            replacing = [one for one in sets if _differ(build, overrides, others, [other for other in sets if other != one])] or sets
            raise UsageError(f"{flag}: has no effect beside {joined([f'--set {one}' for one in replacing])}; give one of them")


def refuse_repetitions(sets: Sequence[str]) -> None:
    """Refuse assignments that set one path to different values.

    :raises UsageError: with both.
    """
    first: dict[tuple[str, ...], tuple[str, Any]] = {}
    for assignment in sets:
        keys, value = tables.parse_assignment(assignment)
        before, earlier = first.setdefault(tuple(keys), (assignment, value))
        if earlier != value:
            raise UsageError(f"--set {before} and --set {assignment} set the same: give one of them")


def refuse_replaced(given: Mapping[str, Any], table: Mapping[str, Any], assignment: str) -> None:
    """Refuse an assignment, already applied to the ``table`` of a recipe, that replaces one of the settings ``given`` by options.

    :raises UsageError: with the path and the value that it replaces.
    """
    for path, value in _replaced(given, table):
        raise UsageError(f"--set {assignment}: another option sets `{path}` to {describe_value(value)}; give one of them")


def _differ(build: Build, overrides: Mapping[str, Any], fewer: Mapping[str, Any], sets: Sequence[str]) -> bool:
    """Return whether the recipe is another one with ``fewer`` overrides, or none."""
    try:
        without = build(fewer, sets)
    except UsageError:
        return True
    return without.to_table() != build(overrides, sets).to_table()


def _without_each(overrides: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each override as a flag with its value, and the other overrides."""
    for key, value in overrides.items():
        if key != "stages":
            yield f"{flag_of(key)} {describe_value(value)}", {other: own for other, own in overrides.items() if other != key}
    stages: Mapping[str, Mapping[str, Any]] = overrides.get("stages", {})
    for stage, settings in stages.items():
        for setting, value in settings.items():
            kept = {name: own for name, own in settings.items() if name != setting}
            yield f"--{stage}-{setting.replace('_', '-')} {describe_value(value)}", {**overrides, "stages": {**stages, stage: kept}}


def _replaced(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the earlier value of each setting that differs; further settings of ``after`` are none of them."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key, value in before.items():
            yield from _replaced(value, after.get(key), f"{path}.{key}" if path else key)
    elif isinstance(before, list) and isinstance(after, list) and [_name(item) for item in before] == [_name(item) for item in after]:
        for one, other in zip(before, after, strict=True):
            yield from _replaced(one, other, f"{path}.{_name(one)}" if isinstance(one, Mapping) else path)
    elif before not in (after, _name(after)):  # a component without settings may be given by its name alone
        yield path, before


def _name(item: Any) -> Any:
    return item.get("name") if isinstance(item, Mapping) else item
