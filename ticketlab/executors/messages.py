"""The kinds of messages that every work sends, and what the driver does with them."""

from __future__ import annotations

from ticketlab.core import progress

LOG = "log"
"""A record of the log: a table."""
SAY, NOTICE, WARN = "say", "notice", "warn"
"""A line for stderr, about inputs that stages may share, or a warning: a text. See :mod:`ticketlab.core.progress`."""
BAR = "bar"
"""How far it is: a table with ``title``, ``total``, ``done`` and ``note``."""
SHOWN = frozenset({LOG, SAY, NOTICE, WARN, BAR})
"""The kinds that the driver only shows or logs. They may be lost with the process that sends them, unlike others, by which it decides."""
_LINES = {SAY: progress.say, NOTICE: progress.notice, WARN: progress.warn}


def print_line(kind: str, text: str) -> None:
    """Print the text of a message that is a line for stderr; do nothing for messages of other kinds."""
    if kind in _LINES:
        _LINES[kind](text)
