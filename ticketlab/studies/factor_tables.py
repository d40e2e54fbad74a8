"""Reads the factors and exclusions of a study's definition."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.studies.definition import ABOUT_LEVEL
from ticketlab.studies.levels import FactorLevels, Level, check_factor, label_of, plain_value


def with_several(name: str, values: Sequence[Any], factors: list[FactorLevels]) -> list[FactorLevels]:
    """Return the factors, with one for several recipes or tasks first, unless a factor varies them already."""
    if len(values) < 2 or any(name in factor.keys for factor in factors):
        return factors
    levels = [Level(label_of(value), {name: value}) for value in values]
    labels = [level.label for level in levels]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"two {name}s have the name `{twice}`, by which results are reported; rename the file or folder of one of them")
    return [FactorLevels(name, tuple(levels)), *factors]


def with_added(factors: Sequence[FactorLevels], added: Sequence[FactorLevels]) -> list[FactorLevels]:
    """Return the factors with those of the same names replaced and the other ``added`` ones at the end."""
    by_name = {factor.name: factor for factor in added}
    replaced = [by_name.pop(factor.name, factor) for factor in factors]
    return [*replaced, *by_name.values()]


def read_factor(table: Mapping[str, Any]) -> FactorLevels:
    """Return the factor of a ``[[factors]]`` table."""
    if not table.get("name") or not table.get("levels"):
        raise UsageError("factors: each needs a `name` and `levels`")
    name = str(table["name"])
    if not isinstance(table["levels"], (list, tuple)):
        raise UsageError(f"factors.{name}: levels: must be a list, not {table['levels']!r}")
    levels = []
    for level in table["levels"]:
        if not isinstance(level, Mapping):
            levels.append(Level(label_of(level), {name: plain_value(level, f"factors.{name}")}))
            continue
        settings = {key: plain_value(value, f"factors.{name}.{key}") for key, value in level.items() if key not in ("label", *ABOUT_LEVEL)}
        label = str(level.get("label") or "+".join(label_of(value) for value in settings.values()))
        levels.append(Level(label, settings, **_about(level, f"factors.{name}: {label}")))
    return check_factor(FactorLevels(name, tuple(levels)), f"factors.{name}")


def _about(level: Mapping[str, Any], where: str) -> dict[str, str]:
    """Return the keys of a level that are no settings.

    :raises UsageError: one is not a text, or empty; or the level has several of them.
    """
    found = {key: level[key] for key in ABOUT_LEVEL if key in level}
    for key, value in found.items():
        if not isinstance(value, str) or not value:
            raise UsageError(f"{where}: {key}: must be a text, not {value!r}")
    if len(found) > 1:
        raise UsageError(f"{where}: has both `unavailable` and `plugin`; remove `unavailable` if the plugin can compute it")
    return found


def read_exclusions(
    tables: Sequence[Mapping[str, Any]], factors: Sequence[FactorLevels], *, may_be_gone: bool
) -> tuple[Mapping[str, Sequence[str]], ...]:
    """Return exclusions with checked names: the labels to leave out by factor.

    With ``may_be_gone``, a scale or the command line may have replaced levels of a file: those that the study no longer has are ignored.
    """
    by_name = {factor.name: [level.label for level in factor.levels] for factor in factors}
    found = []
    for table in tables:
        labels = {name: [label_of(item) for item in listed(value)] for name, value in table.items()}
        for name, unknown in ((name, label) for name, wanted in labels.items() for label in wanted if label not in by_name.get(name, ())):
            if name not in by_name:
                raise UsageError(f"exclude: there is no factor `{name}`{did_you_mean(name, by_name)}")
            if not may_be_gone:
                raise UsageError(f"exclude: the factor `{name}` has no level `{unknown}`{did_you_mean(unknown, by_name[name])}")
        known = {name: [label for label in wanted if label in by_name[name]] for name, wanted in labels.items()}
        if all(known.values()):
            found.append(known)
    return tuple(found)


def parse_exclude(text: str) -> dict[str, list[str]]:
    """Return the exclusion of ``KEY=VALUE KEY=VALUE`` (or separated by ``&``); several values of a key are separated by ``|``.

    Keys and values may have spaces inside: a new part begins after ``&``, or after a space if a ``KEY=`` without spaces follows.

    :raises UsageError: a part is not KEY=VALUE.
    """
    found: dict[str, list[str]] = {}
    for part in re.split(r"\s*&\s*|\s+(?=[^\s=&]+=)", text.strip()):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not key or not value:
            raise UsageError(f"--exclude {text}: write FACTOR=LEVEL&FACTOR=LEVEL, such as pruner=random&adversary=freelb")
        found[key] = [label.strip() for label in value.split("|")]
    return found


def listed(value: Any) -> list[Any]:
    """Return a value as a list: a list or tuple, or a list with the value alone."""
    return list(value) if isinstance(value, (list, tuple)) else [value]
