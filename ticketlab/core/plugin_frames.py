"""Where in the files of a plugin an error was raised, and the error as one line."""

from __future__ import annotations

import os
import traceback
from collections.abc import Collection
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core.plugin_source import shown_path

LONGEST_MESSAGE = 500


@frozen
class Frame:
    """A frame of a traceback. ``depth`` counts the frames above it, and ``place`` is the text for messages."""

    depth: int
    place: str


def raised_in(problem: BaseException, files: Collection[Path]) -> Frame | None:
    """Return the deepest frame of an error that is in one of the files; None if there is none."""
    own = {os.path.realpath(file): file for file in files}
    found = None
    for depth, (frame, line) in enumerate(traceback.walk_tb(problem.__traceback__)):
        file = own.get(os.path.realpath(frame.f_code.co_filename))
        if file is not None:
            function = frame.f_code.co_name
            inside = f", in {function}" if function != "<module>" else ""
            found = Frame(depth, f"{shown_path(file)}:{line}{inside}")
    return found


def place_of(thing: Any) -> str:
    """Return where a class or function is defined, as ``FILE:LINE``; an empty string if its source cannot be read."""
    import inspect  # needed for error messages alone

    try:
        _, line = inspect.getsourcelines(thing)
        file = inspect.getsourcefile(thing)
    except (OSError, TypeError):
        return ""
    return f"{shown_path(Path(file))}:{line}" if file is not None else ""


def owners(problem: BaseException) -> list[Any]:
    """Return the objects whose methods were running when an error was raised, the innermost first."""
    frames = [frame for frame, _ in traceback.walk_tb(problem.__traceback__)]
    return [frame.f_locals["self"] for frame in reversed(frames) if "self" in frame.f_locals]


def missing_method(problem: BaseException) -> str:
    """Return the method of a base class, ``Class.method``, that an author has not written and that was called; else nothing."""
    if not isinstance(problem, NotImplementedError) or str(problem):
        return ""
    frame = [frame for frame, _ in traceback.walk_tb(problem.__traceback__)][-1]
    return f"{type(frame.f_locals['self']).__name__}.{frame.f_code.co_name}" if "self" in frame.f_locals else ""


def describe(problem: BaseException, files: Collection[Path] = ()) -> str:
    """Return an error as one line, with the place in the files where it was raised."""
    missing = missing_method(problem)
    words = f"{missing} is not defined" if missing else " ".join(str(problem).split())
    words = words if len(words) <= LONGEST_MESSAGE else f"{words[:LONGEST_MESSAGE]}..."
    frame = raised_in(problem, files)
    return f"{type(problem).__name__}{f': {words}' if words else ''}{f' ({frame.place})' if frame else ''}"
