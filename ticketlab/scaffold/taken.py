"""Refuses the name of a package whose plugins would have the names of others."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Iterable

from ticketlab.core import registry
from ticketlab.core.errors import UsageError
from ticketlab.core.plugin_source import canonical
from ticketlab.scaffold.kinds import PluginKind
from ticketlab.scaffold.names import Names


def check_free(names: Names, kinds: Iterable[PluginKind]) -> None:
    """Check that no component or recipe of these kinds has the name, no installed package has that of the package, and results allow it.

    :raises UsageError: one does; the message says which.
    """
    known = registry.current()
    for kind in kinds:
        entries = known.registered.get((kind.kind, names.component), ())
        if entries:
            owner = "ticketlab itself" if entries[0].source.is_built_in else entries[0].source.label
            raise UsageError(f"the {kind.kind} `{names.component}` is one of {owner}; choose another name for yours")
        _check_reserved(names.component, kind)
    for package in importlib.metadata.distributions():
        if canonical(package.name or "") == canonical(names.package):
            raise UsageError(f"{package.name} {package.version} is installed; choose another name for your package, or uninstall that one")


def _check_reserved(name: str, kind: PluginKind) -> None:
    """Refuse a name that results use for other numbers."""
    module = {"metric": "ticketlab.metrics.base", "stage": "ticketlab.stages.result"}.get(kind.kind)
    if module is not None and name in importlib.import_module(module).RESERVED:  # imports numpy
        raise UsageError(f"a {kind.kind} cannot be called `{name}`, because results use that name for something else; choose another")
