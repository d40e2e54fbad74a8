"""Splits and samples that depend on the ids of the examples alone: never on their order, a seed or the machine."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, TypeVar

from ticketlab.tasks.reading import file_kinds, rare_classes
from ticketlab.tasks.reading.hashing import Labelled
from ticketlab.tasks.reading.hashing import rank as rank
from ticketlab.tasks.reading.split_names import split_by_words, split_of, stem_of

HELD_OUT = Fraction(1, 10)
NOTHING: Mapping[str, str] = MappingProxyType({})


E = TypeVar("E", bound=Labelled)


def quotas(sizes: Mapping[Any, int], count: int) -> dict[Any, int]:
    """Share ``count`` among classes in proportion to their sizes, by largest remainder: the shares add up to ``count``.

    Ties go to the class that comes first in ``sizes``. No share exceeds its class when ``count`` is at most the total.
    """
    total = sum(sizes.values())
    exact = {label: Fraction(count * size, total) for label, size in sizes.items()}
    shares = {label: int(share) for label, share in exact.items()}
    by_remainder = sorted(sizes, key=lambda label: shares[label] - exact[label])
    for label in by_remainder[: count - sum(shares.values())]:
        shares[label] += 1
    return shares


def pick(examples: Sequence[E], count: int, same: Mapping[str, str] = NOTHING) -> tuple[list[E], list[E]]:
    """Take ``count`` examples, each class in its proportion and in the order of hashes.

    ``same`` is that of :class:`ticketlab.tasks.reading.text_equality.TextGroups`: examples with equal texts are taken together or not at
    all. Then there may be more or fewer than ``count``, by less than the largest of these groups, or fewer still where a class has no group
    that is small enough; something is taken and something is left where there are two groups.

    Returns those taken and the rest, both in the order of ``examples``.
    """
    if count >= len(examples):
        return list(examples), []
    by_hash = sorted(examples, key=lambda example: rank(example.id))
    wanted = quotas(Counter(example.label for example in by_hash), count)
    groups: dict[str, list[E]] = {}
    for example in by_hash:
        groups.setdefault(same.get(example.id, example.id), []).append(example)
    taken: set[str] = set()
    left: list[tuple[list[E], Mapping[Any, int]]] = []
    for group in groups.values():
        sizes = Counter(example.label for example in group) if len(group) > 1 else {group[0].label: 1}
        if all(wanted[label] >= size for label, size in sizes.items()):
            _take(group, sizes, wanted, taken)
        else:
            left.append((group, sizes))
    if any(wanted.values()):
        _fill(left, wanted, taken)
    return [example for example in examples if example.id in taken], [example for example in examples if example.id not in taken]


def _take(group: Sequence[E], sizes: Mapping[Any, int], wanted: dict[Any, int], taken: set[str]) -> None:
    taken.update(example.id for example in group)
    for label, size in sizes.items():
        wanted[label] -= size


def _fill(left: Sequence[tuple[list[E], Mapping[Any, int]]], wanted: dict[Any, int], taken: set[str]) -> None:
    """Take groups that are larger than what is wanted of a class, the ones that exceed it least, while that brings the total nearer.

    A group that has all that is left of a class is taken only where nothing is otherwise. What a group costs never falls, so that the one
    on top of the heap is the cheapest if its cost is still what it was.
    """
    remaining = Counter(example.label for group, _ in left for example in group)

    def cost(sizes: Mapping[Any, int]) -> tuple[bool, int]:
        gain = sum(min(size, max(wanted[label], 0)) for label, size in sizes.items())
        return any(remaining[label] == size for label, size in sizes.items()), sum(sizes.values()) - 2 * gain

    heap = [(cost(sizes), place) for place, (_, sizes) in enumerate(left)]
    heapq.heapify(heap)
    kept = len(left)
    while heap and kept > 1 and (missing := sum(wanted.values())) > 0:
        known, place = heapq.heappop(heap)
        group, sizes = left[place]
        now = cost(sizes)
        if not any(wanted[label] > 0 for label in sizes) or (taken and (now[0] or len(group) >= 2 * missing)):
            continue
        if now != known:
            heapq.heappush(heap, (now, place))
            continue
        kept -= 1
        remaining.subtract(sizes)
        _take(group, sizes, wanted, taken)


def hold_out(examples: Sequence[E], same: Mapping[str, str], ratio: Fraction = HELD_OUT) -> tuple[list[E], list[E]]:
    """Return the examples kept and the share held out, at least one of them; ``same`` as for :func:`pick`.

    Rare classes are on both sides where that is possible: see :func:`ticketlab.tasks.reading.rare_classes.spread`.
    """
    held, kept = pick(examples, max(1, int(ratio * len(examples) + Fraction(1, 2))), same)
    return rare_classes.spread(examples, kept, held, same)


def arrange(splits: Mapping[str, Sequence[E]], same: Mapping[str, str]) -> dict[str, list[E]]:
    """Return ``train``, ``dev`` and ``test`` from the ``train``, ``validation`` and ``test`` that a data set has.

    All three: as they are. Where validation or test is missing, a tenth of train is dev and the other split is the test.
    A training split alone is divided 80/10/10; another alone is the test, and there is nothing to train on. ``same`` as for :func:`pick`.
    """
    if len(splits) == 1:
        ((name, everything),) = splits.items()
        if name != "train":
            return {"train": [], "dev": [], "test": list(everything)}
        rest, test = hold_out(everything, same)
        train, dev = hold_out(rest, same, Fraction(1, 9))
        return {"train": train, "dev": dev, "test": test}
    if "validation" in splits and "test" in splits:
        return {"train": list(splits["train"]), "dev": list(splits["validation"]), "test": list(splits["test"])}
    train, dev = hold_out(splits["train"], same)
    return {"train": train, "dev": dev, "test": list(splits["validation"] if "validation" in splits else splits["test"])}


def roles(names: Mapping[str, str], *, named: bool) -> list[str]:
    """Return what to say of the splits of a data set, given what each is called: which serves as which, where its name does not say so.

    ``named`` tells whether the names say the splits. These are the splits that :func:`arrange` makes.
    """
    shown = {split: f"`{_short(PurePath(name))}`" for split, name in names.items()}
    if "train" not in names:
        (only,) = shown.values()
        return [f"{only} is the test split, as a whole; there is no training split, so no model can be trained on this data"]
    if len(names) == 1:
        ((_, only),) = names.items()
        name = file_kinds.parts(PurePath(only))
        word = None if named else split_by_words(name.stem)
        if word in (None, "train"):
            return []
        other = f"call it {word}{name.suffix}{name.packed}, and it is the {word} split"
        return [f"{shown['train']} is divided into train, dev and test, although its name has `{word}` in it; {other}"]
    if len(names) == 3:
        return []
    test = f"{shown['validation']} is the test split, and " if "validation" in names else ""
    return [f"{test}a tenth of {shown['train']} is for development"]


def _short(path: PurePath) -> str:
    """Return the name of a file, after its folder's if it is one of numbered parts, whose own names say nothing."""
    is_numbered = stem_of(path) != file_kinds.parts(path).stem.lower() and not split_of(path)
    return f"{path.parent.name}/{path.name}" if is_numbered else path.name


def arrange_challenge(splits: Mapping[str, Sequence[E]], same: Mapping[str, str]) -> dict[str, list[E]]:
    """Return ``train``, ``dev`` and ``test`` of a challenge set, from which nothing is held out unless all that it has is a training split.

    The test is its test split, or else its validation split.
    """
    if list(splits) == ["train"]:
        return arrange(splits, same)
    test, dev = ("test", "validation") if "test" in splits else ("validation", "none")
    return {"train": list(splits.get("train", ())), "dev": list(splits.get(dev, ())), "test": list(splits[test])}


def share_out(examples: Sequence[E], share: float, same: Mapping[str, str], *, challenge: bool = False) -> tuple[list[E], list[E]]:
    """Return this share of the examples for training, each class in its proportion, and the rest for the test.

    Rare classes are on both sides as in :func:`hold_out`; of a ``challenge`` set one of a single text is evaluated, and else trained on.
    """
    taken, rest = pick(examples, int(share * len(examples) + 0.5), same)
    if challenge:
        return rare_classes.spread(examples, rest, taken, same)[::-1]
    return rare_classes.spread(examples, taken, rest, same)
