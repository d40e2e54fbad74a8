"""Registering the plugins of third parties in tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ticketlab.core.plugin_source import Source
from ticketlab.testing.trials import registration


@contextlib.contextmanager
def registered(*plugins: Any) -> Iterator[None]:
    """Register plugins (modules, or component classes) while the block runs. One that cannot be used is an error."""
    classes = [plugin for plugin in plugins if isinstance(plugin, type)]
    modules = [(plugin, Source(f"third party {plugin.__name__}", "1")) for plugin in plugins if not isinstance(plugin, type)]
    with registration.registered_plugins(*modules), registration.registered(*classes):
        yield
