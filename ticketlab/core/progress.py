"""Progress and messages on stderr. Progress bars are shown on terminals only."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from ticketlab.core.formatting import printable


class Bar(Protocol):
    """A progress bar."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Advance by ``steps`` and show ``note`` next to the bar."""


class _Silent:
    def advance(self, steps: int = 1, note: str = "") -> None:
        return None


Sink = Callable[[str, Any], None]
"""Gets what would be printed: its kind (``say``, ``notice``, ``warn`` or ``bar``), and the message or the state of the bar."""
SECONDS_BETWEEN_STATES = 0.5


class _Sent:
    """A bar that is shown elsewhere: it sends its state at most every :data:`SECONDS_BETWEEN_STATES`."""

    def __init__(self, sink: Sink, title: str, total: int, done: int) -> None:
        self.sink, self.title, self.total, self.done, self.next = sink, title, total, done, 0.0
        self.send("")

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.done += steps
        if time.monotonic() >= self.next:
            self.send(note)

    def send(self, note: str) -> None:
        self.next = time.monotonic() + SECONDS_BETWEEN_STATES
        self.sink("bar", {"title": self.title, "total": self.total, "done": self.done, "note": note})


@contextlib.contextmanager
def bar(title: str, total: int, *, done: int = 0, count: Callable[[], int] | None = None, of: str = "") -> Iterator[Bar]:
    """Show a progress bar while the block runs, starting at ``done`` of ``total``.

    ``count`` returns a number that also grows between steps. Another thread calls it several times a second, and its growth since the
    start is shown as ``123 OF``.
    """
    if _filter.sink is not None:
        yield _Sent(_filter.sink, title, total, done)
        return
    if _silenced or not sys.stderr.isatty():
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


class _Filter(NamedTuple):
    """Which messages are printed. ``printed`` and ``warned`` are the earlier ones where none is repeated; None elsewhere."""

    printed: set[str] | None = None
    warned: set[str] | None = None
    silent: bool = False
    detailed: bool = True
    sink: Sink | None = None


_filter = _Filter()
_silenced = False


@contextlib.contextmanager
def _filtered(**changes: Any) -> Iterator[None]:
    global _filter
    outer, _filter = _filter, _filter._replace(**changes)
    try:
        yield
    finally:
        _filter = outer


def each_once() -> contextlib.AbstractContextManager[None]:
    """Print equal messages only once while the block runs, as when many runs use the same data."""
    return _filtered(printed=_or_new(_filter.printed), warned=_or_new(_filter.warned))


def warnings_once() -> contextlib.AbstractContextManager[None]:
    """Print equal warnings, and equal notices about inputs, only once while the block runs."""
    return _filtered(warned=_or_new(_filter.warned))


def silent() -> contextlib.AbstractContextManager[None]:
    """Print no messages while the block runs, because they have been printed before."""
    return _filtered(silent=True)


def silence() -> None:
    """Print no messages and show no bars from now on, in a process that another one speaks for."""
    global _filter, _silenced
    _filter, _silenced = _filter._replace(silent=True), True


def without_details() -> contextlib.AbstractContextManager[None]:
    """Print no details while the block runs, which has so many stages that those of each are too many."""
    return _filtered(detailed=False)


def sent_to(sink: Sink) -> contextlib.AbstractContextManager[None]:
    """Print nothing while the block runs, but pass messages and the states of progress bars to ``sink``, which shows them elsewhere."""
    return _filtered(sink=sink)


def _or_new(earlier: set[str] | None) -> set[str]:
    return set() if earlier is None else earlier


def detail(message: str) -> None:
    """Print one line about a single stage to stderr, unless inside :func:`without_details`."""
    if _filter.detailed:
        say(message)


def say(message: str, *, lines: bool = False) -> None:
    """Print one line to stderr, unprintable characters escaped; with ``lines``, all lines of the message."""
    if _filter.silent or (_filter.printed is not None and message in _filter.printed):
        return
    if _filter.printed is not None:
        _filter.printed.add(message)
    if _filter.sink is not None:
        _filter.sink("say", message)
        return
    with contextlib.suppress(OSError):  # the reader has gone: `2>&1 | head`, or a closed terminal
        print(printable(message, lines=lines), file=sys.stderr, flush=True)


def notice(message: str) -> None:
    """Print one line about inputs, which many stages may have in common, to stderr."""
    if _was_printed(message):
        return
    if _filter.sink is not None:
        _filter.sink("notice", message)
    else:
        say(message)


def warn(message: str) -> None:
    """Print a one-line warning to stderr."""
    if _was_printed(message):
        return
    if _filter.sink is not None:
        _filter.sink("warn", message)
    else:
        say(f"warning: {message}")


def _was_printed(message: str) -> bool:
    """Return whether messages are not printed, or not repeated and this is a repetition; remember it."""
    if _filter.silent or _filter.warned is None:
        return _filter.silent
    repeated = message in _filter.warned
    _filter.warned.add(message)
    return repeated
