"""A command that knows the components: plugins are loaded before it runs, and their problems and all warnings are lines on stderr."""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import ticketlab
from ticketlab.cli import unknown_option
from ticketlab.cli.error_output import one_line
from ticketlab.cli.plugin_options import DISABLED, FILES, plugin_options
from ticketlab.core import progress, registry
from ticketlab.core.errors import UsageError

OF_A_RUN = ("model", "file", "scores")
"""Arguments that may name a run."""


class Command(click.Command):
    """A click command with ``--plugin`` and ``--no-plugins``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plugin_options(self)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line.

        :raises UsageError: an option that takes one value is given twice, and the first would count for nothing; or there are more
            arguments than the command takes, as where a pattern of the shell matches several runs.
        """
        ctx.meta[unknown_option.ARGUMENTS] = list(args)
        if not ctx.resilient_parsing:
            self._check_given_once(ctx, args)
        ctx.allow_extra_args = True
        left = super().parse_args(ctx, args)
        if left and not ctx.resilient_parsing:
            last = next((param for param in reversed(self.params) if isinstance(param, click.Argument)), None)
            several = ""
            if last is not None and last.name in OF_A_RUN:
                several = (
                    f"; one {last.human_readable_name} is expected: of several runs, the name of a recipe or `latest` means the latest"
                )
            raise UsageError(f"unexpected argument `{left[0]}`{several} (`{ctx.command_path} --help`)")
        return left

    def _check_given_once(self, ctx: click.Context, args: list[str]) -> None:
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        for option, number in Counter(given).items():
            if number > 1 and isinstance(option, click.Option) and _takes_one(option):
                raise UsageError(_twice(option, ctx))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with prepared(ctx):
            return super().invoke(ctx)


def _takes_one(option: click.Option) -> bool:
    return not option.multiple and (not option.is_flag or bool(option.secondary_opts))


def _twice(option: click.Option, ctx: click.Context) -> str:
    name = max(option.opts, key=len)
    several = "" if option.is_flag else "; to compare several values, run the command once with each"
    return f"{name} is given more than once, and takes one value{several} (`{ctx.command_path} --help`)"


@contextlib.contextmanager
def prepared(ctx: click.Context) -> Iterator[None]:
    """Load the plugins that the command line asks for, then turn warnings and problems into lines on stderr while the block runs."""
    said: set[str] = set()

    def warn(message: str) -> None:
        if message not in said:
            said.add(message)
            progress.warn(one_line(message))

    def show(message: Warning | str, category: type[Warning], filename: str, *_: Any, **__: Any) -> None:
        if category is UserWarning and Path(filename).is_relative_to(Path(ticketlab.__file__).parent):
            warn(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        loaded = registry.load(ctx.meta.get(FILES, ()), entry_points=not ctx.meta.get(DISABLED, False))
        registry.use(loaded)
        for problem in loaded.problems:
            warn(problem.message)
        try:
            yield
        finally:
            for problem in loaded.problems:  # a hook may fail while it runs
                warn(problem.message)
