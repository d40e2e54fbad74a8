"""``run.json`` in the directory of a run: what identifies its work, known before the run has results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from ticketlab.core import files
from ticketlab.lab.layout import RUN_FILE


@frozen(kw_only=True)
class RunFile:
    """What is known about a run when it starts.

    ``digest`` is the hash of its work, and ``names`` are the further names that users gave it. ``recipe``, ``scale``, ``label`` and
    ``overrides`` are those of its first command, since other commands may request the same work. ``keys`` are those of its stages.
    Relative paths in ``recipe.toml`` are relative to ``working_directory``.
    """

    digest: str
    names: tuple[str, ...] = ()
    recipe: str
    scale: str
    label: str
    overrides: Mapping[str, Any]
    model: str
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    keys: tuple[str, ...]
    working_directory: str
    started: str

    def write(self, run: Path) -> None:
        """Write the file in the directory of a run."""
        files.write_json(run / RUN_FILE, attrs.asdict(self))


def read_run_file(run: Path) -> RunFile | None:
    """Return the file of a run; None if an earlier version of ticketlab made the run, or the file is damaged."""
    try:
        content = files.read_json(run / RUN_FILE)
        return RunFile(
            digest=str(content["digest"]),
            names=tuple(map(str, content["names"])),
            recipe=str(content["recipe"]),
            scale=str(content["scale"]),
            label=str(content["label"]),
            overrides=dict(content["overrides"]),
            model=str(content["model"]),
            tasks=tuple(map(str, content["tasks"])),
            seeds=tuple(map(int, content["seeds"])),
            keys=tuple(map(str, content["keys"])),
            working_directory=str(content["working_directory"]),
            started=str(content["started"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
