"""Levels that need a plugin: whether it is loaded, and what to do if it is not."""

from __future__ import annotations

from ticketlab.core import registry
from ticketlab.core.errors import nearest


def reason_not_loaded(plugin: str) -> str:
    """Return why a level that needs a plugin cannot be computed, and what to do; empty if the plugin is loaded."""
    known = registry.current()
    if any(source.is_called(plugin) for source in known.sources):
        return ""
    if any(source.is_called(plugin) for source in known.off):
        return f"needs the plugin {plugin}, which is switched off"
    near = nearest(plugin, [source.name for source in known.sources if not source.is_built_in])
    if near is not None:
        return f"needs the plugin {plugin}; did you mean `{near}`, which is loaded?"
    return f"needs the plugin {plugin}: install it, or name its file or folder with `--plugin`"
