"""Progress and messages on stderr. Progress bars are shown on terminals only."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Protocol

from ticketlab.core.formatting import printable


class Bar(Protocol):
    """A progress bar."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Advance by ``steps`` and show ``note`` next to the bar."""


class _Silent:
    def advance(self, steps: int = 1, note: str = "") -> None:
        return None


@contextlib.contextmanager
def bar(title: str, total: int, *, done: int = 0, count: Callable[[], int] | None = None, of: str = "") -> Iterator[Bar]:
    """Show a progress bar while the block runs, starting at ``done`` of ``total``.

    ``count`` returns a number that also grows between steps. Another thread calls it several times a second, and its growth since the
    start is shown as ``123 OF``.
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
    """Print one line to stderr, unprintable characters escaped; with ``lines``, all lines of the message."""
    with contextlib.suppress(OSError):  # the reader has gone: `2>&1 | head`, or a closed terminal
        print(printable(message, lines=lines), file=sys.stderr, flush=True)


def warn(message: str) -> None:
    """Print a one-line warning to stderr."""
    say(f"warning: {message}")
