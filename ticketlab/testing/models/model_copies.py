"""Copies of models that were loaded before: loading a tiny model takes several times as long as copying it."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Collection, Iterator
from typing import Any

from ticketlab.backbone import loading

LOADERS = ("load_classifier", "load_mlm")
"""The functions of :mod:`ticketlab.backbone.loading` that objectives start from."""


class ModelCopies:
    """What the loaders returned for each model and set of arguments, with the warnings that they called."""

    def __init__(self) -> None:
        self._loaded: dict[Any, tuple[Any, list[str]]] = {}

    @contextlib.contextmanager
    def in_use(self, models: Callable[[], Collection[str]]) -> Iterator[None]:
        """Load each of the models, whose files never change, once, and return copies from then on, inside the block.

        A loader that a module has imported by its name is not replaced.
        """
        originals = {name: getattr(loading, name) for name in LOADERS}
        for name, original in originals.items():
            setattr(loading, name, self._copying(original, models))
        try:
            yield
        finally:
            for name, original in originals.items():
                setattr(loading, name, original)

    def _copying(self, original: Callable[..., Any], models: Callable[[], Collection[str]]) -> Callable[..., Any]:
        """Return a loader that copies what the original returned before."""

        def load(name: str, *arguments: Any, warn: Callable[[str], None] = loading.python_warning) -> Any:
            *own, last = arguments if arguments and callable(arguments[-1]) else (*arguments, warn)
            if name not in models():
                return original(name, *own, last)
            key = (original.__name__, name, *map(_hashable, own))
            if key not in self._loaded:
                warnings: list[str] = []
                self._loaded[key] = original(name, *own, warnings.append), warnings
            found, warnings = self._loaded[key]
            for warning in warnings:
                last(warning)
            return copy.deepcopy(found)

        return load


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
