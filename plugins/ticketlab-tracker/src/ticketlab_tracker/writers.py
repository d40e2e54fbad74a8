"""What a tracker writes to, and which of them are used."""

from __future__ import annotations

import difflib
import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from ticketlab_tracker.place import Place

CHOICE = "TICKETLAB_TRACKER"
NONE = "none"
WRITERS = ("tensorboard", "wandb")
"""The libraries that there is a writer for."""


class Writer(Protocol):
    """Writes to one library."""

    where: Path
    """The folder that it writes to."""

    def __init__(self, place: Place) -> None: ...

    def numbers(self, values: Mapping[str, float], step: int) -> None:
        """Write numbers of a step of a training."""

    def results(self, values: Mapping[str, float]) -> None:
        """Write final numbers."""

    def close(self, status: str) -> None:
        """Write what is left, and close files."""


def chosen() -> list[str]:
    """Return the names of the writers to use: those in ``TICKETLAB_TRACKER``, or else all whose library is installed.

    :raises ValueError: a name is unknown.
    :raises ImportError: the library of a requested one is not installed.
    """
    value = os.environ.get(CHOICE, "").strip()
    if not value:
        return [name for name in WRITERS if importlib.util.find_spec(name) is not None]
    names = [name.strip().lower() for name in value.split(",") if name.strip()]
    if names == [NONE]:
        return []
    for name in names:
        if name not in WRITERS:
            near = difflib.get_close_matches(name, [*WRITERS, NONE], n=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; available: {', '.join(map(repr, [*WRITERS, NONE]))}"
            raise ValueError(f"{CHOICE}={value}: there is no tracker `{name}`{hint}")
        if importlib.util.find_spec(name) is None:
            raise ImportError(f"{CHOICE}={value}: {name} is not installed: pip install 'ticketlab-tracker[{name}]'")
    return list(dict.fromkeys(names))


def make(name: str, place: Place) -> Writer:
    """Return the writer of a library."""
    if name == "tensorboard":
        from ticketlab_tracker.tensorboard_writer import TensorBoardWriter

        return TensorBoardWriter(place)
    from ticketlab_tracker.wandb_writer import WandbWriter

    return WandbWriter(place)
