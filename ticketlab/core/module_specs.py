"""Finds modules without importing anything."""

from __future__ import annotations

from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec


def find(name: str) -> ModuleSpec | None:
    """Return the spec of a module, without importing the packages that it is in; None if there is no such module."""
    first, *rest = name.split(".")
    try:
        spec = find_spec(first)
    except (ImportError, ValueError):
        return None
    for part in rest:
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(f"{spec.name}.{part}", list(spec.submodule_search_locations))
    return spec
