"""Which plugins are loaded: as chosen on the command line, and handed on to the processes that it starts."""

from __future__ import annotations

import os
from collections.abc import Sequence

from attrs import frozen

OFF = "TICKETLAB_NO_PLUGIN"
"""The environment variable that names plugins to switch off, separated by spaces or commas."""


@frozen
class PluginSelection:
    """The paths of plugin files and folders; whether installed plugins are loaded; and the names of plugins that are switched off."""

    files: tuple[str, ...] = ()
    installed: bool = True
    off: tuple[str, ...] = ()

    def to_arguments(self) -> list[str]:
        """Return the selection as arguments of a worker process, which :meth:`from_arguments` reads."""
        return [*([] if self.installed else ["--no-plugins"]), *(f"--no-plugin={name}" for name in self.off), *self.files]

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> PluginSelection:
        """Read what :meth:`to_arguments` returned."""
        files = tuple(argument for argument in arguments if not argument.startswith("--no-plugin"))
        off = tuple(argument.partition("=")[2] for argument in arguments if argument.startswith("--no-plugin="))
        return cls(files, "--no-plugins" not in arguments, off)


def off_in_environment() -> list[str]:
    """Return the names of plugins that :data:`OFF` switches off."""
    return os.environ.get(OFF, "").replace(",", " ").split()
