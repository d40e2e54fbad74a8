"""Replaces classes of textattack while a recipe is built, wherever the recipe takes them from."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any


@contextlib.contextmanager
def replaced(originals: Mapping[Any, Callable[..., Any]], own: str) -> Iterator[None]:
    """Give every name of ``originals`` another value during the block: in the modules of ``own``, and where they can import it from.

    ``own`` is the package or module of the recipe. The module that defines a class keeps it, since its methods refer to it. While a
    substitute is called, all names have their own values.
    """
    imported = len(sys.modules)
    found = _places(tuple(originals), own, imported)

    def suspended(substitute: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            _assign(places, originals=True)
            try:
                return substitute(*arguments, **options)
            finally:
                _assign(places, originals=False)

        return call

    calls = {original: suspended(substitute) for original, substitute in originals.items()}
    places = [(module, name, original, calls[original]) for module, name, original in found]
    _assign(places, originals=False)
    try:
        yield
    finally:
        _assign(places, originals=True)
        if len(sys.modules) != imported:  # modules that were imported meanwhile have the substitutes
            by_call = {call: original for original, call in calls.items()}
            for module, name, call in _places(tuple(by_call), own, len(sys.modules)):
                setattr(module, name, by_call[call])


def _assign(places: Iterable[tuple[ModuleType, str, Any, Any]], *, originals: bool) -> None:
    for module, name, original, substitute in places:
        setattr(module, name, original if originals else substitute)


@functools.lru_cache(maxsize=8)
def _places(originals: tuple[Any, ...], own: str, modules: int) -> list[tuple[ModuleType, str, Any]]:
    """Return each module and name that has one of the originals. It is looked up again when the number of ``modules`` changes."""
    by_id = {id(original): original for original in originals}
    packages = [(name, module) for name, module in list(sys.modules.items()) if f"{name}.".startswith(("textattack.", f"{own}."))]
    return [
        (module, name, by_id[id(value)])
        for package, module in packages
        for name, value in list(vars(module).items())
        if id(value) in by_id and getattr(value, "__module__", "") != package
    ]
