"""An argument of a spawned process that is unpickled when it is needed, and not before the process has begun."""

from __future__ import annotations

import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class LatePickle(Generic[T]):
    """Holds a value. In another process :meth:`value` unpickles it, when the plugins that define its classes have been loaded.

    An error in it is then one of the process itself, which reports it to its parent. The bytes come from the parent process through
    :mod:`multiprocessing`, which pickles all arguments of a spawned process, and never from a file.
    """

    def __init__(self, value: T) -> None:
        self._value: T | None = value
        self._pickled = b""

    def value(self) -> T:
        """Return the value."""
        if self._value is None:
            self._value = pickle.loads(self._pickled)
        assert self._value is not None
        return self._value

    def __getstate__(self) -> dict[str, Any]:
        return {"_value": None, "_pickled": bytes(ForkingPickler.dumps(self._value))}
