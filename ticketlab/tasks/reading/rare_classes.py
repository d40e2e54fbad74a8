"""Puts rare classes on both sides of a split. Otherwise a tenth of three examples rounds to zero, and results do not cover the class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from ticketlab.tasks.reading.hash_order import Labelled, hash_rank

E = TypeVar("E", bound=Labelled)


def spread_rare_classes(examples: Sequence[E], kept: Sequence[E], held: Sequence[E], same: Mapping[str, str]) -> tuple[list[E], list[E]]:
    """Return the two sides of a split, changed so that every class with at least two distinct texts is on both sides where possible.

    A class with a single text goes to the side that is kept, so that a model can be trained on it. In exchange for what it receives, a side
    gives back examples of the class that exceeds its share there the most. Its size therefore changes by less than a group of equal texts
    (``same``, as for :func:`~ticketlab.tasks.reading.splits.stratified_sample`). Nothing moves if all classes are on both sides already,
    or if there are more classes than places.

    Both sides are in the order of ``examples``.
    """
    if {example.label for example in kept} == {example.label for example in held}:
        return list(kept), list(held)
    sides = _Sides(kept, held, same)
    for label in sides.one_sided():
        sides.add_missing_side(label)
    out = sides.held_out()
    return [example for example in examples if example.id not in out], [example for example in examples if example.id in out]


class _Sides:
    """Groups of equal texts, and the side that each is on: True means held out."""

    def __init__(self, kept: Sequence[Labelled], held: Sequence[Labelled], same: Mapping[str, str]) -> None:
        held_out = {example.id for example in held}
        self.groups: dict[str, list[Labelled]] = {}
        for example in sorted([*kept, *held], key=lambda example: hash_rank(example.id)):
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
        """Return the ids of the held-out examples."""
        return {example.id for key, group in self.groups.items() if self.side[key] for example in group}

    def one_sided(self) -> list[Any]:
        """Return the classes that are missing from a side that they could be on, rarest first."""
        missing = [label for label in self.of_class if self.missing_side(label) is not None]
        return sorted(missing, key=lambda label: len(self.of_class[label]))

    def missing_side(self, label: Any) -> bool | None:
        """Return the side that a class must be added to; None if no move is needed."""
        sides = {self.side[key] for key in self.of_class[label]}
        if len(self.of_class[label]) == 1:
            return False if sides == {True} else None
        return None if len(sides) == 2 else not sides.pop()

    def add_missing_side(self, label: Any) -> None:
        """Move a group of a class to the side that it is missing from, and others back; undo this if the sides' sizes would change."""
        to = self.missing_side(label)
        if to is None:  # a group that was moved for another class contained it
            return
        before = dict(self.side)
        lone = len(self.of_class[label]) == 1
        moved = min(
            (key for key in self.of_class[label] if self.may_leave(key, ignore=(label,) if lone else ())),
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
        """Return the number of examples that a side has in excess of its intended size."""
        more = sum(len(self.groups[key]) for key, held in self.side.items() if held) - self.wanted
        return more if side else -more

    def may_leave(self, key: str, ignore: Collection[Any] = ()) -> bool:
        """Return whether each class of a group, except those to ``ignore``, has another group on its side."""
        side = self.side[key]
        return all(label in ignore or sum(self.side[other] is side for other in self.of_class[label]) > 1 for label in self.sizes[key])

    def to_give_back(self, side: bool, most: int, moved: str) -> str | None:
        """Return a group of a side with at most ``most`` examples: the last by hash of the class that exceeds its share there the most."""
        for label in sorted(self.of_class, key=self.surplus(side), reverse=True):
            for key in reversed(self.of_class[label]):
                if key != moved and self.side[key] is side and len(self.groups[key]) <= most and self.may_leave(key):
                    return key
        return None

    def surplus(self, side: bool) -> Callable[[Any], Fraction]:
        """Return a function that computes by how many examples a class exceeds its share on a side."""
        held = Counter[Any]()
        for key, sizes in self.sizes.items():
            if self.side[key]:
                held.update(sizes)
        return lambda label: (held[label] - self.share[label]) * (1 if side else -1)
