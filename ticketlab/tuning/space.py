"""The search space: parses ``--over KEY=a,b,c``, ``KEY=LOW:HIGH`` and ``KEY=LOW:HIGH:log``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.core.errors import UsageError
from ticketlab.recipes.recipe import Recipe
from ticketlab.studies.levels import factor_of, numeric
from ticketlab.tuning.setting_type import SettingType, find_setting_type

LOG = "log"
DIGITS = 4
"""The number of significant digits of a value from a range: more would only make labels longer."""


@frozen
class Range:
    """All numbers between two bounds, both included; ``whole`` numbers only, or with ``log`` evenly spread over orders of magnitude."""

    low: float
    high: float
    log: bool = False
    whole: bool = False

    @property
    def size(self) -> float:
        """The number of different values."""
        return self.high - self.low + 1 if self.whole else math.inf

    def value(self, suggested: float) -> int | float:
        """Return the value that is used for a suggested one: rounded, and inside the bounds."""
        if self.whole:
            return int(suggested)
        return min(max(float(f"{suggested:.{DIGITS}g}"), self.low), self.high)


@frozen
class Choices:
    """One of several values, as in ``--set``."""

    values: tuple[Any, ...]

    @property
    def size(self) -> float:
        """The number of values."""
        return len(self.values)

    def value(self, suggested: Any) -> Any:
        """Return the suggested value."""
        return suggested


Dimension = Range | Choices


def parse_over(text: str) -> tuple[str, str]:
    """Return the key and the values of ``KEY=VALUES``.

    :raises UsageError: one of the two is missing.
    """
    key, equals, values = text.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise UsageError(f"--over {text}: write KEY=LOW:HIGH, KEY=LOW:HIGH:log or KEY=VALUE,VALUE,...")
    return key.strip(), values.strip()


def search_space(over: Mapping[str, str | Sequence[Any]], recipe: Recipe) -> dict[str, Dimension]:
    """Return the dimension of each key, whose type is that of the recipe's setting.

    :raises UsageError: there is no key, or its values are not valid.
    """
    if not over:
        raise UsageError("nothing to tune: name a setting and its values with --over KEY=LOW:HIGH or KEY=VALUE,VALUE")
    return {key: _dimension(key, values, find_setting_type(recipe, key)) for key, values in over.items()}


def _dimension(key: str, values: str | Sequence[Any], kind: SettingType) -> Dimension:
    where = f"--over {key}"
    parts = [part.strip() for part in values.split(":")] if isinstance(values, str) else []
    has_step = len(parts) == 3 and numeric(parts[2]) is not None  # a list of values, written as a range of a study
    if len(parts) in (2, 3) and not has_step:
        low, high = numeric(parts[0]), numeric(parts[1])
        if low is not None and high is not None:
            return _range(where, parts, low, high, kind)
    levels = factor_of(key, values, where).levels
    if len(levels) < 2:
        raise UsageError(f"{where}: there is only one value; name several, or a range such as 0.1:10 or 1:1000:log")
    return Choices(tuple(level.settings[key] for level in levels))


def _range(where: str, parts: Sequence[str], low: float, high: float, kind: SettingType) -> Range:
    log = len(parts) == 3
    if log and parts[2] != LOG:
        raise UsageError(f"{where}: {':'.join(parts)} is not a range; write LOW:HIGH or LOW:HIGH:log")
    if kind is SettingType.OTHER:
        raise UsageError(f"{where}: the setting is not a number; list its values, separated by commas")
    if low >= high:
        raise UsageError(f"{where}: the lower bound {parts[0]} is not below the upper bound {parts[1]}")
    if log and low <= 0:
        raise UsageError(f"{where}: a logarithmic range must begin above 0, not at {parts[0]}")
    whole = kind is SettingType.WHOLE
    if whole and not (low.is_integer() and high.is_integer()):
        raise UsageError(f"{where}: the setting is a whole number, and so must its bounds be")
    return Range(low, high, log, whole)
