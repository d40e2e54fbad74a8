"""Commands whose options set one value of a recipe each: several values are an error that says how to compare them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ticketlab.cli.command import Command
from ticketlab.core import files
from ticketlab.core.errors import UsageError

NOT_VARIED = ("seed", "seeds", "label_column", "name", "lab", "csv_file", "jobs", "executor", "design", "baseline")
"""Parameters that ``ticketlab ablate --vary`` does not take."""


class SingleValuesCommand(Command):
    """A command that refuses several values for one option, and names ``ticketlab ablate``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line.

        :raises UsageError: see :meth:`Command.parse_args`; or the value of an option is a list.
        """
        if not ctx.resilient_parsing:
            self._check_no_lists(ctx, args)
        return super().parse_args(ctx, args)

    def repeated_message(self, option: click.Option, ctx: click.Context, args: Sequence[str]) -> str:
        """Return the message about an option that is given more than once, with the command that compares its values."""
        if not _can_be_varied(option):
            return super().repeated_message(option, ctx, args)
        return f"{_name(option)} is given more than once but takes one value; {_advice(option, _values(option, args))}"

    def _check_no_lists(self, ctx: click.Context, args: list[str]) -> None:
        for param in self.params:
            if isinstance(param, click.Option) and _can_be_varied(param):
                for value in _values(param, args):
                    if _is_list(value):
                        raise UsageError(f"{_name(param)} {value}: takes one value; {_advice(param, value.split(','))}")


def _can_be_varied(option: click.Option) -> bool:
    return not (option.multiple or option.is_flag or option.name in NOT_VARIED)


def _is_list(value: str) -> bool:
    """Return whether a value is a list of names or numbers, and not a path or a table."""
    parts = value.split(",")
    plain = all(part.strip() and not any(mark in part for mark in "/\\{}[]=") for part in parts) or _are_fractions(parts)
    return len(parts) > 1 and plain and not files.expand(value).exists()


def _are_fractions(parts: Sequence[str]) -> bool:
    return all(part.strip().replace("/", "", 1).replace(".", "").isdigit() for part in parts)


def _values(option: click.Option, args: Sequence[str]) -> list[str]:
    """Return the values of an option on the command line."""
    found: list[str] = []
    for number, argument in enumerate(args):
        name, equals, value = argument.partition("=")
        if argument == "--":
            break
        if name in option.opts:
            found += [value] if equals else list(args[number + 1 : number + 2])
    return found


def _name(option: click.Option) -> str:
    return max(option.opts, key=len)


def _advice(option: click.Option, values: Sequence[str]) -> str:
    return f"to compare several: ticketlab ablate --vary {_name(option).lstrip('-')}={','.join(value.strip() for value in values)}"
