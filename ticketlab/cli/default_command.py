"""A group with a default command: ``ticketlab attack MODEL`` along with ``ticketlab attack show FILE``."""

from __future__ import annotations

import difflib
from typing import Any

import click
from click.shell_completion import CompletionItem

from ticketlab.cli.group import LazyGroup
from ticketlab.core.errors import UsageError
from ticketlab.core.files import expand

DEFAULT = "run"
"""Internal name of the default command; users never type it."""


class DefaultCommandContext(click.Context):
    """The context of a default command, shown under the name of its group."""

    @property
    def command_path(self) -> str:
        """The command as users type it."""
        return self.parent.command_path if self.parent else super().command_path


class DefaultCommandGroup(LazyGroup):
    """A group whose default command gets every command line that does not begin with the name of a subcommand."""

    def __init__(self, *args: Any, default: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.default = default

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand, or the default command."""
        if cmd_name != DEFAULT:
            return super().get_command(ctx, cmd_name)
        hidden = LazyGroup(targets={DEFAULT: (self.default, "")})
        return hidden.get_command(ctx, DEFAULT)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Pass the arguments to the default command, unless they begin with a subcommand or a help option.

        :raises UsageError: the first argument resembles the name of a subcommand, and is not a file or folder.
        """
        if not args and ctx.resilient_parsing:
            return super().parse_args(ctx, args)  # shell completion: the command is not known yet
        first = args[0] if args else ""
        if first in self.targets or first in self.get_help_option_names(ctx):
            return super().parse_args(ctx, args)
        near = difflib.get_close_matches(first, self.targets, n=1, cutoff=0.75)
        if near and not expand(first).exists():
            raise UsageError(f"{first}: no such command or folder; did you mean `{ctx.command_path} {near[0]}`?")
        return super().parse_args(ctx, [DEFAULT, *args])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments begin with."""
        if args and args[0] == DEFAULT and DEFAULT not in self.targets:
            return DEFAULT, self.get_command(ctx, DEFAULT), args[1:]
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the subcommands and the options of the default command."""
        default = self.get_command(ctx, DEFAULT)
        assert default is not None
        with default.make_context(DEFAULT, [], parent=ctx, resilient_parsing=True) as below:
            found = [*super().shell_complete(ctx, incomplete), *default.shell_complete(below, incomplete)]
        return list({item.value: item for item in found}.values())

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the default command, followed by the list of subcommands."""
        default = self.get_command(ctx, DEFAULT)
        assert default is not None
        with default.make_context(DEFAULT, [], parent=ctx, resilient_parsing=True) as below:
            default.format_usage(below, formatter)
            for name in self.targets:
                command = self.get_command(ctx, name)
                assert command is not None
                with command.make_context(name, [], parent=ctx, resilient_parsing=True) as other:
                    command.format_usage(other, formatter)
            default.format_help_text(below, formatter)
            default.format_options(below, formatter)
            self.format_commands(ctx, formatter)
            default.format_epilog(below, formatter)
