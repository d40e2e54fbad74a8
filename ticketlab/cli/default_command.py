"""A group that is itself a command: ``ticketlab attack MODEL`` beside ``ticketlab attack show FILE``."""

from __future__ import annotations

import difflib
from typing import Any

import click
from click.shell_completion import CompletionItem

from ticketlab.cli.group import LazyGroup
from ticketlab.core.errors import UsageError
from ticketlab.core.files import expand

NAME = "run"
"""What the group's own command is called inside; nobody types it."""


class SameName(click.Context):
    """The context of a group's own command, which goes by the name of the group."""

    @property
    def command_path(self) -> str:
        """What to type."""
        return self.parent.command_path if self.parent else super().command_path


class OwnCommand(LazyGroup):
    """Commands by name, and one of the group itself: what does not begin with a command's name goes to it."""

    def __init__(self, *args: Any, own: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.own = own

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command, or the group's own."""
        if cmd_name != NAME:
            return super().get_command(ctx, cmd_name)
        hidden = LazyGroup(targets={NAME: (self.own, "")})
        return hidden.get_command(ctx, NAME)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Send the arguments to the group's own command, unless they begin with another's name or ask for help.

        :raises UsageError: they begin with what is nearly the name of a command, and there is no such file or folder.
        """
        if not args and ctx.resilient_parsing:
            return super().parse_args(ctx, args)  # of a completion: there is no telling yet
        first = args[0] if args else ""
        if first in self.targets or first in self.get_help_option_names(ctx):
            return super().parse_args(ctx, args)
        near = difflib.get_close_matches(first, self.targets, n=1, cutoff=0.75)
        if near and not expand(first).exists():
            raise UsageError(f"{first}: there is no command or folder of this name; did you mean `{ctx.command_path} {near[0]}`?")
        return super().parse_args(ctx, [NAME, *args])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a command line."""
        if args and args[0] == NAME and NAME not in self.targets:
            return NAME, self.get_command(ctx, NAME), args[1:]
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return commands, and the options of the group's own."""
        own = self.get_command(ctx, NAME)
        assert own is not None
        with own.make_context(NAME, [], parent=ctx, resilient_parsing=True) as below:
            found = [*super().shell_complete(ctx, incomplete), *own.shell_complete(below, incomplete)]
        return list({item.value: item for item in found}.values())

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the group's own command, with the other commands in it."""
        own = self.get_command(ctx, NAME)
        assert own is not None
        with own.make_context(NAME, [], parent=ctx, resilient_parsing=True) as below:
            own.format_usage(below, formatter)
            for name in self.targets:
                command = self.get_command(ctx, name)
                assert command is not None
                with command.make_context(name, [], parent=ctx, resilient_parsing=True) as other:
                    command.format_usage(other, formatter)
            own.format_help_text(below, formatter)
            own.format_options(below, formatter)
            self.format_commands(ctx, formatter)
            own.format_epilog(below, formatter)
