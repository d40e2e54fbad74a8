"""Standard streams that survive being closed: output to a closed stream is dropped, and the command runs to its end."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path


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
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.fileno())  # where buffered and later output goes
        os.close(null)
        return written


def open_closed_streams() -> None:
    """Open the null device for each standard stream that is closed (``>&-``).

    Otherwise a file of the lab would get its number, and with it whatever a library prints; and what goes to stderr would go to stdout.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            opened = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, opened)
            setattr(sys, f"__{name}__", opened)  # as Python does: what replaces a stream uses its buffer, which must stay open


def survive_broken_pipe() -> None:
    """Make standard output ignore a closed pipe, and escape characters that its encoding lacks."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        buffering = sys.stdout.line_buffering
        sys.stdout = _PipeSafeOutput(sys.stdout.buffer, encoding=sys.stdout.encoding, errors="backslashreplace", line_buffering=buffering)
