"""Misspelt methods: a method that overrides nothing, but whose name is nearly that of one that is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Collection, Iterator, Mapping

SIMILAR = 0.88
"""The similarity (difflib's ratio) from which a name counts as a misspelling."""
SUBSTITUTED = 6
"""The length from which a name with one other letter counts as a misspelling; of shorter ones it is another word."""
METHODS = (staticmethod, classmethod, property, functools.cached_property)


def check_method_names(cls: type, other_names: Mapping[str, str], *, reserved: str = "", free: Collection[str] = ()) -> None:
    """Refuse a class with a public method that overrides nothing and is probably meant to.

    ``other_names`` maps names of earlier versions and of other libraries to the method that is called here. Every name that begins with
    ``reserved`` must override something. A method whose name is near that of a method in ``free``, or of one that the class overrides too,
    is a helper.

    :raises TypeError: there is one; the message names the method that was probably meant.
    """
    inherited = {name for base in cls.__mro__[1:] for name in _methods(base)}
    known = {name: name for name in inherited.difference(free, vars(cls))}
    known |= {name: meant for name, meant in other_names.items() if meant in known}
    own = [name for name in _methods(cls) if not any(name in vars(base) for base in cls.__mro__[1:])]
    if not own:
        return
    import difflib  # most classes have no methods of their own

    for name in own:
        near = difflib.get_close_matches(name, known, n=1, cutoff=SIMILAR) or [other for other in known if _is_slip(name, other)]
        if not near and reserved and name.startswith(reserved):
            near = difflib.get_close_matches(name, known, n=1, cutoff=0)
        if near:
            raise TypeError(
                f"{cls.__name__}.{name} is never called; did you mean `{known[near[0]]}`? A helper needs a name that is less similar"
            )


def _is_slip(name: str, other: str) -> bool:
    """Whether two neighbouring letters of ``other`` are swapped, or one letter of a name of six or more is another one.

    The ratio of difflib is low for such names if they are short.
    """
    if len(name) != len(other):
        return False
    places = [place for place, (first, second) in enumerate(zip(name, other, strict=True)) if first != second]
    if len(places) == 1:
        return len(name) >= SUBSTITUTED
    swapped = len(places) == 2 and places[1] == places[0] + 1
    return swapped and name[places[0]] == other[places[1]] and name[places[1]] == other[places[0]]


def _methods(cls: type) -> Iterator[str]:
    """Yield the names of the public methods and properties that a class itself defines."""
    for name, value in vars(cls).items():
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, METHODS)):
            yield name
