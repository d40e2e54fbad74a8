"""Lines at the bottom of the terminal that show how far several things are, and change while messages scroll above them."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ticketlab.core.formatting import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LINES = 20
"""The number of lines that are shown; with more at a time, the latest are left out."""


class LiveLines:
    """A bar for each key that :meth:`update` names, until :meth:`remove`. Nothing is shown if stderr is not a terminal.

    Used as a context manager, which removes all. It takes over the terminal with the first bar.
    """

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def update(self, key: str, title: str, *, done: int, total: int, note: str = "") -> None:
        """Show how far a key is, and its title before the bar."""
        if not sys.stderr.isatty():
            return
        progress = self._progress = self._progress or _start()
        if key not in self._tasks:
            if len(self._tasks) == LINES:
                return
            self._tasks[key] = progress.add_task("", total=total, note="")
        progress.update(self._tasks[key], completed=done, total=total, description=printable(title), note=printable(note))

    def remove(self, key: str) -> None:
        """Remove the bar of a key, if it has one."""
        if self._progress is not None and key in self._tasks:
            self._progress.remove_task(self._tasks.pop(key))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        if self._progress is not None:
            self._progress.stop()


def _start() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.start()
    return progress
