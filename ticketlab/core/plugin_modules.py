"""Modules of plugins that users name, as in ``textattack:MODULE:CLASS``.

Only modules of loaded plugins can be named: of installed plugins, and of files and folders that are named with ``--plugin``. Otherwise a
recipe, which is only read, could have any module of the machine imported.
"""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Protocol

import pluggy
from attrs import frozen

from ticketlab.core import module_specs
from ticketlab.core.errors import UsageError, did_you_mean, nearest
from ticketlab.core.plugin_source import Source


class Loaded(Protocol):
    """The part of the registry that is needed here."""

    sources: list[Source]
    manager: pluggy.PluginManager

    def files_of(self, source: Source) -> list[Path]:
        """Return the files of a plugin."""


@frozen
class PluginModule:
    """A module of a loaded plugin: its source, the name under which it is imported, and its file. It may not be imported yet."""

    source: Source
    name: str
    file: Path

    def tree(self) -> ast.Module:
        """Return the syntax tree of the source.

        :raises UsageError: it is no Python.
        """
        try:
            return ast.parse(self.file.read_bytes())
        except (SyntaxError, ValueError) as problem:
            raise UsageError(f"{self.file}: {problem}") from None


def find(name: str, known: Loaded) -> PluginModule:
    """Return the module of one of the ``known`` plugins, by the name that the plugin itself imports it by. Nothing is imported.

    :raises UsageError: no loaded plugin has the module, or several do.
    """
    found = [module for source in known.sources if (module := _in(source, name, known)) is not None]
    if len(found) > 1:
        both = " and ".join(module.source.label for module in found)
        raise UsageError(f"the module `{name}` is in {both}: rename one, or the file that it is in")
    if found:
        return found[0]
    first = name.partition(".")[0]
    near = nearest(first, [_first(source) for source in known.sources if not source.is_built_in])
    hint = f"; did you mean `{near}`?" if near and near != first else ": name its file with --plugin, or install its package as a plugin"
    raise UsageError(f"no loaded plugin has the module `{name}`, and no others are imported{hint}")


def check_defines(module: PluginModule, name: str, shown: str) -> None:
    """Check that the source of a module defines or imports a name at its top level. ``shown`` is the name of the module in the message.

    :raises UsageError: it does not; the message suggests the nearest name.
    """
    names: set[str] = set()
    for node in module.tree().body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif not isinstance(node, ast.Expr):
            return  # it may define anything, as in a condition
    if name not in names and "*" not in names:
        raise UsageError(f"`{shown}` has no `{name}`{did_you_mean(name, names)} ({module.file})")


def _first(source: Source) -> str:
    place = next(iter(source.code.places), None)
    return place.stem if place is not None else next(iter(source.code.modules), "").partition(".")[0]


def _in(source: Source, name: str, known: Loaded) -> PluginModule | None:
    """Return the module if it is one of this plugin's own."""
    if source.is_built_in:
        return None
    full = name
    if source.code.places:
        from ticketlab.core import plugin_files

        plugins = [plugin for _, plugin in known.manager.list_name_plugin() if isinstance(plugin, ModuleType)]
        here = [plugin for plugin in plugins if plugin_files.place_of(plugin) == source.code.places[0]]
        full = plugin_files.full_name(here[0], name) if here else name
        if full == name:
            return None
        try:
            spec = find_spec(full)
        except (ImportError, ValueError):
            return None
    elif name.partition(".")[0] in {module.partition(".")[0] for module in source.code.modules}:
        spec = module_specs.find(name)
    else:
        return None
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).resolve()  # code that is not hashed cannot be named
    return PluginModule(source, full, file) if file in {own.resolve() for own in known.files_of(source)} else None
