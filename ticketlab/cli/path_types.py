"""The type of options and arguments that name a file or folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ticketlab.core.files import expand


class PathType(click.Path):
    """A file or folder. ``~`` is expanded, also where the shell does not (``--lab=~/lab``, an environment variable)."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(path_type=Path, **settings)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. An empty one is an error, because it would mean the working directory."""
        if not str(value).strip():
            self.fail("the path is empty; give a file or a folder", param, ctx)
        return super().convert(expand(value), param, ctx)
