"""The sizes of runs and stages on disk, by kind of content."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from attrs import field, frozen

from ticketlab.lab.layout import (
    BEST,
    CHECKPOINT,
    EXPORTED,
    MODEL,
    PREDICTION_FILES,
    RECORDS,
    SCORES,
    TICKET,
    TICKETS,
    stage_folder,
)
from ticketlab.lab.mirror import find_mirror
from ticketlab.lab.open_lab import open_lab
from ticketlab.lab.store import Entry

OTHER = "other"
KINDS = ("models", "tickets", "scores", "records", "predictions", "checkpoints", "exports", OTHER)
"""The kinds of content, in the order in which they are shown."""
KIND_OF_NAME = {
    MODEL: "models",
    TICKET: "tickets",
    TICKETS: "tickets",
    SCORES: "scores",
    RECORDS: "records",
    PREDICTION_FILES: "predictions",
    CHECKPOINT: "checkpoints",
    BEST: "checkpoints",
    EXPORTED: "exports",
}
"""The kind of a file or folder at the top of a stage's folder or of a run's directory, by its name without a checkpoint."""


def kind_of(name: str) -> str:
    """Return the kind of a file or folder in the folder of a stage or in the directory of a run."""
    plain = name.partition("@")[0]
    return KIND_OF_NAME.get(plain, "predictions" if plain.startswith("predictions.") else OTHER)


def sizes_in(folder: Path) -> Counter[str]:
    """Return the bytes in a folder by kind, for a lab at a URL those in the store.

    A folder that does not exist has none, and symbolic links count as themselves.
    """
    sizes: Counter[str] = Counter()
    stored = _in_store(folder)
    if stored is not None:
        for name, file in stored.items():
            sizes[kind_of(name.partition("/")[0])] += file.size
        return sizes
    for entry in _entries(folder):
        sizes[kind_of(entry.name)] += _bytes_of(entry)
    return sizes


def stage_keys(lab: Path) -> list[str]:
    """Return the keys of all stages in a lab, finished or not."""
    return open_lab(lab).stage_keys()


@frozen
class StageSizes:
    """The sizes of the stages of a lab by key, each read once."""

    lab: Path
    known: dict[str, Counter[str]] = field(factory=dict)

    def of(self, key: str) -> Counter[str]:
        """Return the bytes of a stage by kind."""
        if key not in self.known:
            self.known[key] = sizes_in(stage_folder(self.lab, key))
        return self.known[key]

    def total(self, key: str) -> int:
        """Return the bytes of a stage."""
        return self.of(key).total()


def add(sizes: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Return the sum of sizes by kind."""
    total: Counter[str] = Counter()
    for one in sizes:
        total.update(one)
    return total


def _in_store(folder: Path) -> Mapping[str, Entry] | None:
    """Return the files of a folder of a lab at a URL; None for any other folder."""
    found = find_mirror(folder)
    return None if found is None else open_lab(found[0].root).files_in(folder)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return list(entries)
    return []


def _bytes_of(entry: os.DirEntry[str]) -> int:
    with contextlib.suppress(OSError):  # removed in the meantime
        if entry.is_dir(follow_symlinks=False):
            return sum(map(_bytes_of, _entries(Path(entry.path))))
        return entry.stat(follow_symlinks=False).st_size
    return 0
