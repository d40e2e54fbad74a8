"""A command that loads plugins before it runs, and prints warnings and problems of plugins as lines on stderr."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from ticketlab.cli import unknown_option
from ticketlab.cli.error_output import one_line
from ticketlab.cli.plugin_flags import PLUGIN_FILES, PLUGINS_DISABLED, PLUGINS_OFF, plugin_flags
from ticketlab.core import progress, registry
from ticketlab.core.errors import UsageError

PACKAGE = Path(__file__).parents[1]
"""The folder of ticketlab itself."""
RUN_ARGUMENTS = ("model", "file", "scores")
"""Names of arguments that accept a run."""


class Command(click.Command):
    """A click command with ``--plugin``, ``--no-plugin`` and ``--no-plugins``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plugin_flags(self)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line.

        :raises UsageError: an option that takes one value is given twice, so that the first would be ignored; or there are more
            arguments than the command takes, as when a shell pattern matches several runs.
        """
        ctx.meta[unknown_option.ARGUMENTS] = list(args)
        if not ctx.resilient_parsing:
            self._check_no_repetition(ctx, args)
        ctx.allow_extra_args = True
        left = super().parse_args(ctx, args)
        if left and not ctx.resilient_parsing:
            last = next((param for param in reversed(self.params) if isinstance(param, click.Argument)), None)
            several = ""
            if last is not None and last.name in RUN_ARGUMENTS:
                several = (
                    f"; one {last.human_readable_name} is expected: if a pattern matches several runs, name one, or "
                    "give the name of a recipe or `latest` for the latest run"
                )
            raise UsageError(f"unexpected argument `{left[0]}`{several} (`{ctx.command_path} --help`)")
        return left

    def _check_no_repetition(self, ctx: click.Context, args: list[str]) -> None:
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        for option, number in Counter(given).items():
            if number > 1 and isinstance(option, click.Option) and _takes_one_value(option):
                raise UsageError(self.repeated_message(option, ctx, args))

    def repeated_message(self, option: click.Option, ctx: click.Context, args: Sequence[str]) -> str:
        """Return the message about an option that takes one value and is given more than once in ``args``."""
        name = max(option.opts, key=len)
        several = "" if option.is_flag else "; to compare several values, run the command once for each"
        return f"{name} is given more than once but takes one value{several} (`{ctx.command_path} --help`)"

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with plugins_loaded(ctx):
            return super().invoke(ctx)


def _takes_one_value(option: click.Option) -> bool:
    return not option.multiple and (not option.is_flag or bool(option.secondary_opts))


@contextlib.contextmanager
def plugins_loaded(ctx: click.Context) -> Iterator[None]:
    """Load the requested plugins; while the block runs, print warnings and problems of plugins as lines on stderr, each once."""
    shown: set[str] = set()

    def warn(message: str) -> None:
        if message not in shown:
            shown.add(message)
            progress.warn(one_line(message))

    def show(message: Warning | str, category: type[Warning], filename: str, *_: Any, **__: Any) -> None:
        if category is UserWarning and Path(filename).is_relative_to(PACKAGE):
            warn(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        with contextlib.redirect_stdout(sys.stderr):  # what plugins print must not get between the results
            loaded = registry.load(
                ctx.meta.get(PLUGIN_FILES, ()),
                entry_points=not ctx.meta.get(PLUGINS_DISABLED, False),
                off=ctx.meta.get(PLUGINS_OFF, ()),
            )
        registry.use(loaded)
        for source in loaded.off:
            progress.say(f"{source.label} is switched off")
        _show_problems(loaded)
        try:
            yield
        finally:
            _show_problems(loaded)  # hooks may have failed during the block


def _show_problems(loaded: registry.Registry) -> None:
    """Print the problems of plugins that have not been shown, each message once."""
    seen = {problem.message for problem in loaded.shown}
    for problem in loaded.problems:
        if problem.message not in seen:
            progress.warn(one_line(problem.message))
        seen.add(problem.message)
        loaded.shown.add(problem)
