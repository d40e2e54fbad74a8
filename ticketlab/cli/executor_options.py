"""``--executor``, ``--executor-set`` and ``--jobs``: where stages are computed, and how many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ticketlab.cli.completion import ComponentName
from ticketlab.cli.shared_options import all_of
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from ticketlab.executors.base import Executor

DEFAULT = "local"
PLACE = all_of(
    click.option(
        "--executor", type=ComponentName("executor"),
        help=f"Where to compute (`ticketlab show executor`).  [default: {DEFAULT}]",
    ),
    click.option(
        "--executor-set", "executor_sets", multiple=True, metavar="KEY=VALUE",
        help="Change a setting of the executor (`ticketlab show executor NAME`); may be repeated.",
    ),
)  # fmt: skip
EXECUTOR = all_of(
    click.option(
        "--jobs", type=click.IntRange(min=1), metavar="N", help="Stages to compute at a time.  [default: 1, or one per GPU of several]"
    ),
    PLACE,
)


def executor_of(name: str | None, sets: Sequence[str]) -> Executor:
    """Return the executor that the options describe.

    :raises UsageError: there is no such executor, or a setting is unknown, invalid or given twice.
    """
    from ticketlab.recipes.tables import parse_assignment
    from ticketlab.studies.study import build_executor

    values = {}
    for text in sets:
        if not text.partition("=")[0].strip() or "=" not in text:
            raise UsageError(f"--executor-set {text}: write KEY=VALUE; `ticketlab show executor {name or DEFAULT}` lists the settings")
        keys, value = parse_assignment(text)
        key = ".".join(keys)
        if key in values:
            raise UsageError(f"--executor-set {key} is given twice; write it once")
        values[key] = value
    return build_executor({"name": name or DEFAULT, **values})
