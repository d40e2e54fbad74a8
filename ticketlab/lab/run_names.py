"""The names of runs: their directories, the names that users gave them, and the digests of their work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ticketlab.lab.layout import run_directories, run_folder
from ticketlab.lab.run_file import read_run_file

DIGITS = 10
"""The number of digits of the digest at the end of a directory's name."""
DIGEST_AT_END = re.compile(rf"-([0-9a-f]{{{DIGITS}}})$")
SHORTEST_PREFIX = 3
"""The minimum length of a prefix of a name or of a digest."""


def run_named(name: str, lab: Path) -> Path | None:
    """Return the directory of the run with this whole name, finished or not: that of the directory, or one that a user gave the run."""
    if not name or name.startswith(".") or "/" in name or "\\" in name:
        return None
    folder = run_folder(lab, name)
    if folder.is_dir():
        return folder
    return next((run for run, names in _given_names(lab) if name in names), None)


def runs_with_prefix(prefix: str, lab: Path) -> list[Path]:
    """Return the directories of the runs whose name or digest begins with ``prefix``; none if it is too short."""
    if len(prefix) < SHORTEST_PREFIX:
        return []
    given = dict(_given_names(lab))
    return [
        run
        for run in run_directories(lab)
        if any(name.startswith(prefix) for name in (run.name, *given.get(run, ()))) or digest_of(run).startswith(prefix)
    ]


def names_of_runs(lab: Path) -> list[str]:
    """Return the names of all runs: those of their directories, and those that users gave them."""
    return [*(run.name for run in run_directories(lab)), *(name for _, names in _given_names(lab) for name in names)]


def run_of_digest(digest: str, lab: Path) -> Path | None:
    """Return the directory of the run of this work; None if the lab has none."""
    for run in run_directories(lab):
        ending = DIGEST_AT_END.search(run.name)
        if ending is not None and not digest.startswith(ending[1]):
            continue
        found = read_run_file(run)
        if found.digest == digest if found is not None else ending is not None:
            return run
    return None


def digest_of(run: Path) -> str:
    """Return the digest of a run's work, or its first digits if an earlier version made the run; empty if unknown."""
    found = read_run_file(run)
    ending = DIGEST_AT_END.search(run.name)
    return found.digest if found is not None else ending[1] if ending is not None else ""


def _given_names(lab: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield each run that has further names, with them."""
    for run in run_directories(lab):
        found = read_run_file(run)
        if found is not None and found.names:
            yield run, found.names
