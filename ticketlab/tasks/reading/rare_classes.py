"""Rare classes on both sides of a split: a tenth of three examples rounds to none, and then no number says anything about their class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from ticketlab.tasks.reading.hashing import Labelled, rank

E = TypeVar("E", bound=Labelled)


def spread(examples: Sequence[E], kept: Sequence[E], held: Sequence[E], same: Mapping[str, str]) -> tuple[list[E], list[E]]:
    """Return the two sides of a split, with every class of two texts or more on both where that is possible.

    A class of one text is on the side that is kept: a model can be trained on it. What a side gets it gives back in examples of the class
    that is furthest beyond its share there, so that its size stays as it was, or within a group of equal texts of that (``same``, as for
    :func:`ticketlab.tasks.reading.splits.pick`). Nothing moves where all classes are on both sides already, or there are more classes than
    places.

    Both are in the order of ``examples``.
    """
    if {example.label for example in kept} == {example.label for example in held}:
        return list(kept), list(held)
    sides = _Sides(kept, held, same)
    for label in sides.one_sided():
        sides.mend(label)
    out = sides.held_out()
    return [example for example in examples if example.id not in out], [example for example in examples if example.id in out]


class _Sides:
    """Groups of equal texts and the side that each is on: True for the one that is held out."""

    def __init__(self, kept: Sequence[Labelled], held: Sequence[Labelled], same: Mapping[str, str]) -> None:
        held_out = {example.id for example in held}
        self.groups: dict[str, list[Labelled]] = {}
        for example in sorted([*kept, *held], key=lambda example: rank(example.id)):
            self.groups.setdefault(same.get(example.id, example.id), []).append(example)
        self.side = {key: group[0].id in held_out for key, group in self.groups.items()}
        self.sizes = {key: Counter(example.label for example in group) for key, group in self.groups.items()}
        self.of_class: dict[Any, list[str]] = {}
        for key, sizes in self.sizes.items():
            for label in sizes:
                self.of_class.setdefault(label, []).append(key)
        self.wanted = len(held)
        rows = sum(self.sizes.values(), Counter())
        self.share = {label: Fraction(self.wanted * size, rows.total()) for label, size in rows.items()}

    def held_out(self) -> set[str]:
        """Return the ids of that side."""
        return {example.id for key, group in self.groups.items() if self.side[key] for example in group}

    def one_sided(self) -> list[Any]:
        """Return the classes that lack a side which they could be on, the rarest first."""
        lacking = [label for label in self.of_class if self.lacks(label) is not None]
        return sorted(lacking, key=lambda label: len(self.of_class[label]))

    def lacks(self, label: Any) -> bool | None:
        """Return the side that a class should be on too; None where it is where it should be."""
        on = {self.side[key] for key in self.of_class[label]}
        if len(self.of_class[label]) == 1:
            return False if on == {True} else None
        return None if len(on) == 2 else not on.pop()

    def mend(self, label: Any) -> None:
        """Move a group of a class to the side that lacks it, and others back; undo that where the sizes of the sides would change."""
        to = self.lacks(label)
        if to is None:  # what was moved for another class brought it
            return
        before = dict(self.side)
        lone = len(self.of_class[label]) == 1
        moved = min(
            (key for key in self.of_class[label] if self.may_leave(key, beside=(label,) if lone else ())),
            key=lambda key: len(self.groups[key]),
            default=None,
        )
        if moved is None:
            return
        self.side[moved] = to
        while (excess := self.excess(to)) > 0 and (back := self.to_give_back(to, excess, moved)) is not None:
            self.side[back] = not to
        if excess >= len(self.groups[moved]):
            self.side = before

    def excess(self, side: bool) -> int:
        """Return how many examples a side has beyond what it should have."""
        more = sum(len(self.groups[key]) for key, held in self.side.items() if held) - self.wanted
        return more if side else -more

    def may_leave(self, key: str, beside: Collection[Any] = ()) -> bool:
        """Say whether each class of a group has another group on its side, those in ``beside`` not looked at."""
        side = self.side[key]
        return all(label in beside or sum(self.side[other] is side for other in self.of_class[label]) > 1 for label in self.sizes[key])

    def to_give_back(self, side: bool, most: int, moved: str) -> str | None:
        """Return a group of at most ``most`` examples of a side: of the class that is furthest beyond its share there, the last by hash."""
        for label in sorted(self.of_class, key=self.surplus(side), reverse=True):
            for key in reversed(self.of_class[label]):
                if key != moved and self.side[key] is side and len(self.groups[key]) <= most and self.may_leave(key):
                    return key
        return None

    def surplus(self, side: bool) -> Callable[[Any], Fraction]:
        """Return what says by how many examples a class is beyond its share on a side."""
        held = Counter[Any]()
        for key, sizes in self.sizes.items():
            if self.side[key]:
                held.update(sizes)
        return lambda label: (held[label] - self.share[label]) * (1 if side else -1)
