"""What a writer writes about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen


@frozen
class Place:
    """What a writer writes about: one task and seed of a run, or one stage of a study."""

    folder: Path
    """The folder for files of trackers in the directory of the run."""
    run: str
    name: str
    """A relative path that is valid in file names."""
    settings: Mapping[str, Any]
    """The settings of the run and its stages: numbers, texts and truth values, by dotted names."""
