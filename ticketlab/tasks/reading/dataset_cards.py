"""Reads the card (README.md) of a hub data set, whose YAML front matter lists the files of each split."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.split_names import assign_splits

CARD = "README.md"
_LARGEST = 1 << 20


def splits(folder: Path) -> Mapping[str, Sequence[Path]] | None:
    """Return the files of each split according to the folder's card; None if there is no card, or it lists no files.

    :raises DataError: it has several configurations and no default, or lists files that do not exist.
    """
    configs = _configs(folder / CARD)
    if not configs:
        return None
    default = [config for config in configs if config.get("default") is True or config.get("config_name") == "default"]
    if len(default or configs) != 1:
        names = ", ".join(str(config.get("config_name")) for config in configs[:12])
        folders = all((folder / str(config.get("config_name"))).is_dir() for config in configs)
        todo = "pass the folder of one" if folders else "put the files of one into a folder, and name them after their splits"
        raise DataError(f"{folder}: {CARD} has several configurations ({names}); {todo}")
    (config,) = default or configs
    patterns = _patterns(config["data_files"])
    assigned = assign_splits(str(folder / CARD), list(patterns))
    return {split: _files(folder, patterns[name]) for split, name in assigned.splits.items()}


def _configs(card: Path) -> list[Mapping[str, Any]]:
    """Return the configurations that list files."""
    if not card.is_file() or card.stat().st_size > _LARGEST:
        return []
    start, _, rest = card.read_text(encoding="utf-8-sig", errors="replace").partition("---\n")
    front, end, _ = rest.partition("\n---")
    if start.strip() or not end:
        return []
    yaml: Any = importlib.import_module("yaml")  # a dependency of datasets
    try:
        found = yaml.safe_load(front)
    except (yaml.YAMLError, ValueError, RecursionError):
        return []
    configs = found.get("configs") if isinstance(found, dict) else None
    if not isinstance(configs, list):
        return []
    return [config for config in configs if isinstance(config, dict) and config.get("data_files")]


def _patterns(data_files: Any) -> dict[str, list[str]]:
    """Return the file patterns of each split; if no splits are listed, all files are for training."""
    if isinstance(data_files, dict):
        data_files = [{"split": split, "path": path} for split, path in data_files.items()]
    listed = data_files if isinstance(data_files, list) else [data_files]
    found: dict[str, list[str]] = {}
    for entry in listed:
        split, path = (str(entry.get("split", "train")), entry.get("path")) if isinstance(entry, dict) else ("train", entry)
        found.setdefault(split, []).extend(str(pattern) for pattern in (path if isinstance(path, list) else [path]))
    return found


def _files(folder: Path, patterns: Sequence[str]) -> list[Path]:
    found: dict[Path, None] = {}
    for pattern in patterns:
        outside = Path(pattern).is_absolute() or ".." in Path(pattern).parts
        try:
            matched = [] if outside else sorted(file for file in folder.glob(pattern) if file.is_file())
        except ValueError:  # an invalid pattern
            matched = []
        if not matched:
            raise DataError(f"{folder / CARD}: it lists {pattern}, but no file in this folder matches; download the whole data set")
        found.update(dict.fromkeys(matched))
    return list(found)
