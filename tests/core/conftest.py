from __future__ import annotations

import pytest

from ticketlab.core.registry import Registry


@pytest.fixture(autouse=True)
def _builtins_only(builtins_only: Registry) -> None:
    """Ignore installed plugins."""
