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


class LabType(PathType):
    """A lab: a directory, or a URL, which is converted to the folder of its mirror, brought up to date."""

    def __init__(self) -> None:
        super().__init__(file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the folder of the lab."""
        if "://" not in str(value):
            return super().convert(value, param, ctx)
        from ticketlab.lab.open_lab import lab_folder

        return lab_folder(str(value))
