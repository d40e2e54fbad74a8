"""``TICKETLAB_DEBUG=1``: tracebacks of errors on stderr."""

from __future__ import annotations

import os

from ticketlab.core import progress

DEBUG = "TICKETLAB_DEBUG"


def enabled() -> bool:
    """Return whether tracebacks are requested."""
    return os.environ.get(DEBUG) == "1"


def print_traceback(problem: BaseException) -> None:
    """Print the traceback of an error, if tracebacks are requested."""
    if enabled():
        import traceback

        progress.say("".join(traceback.format_exception(problem)).rstrip("\n"), lines=True)
