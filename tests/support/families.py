"""The model families whose tiny models the tests use."""

from __future__ import annotations

from typing import get_args

from ticketlab.testing.models.tiny_config import Family

FAMILIES: tuple[Family, ...] = get_args(Family)
WITH_MLM = tuple(family for family in FAMILIES if family != "gpt2")
"""Those that have a masked-language-model head."""
