"""A command that knows the components: plugins are loaded before it runs, and their problems and all warnings are lines on stderr."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import ticketlab
from ticketlab import registry
from ticketlab.cli.failures import one_line
from ticketlab.cli.plugin_options import DISABLED, FILES, plugin_options


class Command(click.Command):
    """A click command with ``--plugin`` and ``--no-plugins``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plugin_options(self)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with prepared(ctx):
            return super().invoke(ctx)


@contextlib.contextmanager
def prepared(ctx: click.Context) -> Iterator[None]:
    """Load the plugins that the command line asks for, then turn warnings and problems into lines on stderr while the block runs."""
    loaded = registry.load(ctx.meta.get(FILES, ()), entry_points=not ctx.meta.get(DISABLED, False))
    registry.use(loaded)
    said: set[str] = set()

    def warn(message: str) -> None:
        if message not in said:
            said.add(message)
            print(f"warning: {one_line(message)}", file=sys.stderr, flush=True)

    def show(message: Warning | str, category: type[Warning], filename: str, *_: Any, **__: Any) -> None:
        if category is UserWarning and Path(filename).is_relative_to(Path(ticketlab.__file__).parent):
            warn(str(message))

    for problem in loaded.problems:
        warn(problem.message)
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        try:
            yield
        finally:
            for problem in loaded.problems:  # a hook may fail while it runs
                warn(problem.message)
