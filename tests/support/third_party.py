"""Registering the components of third parties in tests."""

import contextlib
from collections.abc import Iterator
from typing import Any

from ticketlab.core import registry
from ticketlab.core.hookspecs import hookimpl
from ticketlab.core.plugin_loading import Source


@contextlib.contextmanager
def registered(*plugins: Any) -> Iterator[None]:
    """Register plugins (modules, or component classes) while the block runs. A problem with one is an error."""
    known = registry.current()
    before = len(known.problems)
    made = [
        (_plugin_of(plugin) if isinstance(plugin, type) else plugin, Source(f"third party {plugin.__name__}", "1")) for plugin in plugins
    ]
    try:
        for plugin, source in made:
            known.register(plugin, source)
        assert not known.problems[before:], known.problems[before:]
        yield
    finally:
        for plugin, source in made:
            if known.manager.is_registered(plugin):
                known.unregister(plugin, source)
            known.problems = [problem for problem in known.problems if problem.source != source.label]


def _plugin_of(cls: Any) -> Any:
    """Return a plugin with one component."""
    hook = {"pruner": "ticketlab_pruners", "adversary": "ticketlab_adversaries", "loss": "ticketlab_losses"} | {
        "objective": "ticketlab_objectives",
        "stop rule": "ticketlab_stop_rules",
    }
    name = hook[cls.kind]

    class Plugin:
        pass

    function = lambda: [cls]  # noqa: E731
    function.__name__ = name
    setattr(Plugin, name, staticmethod(hookimpl(function)))
    return Plugin
