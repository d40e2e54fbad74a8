"""Counts the words of an example for which an attack had candidates, and excludes the words that the victim does not see.

An attack that finds no candidates changes nothing, which looks like a robust victim. So words are counted where a textattack attack gets
its candidates, whichever attack it is.
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
"""The span of characters that the victim sees, for each text of an example."""


def unseen_words(texts: Sequence[str], seen: Seen) -> frozenset[int]:
    """Return the indices of the words of which the victim sees no character; words are counted through all texts of the example."""
    unseen: list[bool] = []
    for text, (first, last) in zip(texts, seen, strict=True):
        words = words_of(text)
        unseen += [not (start < last and first < start + len(word)) for word, start in zip(words, starts_of(words, text), strict=True)]
    return frozenset(index for index, is_unseen in enumerate(unseen) if is_unseen)


@define(eq=False)
class CandidateCoverage:
    """The words of one original example, by index: ``unseen`` words are not attacked, the others are counted.

    ``tried``: words whose candidates were requested. ``replaceable``: words with at least one candidate. ``allowed``: words with a
    candidate that passed the constraints. These are unknown for attacks that do not get their candidates from a transformation.
    """

    unseen: frozenset[int] = frozenset()
    known: bool = False
    tried: set[int] = field(factory=set)
    replaceable: set[int] = field(factory=set)
    allowed: set[int] = field(factory=set)
    _unmoved: Any = None

    @contextlib.contextmanager
    def watching(self, attack: Any, text: Any) -> Iterator[None]:
        """Count during the block, in which a ``textattack.Attack`` attacks a text; the attack is restored afterwards."""
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
        """Return the counts, as fields of a record."""
        sets = {"words_tried": self.tried, "words_replaceable": self.replaceable, "words_allowed": self.allowed}
        return {name: len(words) if self.known else None for name, words in sets.items()}

    def _counting(self, transformation: Any) -> Any:
        """Return a copy of a transformation whose calls are counted."""
        counting = copy.copy(transformation)
        if _is_composite(transformation):
            counting.transformations = [self._counting(part) for part in transformation.transformations]
        else:
            counting._get_transformations = functools.partial(self._transformed, counting._get_transformations)
        return counting

    def _transformed(self, transform: Any, current: Any, indices: Collection[int]) -> Any:
        candidates = transform(current, indices)
        if self.unseen:
            candidates = [text for text in candidates if not (touched := set(self._touched(text, current))) or touched - self.unseen]
        requested = set(self._originals(current.attack_attrs["original_index_map"], indices))
        self.tried |= requested
        missing = requested - self.replaceable
        for text in candidates:
            if not missing:
                break
            missing = missing.difference(self._count(text, current, self.replaceable))
        return candidates

    def _filtered(self, apply_constraints: Any, candidates: Any, current: Any, original: Any = None) -> Any:
        passed = apply_constraints(candidates, current, original)
        for text in passed:
            self.replaceable.update(self._count(text, current, self.allowed))
        return passed

    def _count(self, text: Any, current: Any, words: set[int]) -> Collection[int]:
        touched = self._touched(text, current)
        words.update(touched)
        self.tried.update(touched)
        return touched

    def _touched(self, text: Any, current: Any) -> Collection[int]:
        """Return the original words that were replaced or deleted in ``text``, which was made from ``current``."""
        positions, before = text.attack_attrs["original_index_map"], current.attack_attrs["original_index_map"]
        touched = self._originals(positions, text.attack_attrs["newly_modified_indices"])
        if positions is not before:
            touched = {*touched, *np.flatnonzero((positions < 0) & (before >= 0)).tolist()}
        return touched

    def _originals(self, positions: Any, indices: Collection[int]) -> Collection[int]:
        """Return the original words at ``indices`` of a text; ``positions`` holds where each original word is in it."""
        if positions is self._unmoved:  # the common case: no word was inserted or deleted
            return indices
        return {original for index in indices for original in np.flatnonzero(positions == index).tolist()}


def _is_plain(transformation: Any) -> bool:
    """Return whether a transformation, and each of its parts, is called in the way that is counted."""
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
        """Allows changes of the words that the victim sees; see :class:`CandidateCoverage`."""

        def __init__(self, unseen: Collection[int]) -> None:
            self.unseen = np.array(sorted(unseen))

        def _get_modifiable_indices(self, current_text: Any) -> set[int]:
            positions = current_text.attack_attrs["original_index_map"]
            return set(range(len(current_text.words))).difference(positions[self.unseen[self.unseen < len(positions)]].tolist())

    return SeenWords
