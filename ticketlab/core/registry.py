"""The registry: finds a component by kind and name among those that plugins have registered.

One registry is in use at a time, and :func:`current` returns it. It is global because components are built wherever a setting names one:
the converters of attrs classes, which turn ``"freelb"`` or a table into a component, receive nothing but the value, and a recipe, a
plugin or ``FreeLB(...)`` in a notebook must all resolve names in the same way. Passing a registry to some callers only would let
names be looked up in one registry and built from another. The command line sets it once from ``--plugin`` and the installed packages,
:func:`load_plugins` does so from Python, and tests use :func:`using`.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import define

from ticketlab.core import builtin_components
from ticketlab.core.component import Component
from ticketlab.core.errors import PluginError, SettingError, did_you_mean
from ticketlab.core.files import expand
from ticketlab.core.hookspecs import HOOK_OF_KIND
from ticketlab.core.plugin_loading import ENTRY_POINTS, Entry, LoadedPlugins, Source


def reason_absent(kind: str, name: str) -> str | None:
    """Return why no component has a well-known name; None for any other name."""
    return builtin_components.REFUSED.get((kind, name.lower().replace("-", "").replace("_", "")))


@define
class Registry(LoadedPlugins):
    """What is registered. Make one with :func:`load`."""

    def by_kind(self) -> Mapping[str, list[Entry]]:
        """Return every entry, grouped by kind, names sorted."""
        return {kind: [self.entries[kind, name] for name in self.names(kind)] for kind in HOOK_OF_KIND if self.names(kind)}

    def names(self, kind: str) -> list[str]:
        """Return the registered names of a kind, sorted."""
        return sorted(name for known_kind, name in self.entries if known_kind == kind)

    def entry(self, kind: str, name: str) -> Entry:
        """Return the entry of a component. In ``NAME:VALUE`` the name is the part before the colon.

        :raises SettingError: there is no such component; the message suggests the nearest name.
        :raises PluginError: two plugins claim the name.
        """
        name, _ = self.split(kind, name)
        self._refuse_duplicate(kind, name)
        found = self.entries.get((kind, name))
        if found is None:
            if (reason := reason_absent(kind, name)) is not None:
                raise SettingError(reason)
            broken = "".join(f" ({problem.message})" for problem in self.problems if not problem.name)
            raise SettingError(f"unknown {kind} `{name}`{did_you_mean(name, self.names(kind))}{broken}")
        return found

    def get(self, kind: str, name: str) -> type[Component]:
        """Return the class of a component, importing it if needed. Raises the errors of :meth:`entry` and :meth:`Entry.load`.

        :raises SettingError: the name is ``NAME:VALUE``, and the component has no variants.
        """
        cls = self.entry(kind, name).load()
        _, value = self.split(kind, name)
        if value is not None and not cls.variant:
            raise SettingError(f"{kind} `{cls.name}` has no variants: omit `:{value}`")
        return cls

    def split(self, kind: str, name: str) -> tuple[str, str | None]:
        """Return the two parts of ``NAME:VALUE``. The value is None if there is none."""
        base, colon, value = name.partition(":")
        return (base, value) if colon and (kind, name) not in self.entries else (name, None)

    def recipe(self, name: str) -> Path:
        """Return the file of a registered recipe.

        :raises PluginError: two plugins claim the name.
        """
        self._refuse_duplicate("recipe", name)
        return self.recipes[name][0]

    def source(self, component: Component) -> Source:
        """Return where a component comes from."""
        found = self.entries.get((component.kind, component.name))
        return found.source if found else Source(type(component).__module__, "")

    def version(self, component: Component) -> str:
        """Return the version of a component's code that is part of stage keys."""
        return f"{self.source(component).version}/{component.version}"

    def _refuse_duplicate(self, kind: str, name: str) -> None:
        for problem in self.problems:
            if problem.kind == kind and problem.name == name:
                raise PluginError(f"{problem.message}; remove one of the two")


def load(files: Sequence[str | Path] = (), *, entry_points: bool = True) -> Registry:
    """Make a registry of the built-ins, the installed plugins (unless ``entry_points`` is False) and plugin ``files``.

    :raises UsageError: a plugin file is missing.
    :raises PluginError: anything is wrong with a plugin and ``TICKETLAB_STRICT_PLUGINS=1``.
    """
    registry = Registry()
    registry.register(builtin_components, Source("ticketlab", "built-in"))
    if entry_points:
        for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
            registry.load_entry_point(point)
    for file in {(place := expand(file)).resolve(): place for file in files}.values():
        registry.load_file(file)
    return registry


def load_plugins(*files: str | Path) -> Registry:
    """Use plugin files from now on, in addition to the built-ins and the installed plugins. Raises the errors of :func:`load`."""
    registry = load(files)
    use(registry)
    return registry


_current: Registry | None = None


def current() -> Registry:
    """Return the registry in use; the first call loads built-ins and installed plugins."""
    global _current
    if _current is None:
        _current = load()
    return _current


def use(registry: Registry) -> None:
    """Make ``registry`` the one that :func:`current` returns."""
    global _current
    _current = registry


@contextlib.contextmanager
def using(registry: Registry) -> Iterator[Registry]:
    """Make ``registry`` current inside a with-block."""
    before = current()
    use(registry)
    try:
        yield registry
    finally:
        use(before)
