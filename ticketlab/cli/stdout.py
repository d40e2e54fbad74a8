"""Standard output that may lose its reader: what ``| head`` does not read is dropped, and the command does all of its work."""

from __future__ import annotations

import io
import os
import sys


class _Output(io.TextIOWrapper):
    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            return self._drop(len(text))

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            self._drop(0)

    def _drop(self, written: int) -> int:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # what is buffered, and all that follows, goes there
        return written


def keep_open() -> None:
    """Let standard output outlive its reader. What its encoding lacks is written as an escape."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        buffering = sys.stdout.line_buffering
        sys.stdout = _Output(sys.stdout.buffer, encoding=sys.stdout.encoding, errors="backslashreplace", line_buffering=buffering)
