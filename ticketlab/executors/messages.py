"""The kinds of messages that every work sends, and what the driver does with them."""

from __future__ import annotations

LOG = "log"
"""A record of the log: a table."""
SAY, NOTICE, WARN = "say", "notice", "warn"
"""A line for stderr, about inputs that stages may share, or a warning: a text. See :mod:`ticketlab.core.progress`."""
BAR = "bar"
"""How far it is: a table with ``title``, ``total``, ``done`` and ``note``."""
SHOWN = frozenset({LOG, SAY, NOTICE, WARN, BAR})
"""All of them. They may be lost with the process that sends them, unlike those of other kinds, by which a driver decides something."""
