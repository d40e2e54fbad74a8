"""What goes wrong, and the exit code it ends the command with."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_PARTIAL = 3
EXIT_INTERRUPTED = 130


class TicketlabError(Exception):
    """An error whose message is one line and complete: what is wrong, where, and what to do."""

    exit_code: ClassVar[int] = EXIT_FAILED


class UsageError(TicketlabError, ValueError):
    """What the user asked for cannot be done as asked: a wrong name, setting, file or combination."""

    exit_code: ClassVar[int] = EXIT_USAGE


class SettingError(UsageError):
    """A setting has no such name, or a value outside its bounds."""


class DataError(UsageError):
    """A data set cannot be read, or its rows do not make a task."""


class Unavailable(DataError):
    """A data set or model that is published elsewhere is not on this machine, and cannot be reached from it."""


class ResourceError(UsageError):
    """Something an attack needs (word vectors, an encoder, a package) is not on this machine."""


class PluginError(TicketlabError):
    """A plugin failed to load, or two plugins claim one name."""


class TrainingDiverged(TicketlabError):
    """The loss stopped being a number; the last finite checkpoint is kept."""


class Interrupted(TicketlabError):
    """The user pressed Ctrl-C; what was done is on disk."""

    exit_code: ClassVar[int] = EXIT_INTERRUPTED


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean `X`?"`` for the nearest known name, or the list of names when none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        return f"; did you mean `{near[0]}`?"
    return f"; there is {', '.join(f'`{known_name}`' for known_name in names)}" if names else ""
