"""The names in a generated package, all derived from one."""

from __future__ import annotations

import keyword
import re

from attrs import frozen

from ticketlab.core.errors import UsageError

PREFIX = "ticketlab-"
LONGEST = 26
COLLECTED = "Test"
"""What the names of classes begin with that pytest collects."""
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
WORDS = re.compile(r"[\s_-]+")


@frozen
class Names:
    """The names of a package. For ``Movement Pruning`` they are as below."""

    component: str
    """``movement-pruning``"""
    class_name: str
    """``MovementPruning``"""

    @property
    def package(self) -> str:
        """The name to install: ``ticketlab-movement-pruning``."""
        return PREFIX + self.component

    @property
    def module(self) -> str:
        """The name to import: ``ticketlab_movement_pruning``."""
        return self.package.replace("-", "_")


def derive_names(name: str) -> Names:
    """Return the names of the package for ``name``: that of a method or of the package, with spaces, hyphens or underscores.

    Capital letters are kept in the name of the class.

    :raises UsageError: it is not a valid name.
    """
    words = [word for word in WORDS.split(name.strip()) if word]
    if len(words) > 1 and words[0].lower() == PREFIX.rstrip("-"):
        words = words[1:]
    component = "-".join(words).lower()
    if not NAME.fullmatch(component) or component == PREFIX.rstrip("-"):
        raise UsageError(
            f"`{name}` is not a name for a plugin: name the method, in letters from a to z, digits and hyphens, beginning with a letter"
        )
    if len(component) > LONGEST:
        raise UsageError(f"`{name}`: a name has at most {LONGEST} characters, and this one has {len(component)}")
    class_name = "".join(word[0].upper() + word[1:] for word in words)
    for word in (component.replace("-", "_"), class_name):
        if keyword.iskeyword(word):
            raise UsageError(f"`{name}`: `{word}` is a keyword of Python; choose another name")
    if class_name.startswith(COLLECTED):
        raise UsageError(f"`{name}`: pytest takes a class `{class_name}` for tests; choose a name that does not begin with `test`")
    return Names(component, class_name)
