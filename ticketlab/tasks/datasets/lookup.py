"""Resolves the value of ``--task``: the name of a task, a path, or the name of a data set on the hub."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from ticketlab.core import progress, registry
from ticketlab.core.errors import SettingError, did_you_mean
from ticketlab.core.files import expand
from ticketlab.tasks.base import Task
from ticketlab.tasks.datasets import hub_names
from ticketlab.tasks.datasets.hub_dataset import HubDataset
from ticketlab.tasks.datasets.hub_names import HubName
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.reading import file_kinds

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_HUB_URL = re.compile(r"(?:huggingface\.co|hf\.co|hf:/)/datasets/([\w.-]+/[\w.-]+)")
_NOT_BY_NAME = {
    LocalDataset.name: "a path: pass the file or folder itself",
    HubDataset.name: "a data set: pass its name on the hub, OWNER/NAME,",
}


def find_task(
    value: str,
    text_columns: Sequence[str] = (),
    label_column: str | None = None,
    labels: Sequence[str] = (),
    drop_labels: Sequence[str] = (),
) -> Task:
    """Return the task with this name, the local files at this path, or the data set with this name on the hub.

    The name of a task takes precedence over a folder with that name (``./sst2`` is the folder), and a file or folder over the hub. Any
    other ``owner/name`` is a data set on the hub, unless ``owner`` is a local folder.

    :raises SettingError: the value is none of these, or a URL; or columns or labels are given for a task that declares its own.
    """
    known = registry.current()
    if value in _NOT_BY_NAME:
        raise SettingError(f"task `{value}` needs {_NOT_BY_NAME[value]} instead of the name")
    if known.knows("task", value):
        given = {"--text-column": text_columns, "--label-column": label_column, "--labels": labels, "--drop-label": drop_labels}
        flags = [flag for flag, setting in given.items() if setting]
        if flags:
            raise SettingError(
                f"{flags[0]}: task `{value}` declares its own columns and labels; this option is for local files (`./{value}` "
                "is a path) and the hub"
            )
        return cast(type[Task], known.get("task", value))()
    if (reason := registry.reason_absent("task", value)) is not None:
        raise SettingError(f"{reason}{f' (`./{value}` is the local file or folder of this name)' if Path(value).exists() else ''}")
    if _URL.match(value):
        of_hub = _HUB_URL.search(value)
        todo = f"pass `{of_hub[1]}`, its name on the hub" if of_hub else "download it, and pass the file"
        raise SettingError(f"{value}: a URL, but data is read from files; {todo}")
    on_hub = hub_names.parse(value)
    if on_hub and _is_on_hub(value, on_hub):
        return HubDataset(
            dataset=on_hub.dataset,
            config=on_hub.config,
            revision=on_hub.revision,
            text_columns=tuple(text_columns),
            label_column=label_column,
            labels=tuple(labels),
            drop_labels=tuple(drop_labels),
        )
    if not _looks_like_path(value):
        near = did_you_mean(value, known.names("task"))
        raise SettingError(
            f"unknown task `{value}`{near} (or pass the path of a {', '.join(file_kinds.SUFFIXES)} file or of a folder of them, "
            "or a data set on the hub as OWNER/NAME)"
        )
    if on_hub and Path(value).is_dir():
        progress.say(f"{value}: reading the local folder, not a data set on the hub (`./{value}` always means the folder)")
    return LocalDataset(
        path=value,
        text_columns=tuple(text_columns),
        label_column=label_column,
        labels=tuple(labels),
        drop_labels=tuple(drop_labels),
    )


def _is_on_hub(value: str, name: HubName) -> bool:
    """Return whether a name in the form OWNER/NAME cannot be a path: there is no such file, and no folder OWNER."""
    owner = name.dataset.partition("/")[0]
    return not (_exists(value) or file_kinds.has_known_suffix(Path(name.dataset)) or Path(owner).is_dir())


def _looks_like_path(value: str) -> bool:
    separators = (os.sep, "/", os.altsep or os.sep)
    is_path = any(mark in value for mark in separators) or file_kinds.has_known_suffix(Path(value)) or value.startswith("~")
    return is_path or (bool(value) and _exists(value))


def _exists(value: str) -> bool:
    """Return whether there is a file or folder, or an inaccessible path."""
    try:
        return expand(value).exists()
    except OSError:
        return True
