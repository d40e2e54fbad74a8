"""Values of options and arguments that are places on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ticketlab.core.files import expand


class Place(click.Path):
    """A file or folder; ``~`` is a home folder, also where no shell has replaced it (``--lab=~/lab``, an environment variable)."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(path_type=Path, **settings)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; an empty one, which would mean the working directory, is refused."""
        if not str(value).strip():
            self.fail("it is empty; give a file or a folder", param, ctx)
        return super().convert(expand(value), param, ctx)
