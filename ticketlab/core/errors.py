"""What goes wrong, and the exit code it ends the command with."""

from __future__ import annotations

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


class Damaged(TicketlabError):
    """A file in a lab is not what was written."""


class TrainingDiverged(TicketlabError):
    """The loss stopped being a number; the last finite checkpoint is kept."""


class OutOfSpace(TicketlabError):
    """A disk is full, or its quota used up; what was done is on disk."""


class OutOfMemory(TicketlabError):
    """There is too little memory, on this machine, on its GPU, or for this process; what was done is on disk."""


class Interrupted(TicketlabError):
    """The user pressed Ctrl-C; what was done is on disk."""

    exit_code: ClassVar[int] = EXIT_INTERRUPTED


class Terminated(Interrupted):
    """SIGTERM came, as schedulers send it before they kill; what was done is on disk."""

    exit_code: ClassVar[int] = 128 + 15


class HungUp(Interrupted):
    """SIGHUP came: the terminal was closed; what was done is on disk."""

    exit_code: ClassVar[int] = 128 + 1


MOST_NAMES = 40
LIKE = 0.65
"""How much of two names must agree for one to be a slip of the other (difflib's ratio)."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean `X`?"`` for the nearest known name, or the list of names when none is near."""
    names = sorted(known)
    near = nearest(name, names)
    if near is not None:
        return f"; did you mean `{near}`?"
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"; there is {', '.join(f'`{known_name}`' for known_name in names[:MOST_NAMES])}{more}" if names else ""


def nearest(name: str, known: Iterable[str], like: float = LIKE) -> str | None:
    """Return the known name that was probably meant: nearly the same but for case and dashes, or the only one that begins like it."""
    import difflib  # not where nothing goes wrong

    plain = {_plain(one): one for one in known}
    near = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=like)
    if not near and len(_plain(name)) > 2:
        near = [one for one in plain if one.startswith(_plain(name))]
    return plain[near[0]] if len(near) == 1 else None


def _plain(name: str) -> str:
    return name.lstrip("-").replace("_", "-").casefold()
