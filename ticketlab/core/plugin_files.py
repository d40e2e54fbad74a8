"""Imports plugin files and folders that are named by their path, each as a package of its own.

A plugin file ``my.py`` may import the modules and packages beside it: ``import helper`` or ``from . import helper``. They become submodules
of the plugin, so two plugins with a ``helper.py`` each have their own, and nothing is put on ``sys.path``. A plugin that is the folder of a
package imports its own modules as ``from . import helper`` or by its name.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from attrs import frozen

from ticketlab.core import builtin_components
from ticketlab.core.plugin_code import beside

INIT = "__init__.py"


def is_plugin(place: Path) -> bool:
    """Return whether a path is a Python file, or the folder of a package."""
    return (place.is_file() and place.suffix == ".py") or (place / INIT).is_file()


def load(place: Path, identity: str) -> ModuleType:
    """Import a plugin file or folder and return its module. Raises whatever the plugin raises.

    ``identity`` distinguishes it from other plugins and from other states of its code; the same state is imported once in a process.
    """
    name = f"ticketlab_plugin_{re.sub(r'[^a-zA-Z0-9]', '_', place.stem)}_{identity}"
    if name in sys.modules:
        return sys.modules[name]
    file = place / INIT if place.is_dir() else place
    _imports[name] = _Imports(name, place)
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
    loader = _Loader(name, str(file), _imports[name])
    spec = importlib.util.spec_from_file_location(name, file, loader=loader, submodule_search_locations=[str(file.parent)])
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        loader.exec_module(module)
    except BaseException:
        for loaded in [loaded for loaded in sys.modules if f"{loaded}.".startswith(f"{name}.")]:
            del sys.modules[loaded]
        raise
    return module


def full_name(plugin: ModuleType, module: str) -> str:
    """Return the name under which a plugin's own module is imported; the name itself for a module of somebody else."""
    imports = _imports.get(plugin.__name__)
    return (imports.own_name(module) if imports is not None else None) or module


def place_of(plugin: ModuleType) -> Path | None:
    """Return the file or folder that a plugin was loaded from; None for a module that :func:`load` has not loaded."""
    imports = _imports.get(plugin.__name__)
    return imports.place if imports is not None else None


@frozen
class _Imports:
    """The import statement of a plugin's modules: it finds the plugin's own modules first, and everything else as usual."""

    package: str
    place: Path

    def own_name(self, name: str) -> str | None:
        """Return the full name of a module of the plugin that is imported as ``name``; None for a module of somebody else."""
        first, dot, rest = name.partition(".")
        if first == self.place.stem:
            return f"{self.package}{dot}{rest}"
        return f"{self.package}.{name}" if self.place.is_file() and beside(self.place.parent, first) is not None else None

    def __call__(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Import a module, as ``__import__`` does."""
        own = self.own_name(name) if level == 0 else None
        if own is None:
            if level == 0:
                _import_carefully(name.partition(".")[0])
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        module = builtins.__import__(own, globals, locals, fromlist or ("__name__",), 0)
        return module if fromlist else sys.modules[self.own_name(name.partition(".")[0]) or own]


def _import_carefully(package: str) -> None:
    """Import a package in our own way before a plugin does so in another, if there is one for it."""
    place = builtin_components.IMPORTERS.get(package)
    if place is not None and package not in sys.modules and importlib.util.find_spec(package) is not None:
        module, _, function = place.partition(":")
        getattr(importlib.import_module(module), function)()


_imports: dict[str, _Imports] = {}
"""The import statement of each plugin, by the name of its module."""


class _Loader(SourceFileLoader):
    """Loads a module of a plugin: its import statements call the ``__import__`` of the builtins that are set here."""

    def __init__(self, name: str, path: str, imports: _Imports) -> None:
        super().__init__(name, path)
        self._imports = imports

    def path_stats(self, path: str) -> Any:
        """Use no cached bytecode, which may be that of a file that was changed within the same second."""
        raise OSError

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module."""
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._imports}
        super().exec_module(module)


class _Finder:
    """Finds the submodules of plugins. Python calls it before its own finders."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of a submodule of a plugin; None for every other module."""
        imports = _imports.get(name.partition(".")[0])
        spec = PathFinder.find_spec(name, path, target) if imports is not None else None
        if spec is not None and imports is not None and isinstance(spec.loader, SourceFileLoader) and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin, imports)
        return spec
