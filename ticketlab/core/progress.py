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


_printed: set[str] | None = None
"""The messages printed inside :func:`each_once`; None outside."""
_warned: set[str] | None = None
"""The same for warnings, inside :func:`warnings_once` too."""
_silent = False
_detailed = True


@contextlib.contextmanager
def each_once() -> Iterator[None]:
    """Print equal messages only once while the block runs, as when many runs use the same data."""
    global _printed
    outer, _printed = _printed, set() if _printed is None else _printed
    try:
        with warnings_once():
            yield
    finally:
        _printed = outer


@contextlib.contextmanager
def warnings_once() -> Iterator[None]:
    """Print equal warnings only once while the block runs."""
    global _warned
    outer, _warned = _warned, set() if _warned is None else _warned
    try:
        yield
    finally:
        _warned = outer


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Print no messages while the block runs, because they have been printed before."""
    global _silent
    outer, _silent = _silent, True
    try:
        yield
    finally:
        _silent = outer


@contextlib.contextmanager
def without_details() -> Iterator[None]:
    """Print no details while the block runs, which has so many stages that those of each are too many."""
    global _detailed
    outer, _detailed = _detailed, False
    try:
        yield
    finally:
        _detailed = outer


def detail(message: str) -> None:
    """Print one line about a single stage to stderr, unless inside :func:`without_details`."""
    if _detailed:
        say(message)


def say(message: str, *, lines: bool = False) -> None:
    """Print one line to stderr, unprintable characters escaped; with ``lines``, all lines of the message."""
    if _silent or (_printed is not None and message in _printed):
        return
    if _printed is not None:
        _printed.add(message)
    with contextlib.suppress(OSError):  # the reader has gone: `2>&1 | head`, or a closed terminal
        print(printable(message, lines=lines), file=sys.stderr, flush=True)


def warn(message: str) -> None:
    """Print a one-line warning to stderr."""
    if _silent or (_warned is not None and message in _warned):
        return
    if _warned is not None:
        _warned.add(message)
    say(f"warning: {message}")
