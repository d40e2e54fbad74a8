"""What an attack could do about an example: the words that the victim sees, and those of them for which there was any candidate.

An attack that finds no candidate leaves every text as it is, which looks like a victim that withstands it. So the words are counted where
a textattack attack gets its candidates, whichever attack it is.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import define, field

from ticketlab.attacks.components.words import starts_of, words_of

Seen = Sequence[tuple[int, int]]
"""From which to which character the victim sees each text of an example."""


def unseen_words(texts: Sequence[str], seen: Seen) -> frozenset[int]:
    """Return the words of an example of which the victim sees no character, by their number in all its texts."""
    found: list[bool] = []
    for text, (first, last) in zip(texts, seen, strict=True):
        words = words_of(text)
        found += [not (start < last and first < start + len(word)) for word, start in zip(words, starts_of(words, text), strict=True)]
    return frozenset(number for number, unseen in enumerate(found) if unseen)


@define(eq=False)
class Coverage:
    """Words of one example's original, by their numbers: those ``unseen`` are left alone, the others are counted.

    ``tried`` are words for which candidates were looked for, ``replaceable`` those for which there were any, and ``allowed`` those with one
    that the constraints let through. None of it is known of an attack that takes its candidates from elsewhere than a transformation.
    """

    unseen: frozenset[int] = frozenset()
    known: bool = False
    tried: set[int] = field(factory=set)
    replaceable: set[int] = field(factory=set)
    allowed: set[int] = field(factory=set)
    _unmoved: Any = None

    @contextlib.contextmanager
    def watching(self, attack: Any, text: Any) -> Iterator[None]:
        """Count during the block, in which a ``textattack.Attack`` is let loose on a text; it is as before afterwards."""
        parts = ("transformation", "pre_transformation_constraints", "filter_transformations")
        if not all(hasattr(attack, part) for part in parts):
            yield
            return
        before = dict(vars(attack))
        self._unmoved = text.attack_attrs["original_index_map"]
        self.known = _is_plain(attack.transformation)
        attack.transformation = self._counting(attack.transformation)
        attack.filter_transformations = functools.partial(self._filtered, attack.filter_transformations)
        if self.unseen:
            attack.pre_transformation_constraints = [*attack.pre_transformation_constraints, _seen_words()(self.unseen)]
        try:
            yield
        finally:
            for part in parts:
                vars(attack).pop(part, None)
            vars(attack).update({part: before[part] for part in parts if part in before})

    def counts(self) -> dict[str, int | None]:
        """Return the numbers of words, as fields of a record."""
        sets = {"words_tried": self.tried, "words_replaceable": self.replaceable, "words_allowed": self.allowed}
        return {name: len(words) if self.known else None for name, words in sets.items()}

    def _counting(self, transformation: Any) -> Any:
        """Return a copy of a transformation that tells what it is asked and what it gives."""
        counting = copy.copy(transformation)
        if _is_composite(transformation):
            counting.transformations = [self._counting(part) for part in transformation.transformations]
        else:
            counting._get_transformations = functools.partial(self._transformed, counting._get_transformations)
        return counting

    def _transformed(self, transform: Any, current: Any, indices: Collection[int]) -> Any:
        made = transform(current, indices)
        if self.unseen:
            made = [text for text in made if not (touched := set(self._touched(text, current))) or touched - self.unseen]
        asked = set(self._originals(current.attack_attrs["original_index_map"], indices))
        self.tried |= asked
        missing = asked - self.replaceable
        for text in made:
            if not missing:
                break
            missing = missing.difference(self._found(text, current, self.replaceable))
        return made

    def _filtered(self, let_through: Any, made: Any, current: Any, original: Any = None) -> Any:
        left = let_through(made, current, original)
        for text in left:
            self.replaceable.update(self._found(text, current, self.allowed))
        return left

    def _found(self, text: Any, current: Any, words: set[int]) -> Collection[int]:
        touched = self._touched(text, current)
        words.update(touched)
        self.tried.update(touched)
        return touched

    def _touched(self, text: Any, current: Any) -> Collection[int]:
        """Return the words of the original that are others, or gone, in a text that was made of ``current``."""
        places, before = (one.attack_attrs["original_index_map"] for one in (text, current))
        found = self._originals(places, text.attack_attrs["newly_modified_indices"])
        if places is not before:
            found = {*found, *np.flatnonzero((places < 0) & (before >= 0)).tolist()}
        return found

    def _originals(self, places: Any, indices: Collection[int]) -> Collection[int]:
        """Return the words of the original that are at ``indices`` of a text in which they are at ``places``."""
        if places is self._unmoved:  # the usual case: nothing was put in or taken out
            return indices
        return {number for index in indices for number in np.flatnonzero(places == index).tolist()}


def _is_plain(transformation: Any) -> bool:
    """Say whether a transformation, and each that it is made of, gets its texts where they are counted."""
    from textattack.transformations import Transformation

    if _is_composite(transformation):
        return all(map(_is_plain, transformation.transformations))
    return type(transformation).__call__ is Transformation.__call__


def _is_composite(transformation: Any) -> bool:
    from textattack.transformations import CompositeTransformation

    return isinstance(transformation, CompositeTransformation)


@functools.cache
def _seen_words() -> Any:
    from textattack.constraints import PreTransformationConstraint

    class SeenWords(PreTransformationConstraint):  # type: ignore[misc]
        """The victim sees the word; see :class:`Coverage`."""

        def __init__(self, unseen: Collection[int]) -> None:
            self.unseen = np.array(sorted(unseen))

        def _get_modifiable_indices(self, current_text: Any) -> set[int]:
            places = current_text.attack_attrs["original_index_map"]
            return set(range(len(current_text.words))).difference(places[self.unseen[self.unseen < len(places)]].tolist())

    return SeenWords
