"""Standard output that survives a closed pipe: output that ``| head`` does not read is dropped, and the command runs to its end."""

from __future__ import annotations

import io
import os
import sys


class _PipeSafeOutput(io.TextIOWrapper):
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # where buffered and later output goes
        return written


def survive_broken_pipe() -> None:
    """Make standard output ignore a closed pipe, and escape characters that its encoding lacks."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        buffering = sys.stdout.line_buffering
        sys.stdout = _PipeSafeOutput(sys.stdout.buffer, encoding=sys.stdout.encoding, errors="backslashreplace", line_buffering=buffering)
