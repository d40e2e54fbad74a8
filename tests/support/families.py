"""The model families whose tiny models the tests use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

import pytest

from ticketlab.testing.models.tiny_config import Family

FAMILIES: tuple[Family, ...] = get_args(Family)
WITH_MLM = tuple(family for family in FAMILIES if family != "gpt2")
"""Those that have a masked-language-model head."""
IN_EACH_RUN = ("bert", "deberta-v2", "gpt2")
"""Families that differ most: whole recipes run with the others in the system tests alone, because they take seconds."""


def mostly_system(families: Iterable[str] = FAMILIES, *values: Any) -> list[Any]:
    """Return the parameters of a test, ``values`` and a family; those of families that are not run each time are marked ``system``."""
    marks = {family: () if family in IN_EACH_RUN else (pytest.mark.system,) for family in families}
    return [pytest.param(*values, family, marks=marks[family], id="-".join([*map(str, values), family])) for family in families]
