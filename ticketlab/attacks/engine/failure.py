"""Attacked examples that have no record because the attack itself is broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.core import plugin_errors
from ticketlab.core.errors import PluginError, ResourceError
from ticketlab.core.formatting import counted


@frozen
class Failure:
    """An example on which the attack failed, and the message about it.

    It is not an outcome of the example, as the record of an error is: the next run attacks the example again.
    """

    id: str
    message: str


def fault_of(attack: Attack, problem: Exception) -> str:
    """Return the message about an error that is the fault of the attack or of a resource of it; empty if it may be that of the example.

    An unexpected error in the code of a plugin is the fault of the plugin. A plugin whose attack cannot process an example raises
    :class:`~ticketlab.core.errors.DataError`.
    """
    if isinstance(problem, PluginError | ResourceError):
        return str(problem)
    found = plugin_errors.explained(problem, [attack])
    return "" if found is None else str(found)


def check_no_failures(failures: Sequence[Failure], examples: int) -> None:
    """Check that the attack has not failed on any of its examples.

    :raises PluginError: it has; the message has the most frequent error, and on how many examples it failed.
    """
    if not failures:
        return
    ((message, number), *others) = Counter(failure.message for failure in failures).most_common()
    more = f", and in {counted(len(others), 'other way')} on {len(failures) - number}" if others else ""
    kept = "; the records of the others are kept, and the same command attacks only the rest" if len(failures) < examples else ""
    raise PluginError(f"{message} on {number} of {counted(examples, 'example')}{more}{kept}")
