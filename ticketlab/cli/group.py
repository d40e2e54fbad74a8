"""A group of commands that imports each one when it is used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import click

from ticketlab.cli import error_output
from ticketlab.core.errors import UsageError, did_you_mean


class LazyGroup(click.Group):
    """A group that maps the name of each command to ``"module:command"`` and a line of help, so that listing them imports nothing."""

    def __init__(self, *args: Any, targets: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.targets = targets

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in order of declaration."""
        return list(self.targets)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self.targets:
            return None
        module, _, attribute = self.targets[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self.targets.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments begin with.

        :raises UsageError: the command is unknown.
        """
        if args and not args[0].startswith("-") and args[0] not in self.targets:
            raise UsageError(f"unknown command `{ctx.command_path} {args[0]}`{did_you_mean(args[0], self.targets)}")
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the command line, with Ctrl-C as an error like any other."""
        with error_output.interrupts_as_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, with Ctrl-C as an error like any other."""
        with error_output.interrupts_as_errors():
            return super().invoke(ctx)

    def main(  # type: ignore[override]  # it never returns
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command line and exit. Every failure is one line on stderr and an exit code."""
        extra.pop("standalone_mode", None)
        try:
            with error_output.interrupts_as_errors():
                args = [_checked_utf8(argument) for argument in (sys.argv[1:] if args is None else args)]
                code = super().main(args, prog_name or "ticketlab", standalone_mode=False, **extra) or 0
                sys.stdout.flush()
        except Exception as problem:
            code = error_output.report(problem)
        sys.exit(code)


def _checked_utf8(argument: str) -> str:
    """Return an argument unchanged.

    :raises UsageError: it is not valid UTF-8, so it could not be written to our files.
    """
    try:
        argument.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{argument!r}: not UTF-8; rename the file, or retype the name") from None
    return argument
