from __future__ import annotations

import pytest

from ticketlab import registry


@pytest.fixture(autouse=True)
def builtins_only(monkeypatch: pytest.MonkeyPatch) -> registry.Registry:
    """A registry of the built-ins alone, whatever is installed beside them."""
    monkeypatch.delenv("TICKETLAB_STRICT_PLUGINS", raising=False)
    current = registry.load(entry_points=False)
    monkeypatch.setattr(registry, "_current", current)
    return current
