"""Registering components for the duration of a test, whether or not their package is installed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ticketlab.core import registry
from ticketlab.core.component import Component
from ticketlab.core.errors import PluginError
from ticketlab.core.hookspecs import HOOK_OF_KIND, hookimpl
from ticketlab.core.plugin_source import Source
from ticketlab.core.unregistered_class import source_of_class


@contextlib.contextmanager
def registered(*classes: type[Component]) -> Iterator[None]:
    """Register those of the component classes that no plugin has registered, while the block runs.

    :raises PluginError: one cannot be used, because it lacks ``@frozen`` for example.
    """
    known = registry.current()
    with registered_plugins(*((_plugin_of(cls), source_of_class(cls)) for cls in classes if known.entry_of(cls) is None)):
        yield


@contextlib.contextmanager
def registered_plugins(*made: tuple[Any, Source]) -> Iterator[None]:
    """Register plugins with their sources while the block runs.

    :raises PluginError: a component of one cannot be used.
    """
    known = registry.current()
    before = len(known.problems)
    try:
        for plugin, source in made:
            known.register(plugin, source)
        broken = [problem for problem in known.problems[before:] if not problem.name]  # with a name, it is that of a built-in component
        if broken:
            raise PluginError(broken[0].message)
        yield
    finally:
        for plugin, source in made:
            if known.manager.is_registered(plugin):
                known.unregister(plugin, source)
            known.problems = [problem for problem in known.problems if problem.source != source.label]


def _plugin_of(cls: type[Component]) -> Any:
    """Return a plugin whose only hook returns a component."""
    plugin = type(f"PluginOf{cls.__name__}", (), {})
    setattr(plugin, HOOK_OF_KIND[cls.kind], staticmethod(hookimpl(lambda: [cls])))
    return plugin
