"""Errors, with the exit status of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_PARTIAL = 3
EXIT_INTERRUPTED = 130


class TicketlabError(Exception):
    """Base class of all errors. The message is one line that says what is wrong, where, and what to do."""

    exit_code: ClassVar[int] = EXIT_FAILED
    """The exit code of a command that ends with this error."""


class UsageError(TicketlabError, ValueError):
    """An invalid request: a wrong name, setting, file or combination."""

    exit_code: ClassVar[int] = EXIT_USAGE


class SettingError(UsageError):
    """An unknown setting, or a value of the wrong type or out of bounds."""


class DataError(UsageError):
    """A data set that cannot be read, or whose rows do not form a task."""


class Unavailable(DataError):
    """A data set or model that is not on this machine and cannot be downloaded."""


class ResourceError(UsageError):
    """A resource of an attack or bias model (word vectors, an encoder, a package) that is not available."""


class PluginError(TicketlabError):
    """A plugin that failed to load or broke its contract, or a name that two plugins register."""


class Damaged(TicketlabError):
    """A damaged file in a lab: its content is not what was written."""


class LeaseLost(TicketlabError):
    """Another process computes the stage now, because this one did not renew its lease in time. Nothing more was written."""


class TrainingDiverged(TicketlabError):
    """The loss of a training stage is no longer finite. The last finite checkpoint is kept."""


class OutOfSpace(TicketlabError):
    """A full disk or an exhausted quota. Finished work is on disk."""


class OutOfMemory(TicketlabError):
    """Too little memory on the machine, on its GPU, or within the limits of the process. Finished work is on disk."""


class Interrupted(TicketlabError):
    """The user pressed Ctrl-C. Finished work is on disk."""

    exit_code: ClassVar[int] = EXIT_INTERRUPTED


class Terminated(Interrupted):
    """SIGTERM, which schedulers send before they kill a job. Finished work is on disk."""

    exit_code: ClassVar[int] = 128 + 15


class HungUp(Interrupted):
    """SIGHUP: the terminal was closed. Finished work is on disk."""

    exit_code: ClassVar[int] = 128 + 1


LISTED_NAMES = 40
SIMILAR = 0.65
"""The minimum similarity (difflib's ratio) at which one name counts as a misspelling of another."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean `X`?"`` for the nearest known name, or the list of names when none is near."""
    names = sorted(known)
    near = nearest(name, names)
    if near is not None:
        return f"; did you mean `{near}`?"
    more = f" and {len(names) - LISTED_NAMES} more" if len(names) > LISTED_NAMES else ""
    return f"; available: {', '.join(f'`{known_name}`' for known_name in names[:LISTED_NAMES])}{more}" if names else ""


def nearest(name: str, known: Iterable[str], cutoff: float = SIMILAR) -> str | None:
    """Return the known name that was probably meant: similar apart from case and dashes, or the only one with ``name`` as its prefix."""
    import difflib  # only needed for error messages

    plain = {_plain(known_name): known_name for known_name in known}
    near = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=cutoff)
    if not near and len(_plain(name)) > 2:
        near = [candidate for candidate in plain if candidate.startswith(_plain(name))]
    return plain[near[0]] if len(near) == 1 else None


def _plain(name: str) -> str:
    return name.lstrip("-").replace("_", "-").casefold()
