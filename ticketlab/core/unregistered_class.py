"""The source of components that no plugin registers, such as a class of a script or a notebook."""

from __future__ import annotations

import hashlib
import inspect
import sys
from pathlib import Path

from ticketlab.core.component import Component
from ticketlab.core.errors import UsageError
from ticketlab.core.plugin_source import HASHED, PluginCode, Source


def source_of_class(cls: type[Component]) -> Source:
    """Return the source of a class that no plugin registers: the files of the class and of its bases outside ticketlab.

    The version of a class without a file, such as one of a notebook, is the hash of its text.
    """
    classes = [base for base in cls.__mro__ if issubclass(base, Component) and base.__module__.partition(".")[0] != "ticketlab"]
    files = {Path(file) for base in classes if (file := _file_of(base))}
    if len(files) == len({base.__module__ for base in classes}):
        return Source(cls.__module__, "", cls.__module__, PluginCode(places=tuple(sorted(files))))
    try:
        text = "\n".join(inspect.getsource(base) for base in classes)
    except (OSError, TypeError):
        raise UsageError(
            f"the code of {cls.__name__} cannot be read, so its results cannot be told from those of other code: define it in a file"
        ) from None
    return Source(cls.__module__, f"{HASHED}{hashlib.sha256(text.encode()).hexdigest()}")


def _file_of(cls: type) -> str | None:
    return getattr(sys.modules.get(cls.__module__), "__file__", None)
