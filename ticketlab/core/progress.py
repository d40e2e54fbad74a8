"""Progress on stderr: a bar with the current loss or count on a terminal, nothing elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Protocol

from ticketlab.core.formatting import printable


class Bar(Protocol):
    """What long work moves forward."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Move on by ``steps`` and show ``note`` beside the bar."""


class _Silent:
    def advance(self, steps: int = 1, note: str = "") -> None:
        return None


@contextlib.contextmanager
def bar(title: str, total: int, *, done: int = 0, count: Callable[[], int] | None = None, of: str = "") -> Iterator[Bar]:
    """Show a progress bar while the block runs, starting at ``done`` of ``total``.

    ``count`` is what also grows between two steps that are far apart. It is asked from another thread several times a second, and shown
    without what it was at the beginning, as ``123 OF``.
    """
    if not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    begin = count() if count else 0

    class _Count(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{count() - begin:,} {of}" if count else "")

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        _Count(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(printable(title), total=total, completed=done, note="")

        class _Shown:
            def advance(self, steps: int = 1, note: str = "") -> None:
                progress.update(task, advance=steps, note=printable(note))

        yield _Shown()


def say(message: str, *, lines: bool = False) -> None:
    """Print one line about the run to stderr, whatever is in the names that it mentions; with ``lines`` as many as there are."""
    with contextlib.suppress(OSError):  # nobody reads it any more: `2>&1 | head`, a terminal that was closed
        print(printable(message, lines=lines), file=sys.stderr, flush=True)


def warn(message: str) -> None:
    """Print one line to stderr about something that makes a number mean less than it seems to."""
    say(f"warning: {message}")
