"""What ``--task VALUE`` accepts: the name of a task, or a path."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from ticketlab import registry
from ticketlab.errors import SettingError, did_you_mean
from ticketlab.tasks.base import Task
from ticketlab.tasks.files import SUFFIXES
from ticketlab.tasks.local import Local


def choose(value: str, text_columns: Sequence[str] = (), label_column: str | None = None, labels: Sequence[str] = ()) -> Task:
    """Return the task of this name, or the local files at this path. A name goes before a folder of that name; ``./sst2`` is the folder.

    :raises SettingError: neither a name nor a path; or columns or labels for a task that has its own.
    """
    known = registry.current()
    if value != Local.name and value in known.names("task"):
        given = {"--text-column": text_columns, "--label-column": label_column, "--labels": labels}
        flags = [flag for flag, asked in given.items() if asked]
        if flags:
            raise SettingError(
                f"{flags[0]}: task `{value}` has its own columns and labels; this is for local files (`./{value}` is a path)"
            )
        return cast(type[Task], known.get("task", value))()
    if value == Local.name:
        raise SettingError(f"task `{value}` needs a path: give the file or folder itself in place of the name")
    if not _looks_like_path(value):
        near = did_you_mean(value, known.names("task"))
        raise SettingError(f"there is no task `{value}`{near} (a path is possible too: a {', '.join(SUFFIXES)} file, or a folder of them)")
    return Local(path=value, text_columns=tuple(text_columns), label_column=label_column, labels=tuple(labels))


def _looks_like_path(value: str) -> bool:
    separators = (os.sep, "/", os.altsep or os.sep)
    is_path = any(mark in value for mark in separators) or value.lower().endswith(SUFFIXES) or value.startswith("~")
    return is_path or (bool(value) and Path(value).exists())
