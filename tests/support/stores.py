"""Labs in stores, as several machines see them: each has mirrors of its own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ticketlab.lab.mirror import CACHE
from ticketlab.lab.open_lab import open_lab
from ticketlab.lab.stored_lab import StoredLab

KEY, OTHER = "ab" * 32, "cd" * 32
RESULT = {"kind": "train", "cost": {"seconds": 1.0}}


@contextlib.contextmanager
def machine(place: Path) -> Iterator[None]:
    """Have the mirrors of another machine, in a folder, while the block runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE, str(place))
        yield


def lab_at(url: str, place: Path) -> StoredLab:
    """Return a lab as the machine with its mirrors in a folder sees it."""
    with machine(place):
        lab = open_lab(url)
    assert isinstance(lab, StoredLab)
    return lab


def compute(lab: StoredLab, key: str = KEY, content: str = "weights") -> None:
    """Finish a stage with a file."""
    with lab.lock(key, "a stage") as folder:
        (folder / "model").mkdir()
        (folder / "model" / "weights").write_text(content)
        lab.finish(key, RESULT)


def names_in(lab: StoredLab, folder: str = "stages") -> list[str]:
    """Return the names of the files in the store, without the folders above them."""
    return sorted(os.path.basename(name) for name in lab.store.entries(folder))  # noqa: PTH119  # not a path


def fail(*_: Any, **__: Any) -> None:
    raise OSError("the network is down")
