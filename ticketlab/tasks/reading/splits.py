"""Makes splits and stratified samples that depend only on the ids of the examples, not on their order, a seed or the machine."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, TypeVar

from ticketlab.tasks.reading import file_kinds, rare_classes
from ticketlab.tasks.reading.hash_order import Labelled, hash_rank
from ticketlab.tasks.reading.split_names import split_by_words, split_of_file, stem_of

HELD_OUT = Fraction(1, 10)
NO_GROUPS: Mapping[str, str] = MappingProxyType({})


E = TypeVar("E", bound=Labelled)


def proportional_quotas(sizes: Mapping[Any, int], count: int) -> dict[Any, int]:
    """Divide ``count`` among classes in proportion to their sizes, by largest remainder, so that the shares add up to ``count``.

    Ties go to the class that comes first in ``sizes``. No share exceeds its class if ``count`` is at most the total.
    """
    total = sum(sizes.values())
    exact = {label: Fraction(count * size, total) for label, size in sizes.items()}
    shares = {label: int(share) for label, share in exact.items()}
    by_remainder = sorted(sizes, key=lambda label: shares[label] - exact[label])
    for label in by_remainder[: count - sum(shares.values())]:
        shares[label] += 1
    return shares


def stratified_sample(examples: Sequence[E], count: int, same: Mapping[str, str] = NO_GROUPS) -> tuple[list[E], list[E]]:
    """Take a stratified sample of ``count`` examples, in the order of the hashes of their ids.

    With ``same`` of :class:`~ticketlab.tasks.reading.text_equality.TextGroups`, examples with equal texts are taken together or not at all.
    The size of the sample may then differ from ``count`` by less than the largest group of equal texts, or be smaller still if a class has
    no group that is small enough. If there are at least two groups, neither the sample nor the rest is empty.

    Returns the sample and the rest, both in the order of ``examples``.
    """
    if count >= len(examples):
        return list(examples), []
    by_hash = sorted(examples, key=lambda example: hash_rank(example.id))
    wanted = proportional_quotas(Counter(example.label for example in by_hash), count)
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
    """Take groups that exceed the quota of a class, starting with the smallest excess, while this brings the total closer to the target.

    A group that contains all remaining examples of a class is taken only if nothing would be taken otherwise. The cost of a group never
    falls, so the group on top of the heap is the cheapest if its cost has not changed.
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
    """Return the kept and the held-out examples, at least one of the latter; ``same`` as for :func:`stratified_sample`.

    Rare classes are on both sides where possible: see :func:`ticketlab.tasks.reading.rare_classes.spread_rare_classes`.
    """
    held, kept = stratified_sample(examples, max(1, int(ratio * len(examples) + Fraction(1, 2))), same)
    return rare_classes.spread_rare_classes(examples, kept, held, same)


def make_splits(splits: Mapping[str, Sequence[E]], same: Mapping[str, str]) -> dict[str, list[E]]:
    """Return ``train``, ``dev`` and ``test``, made from those of ``train``, ``validation`` and ``test`` that a data set has.

    If all three exist, they are used as they are. If validation or test is missing, a tenth of train becomes dev and the other split is
    the test split. A single training split is divided 80/10/10. Any other single split is the test split, and there are no training
    examples. ``same`` as for :func:`stratified_sample`.
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


def describe_roles(names: Mapping[str, str], *, named: bool) -> list[str]:
    """Return notices about the roles that :func:`make_splits` gives to splits, where they do not follow from their names.

    ``names`` are the names of the splits; ``named`` is whether the splits were identified by them.
    """
    shown = {split: f"`{_short(PurePath(name))}`" for split, name in names.items()}
    if "train" not in names:
        (only,) = shown.values()
        return [f"{only} is used as the test split; there is no training split, so no model can be trained on this data"]
    if len(names) == 1:
        ((_, only),) = names.items()
        name = file_kinds.parse_name(PurePath(only))
        word = None if named else split_by_words(name.stem)
        if word in (None, "train"):
            return []
        other = f"rename it to {word}{name.suffix}{name.packed} to use it as the {word} split"
        return [f"{shown['train']} is divided into train, dev and test, although its name contains `{word}`; {other}"]
    if len(names) == 3:
        return []
    test = f"{shown['validation']} is used as the test split, and " if "validation" in names else ""
    return [f"{test}a tenth of {shown['train']} is used as the dev split"]


def _short(path: PurePath) -> str:
    """Return the name of a file, with its folder if it is a numbered part and its name alone says nothing."""
    is_numbered = stem_of(path) != file_kinds.parse_name(path).stem.lower() and not split_of_file(path)
    return f"{path.parent.name}/{path.name}" if is_numbered else path.name


def make_challenge_splits(splits: Mapping[str, Sequence[E]], same: Mapping[str, str]) -> dict[str, list[E]]:
    """Return ``train``, ``dev`` and ``test`` of a challenge set. Nothing is held out unless it has only a training split.

    The test split is its test split, or its validation split if there is none.
    """
    if list(splits) == ["train"]:
        return make_splits(splits, same)
    test, dev = ("test", "validation") if "test" in splits else ("validation", "none")
    return {"train": list(splits.get("train", ())), "dev": list(splits.get(dev, ())), "test": list(splits[test])}


def take_training_share(
    examples: Sequence[E], share: float, same: Mapping[str, str], *, challenge: bool = False
) -> tuple[list[E], list[E]]:
    """Return a stratified share of the examples for training, and the rest for the test split.

    Rare classes are on both sides as in :func:`hold_out`. A class with a single text is used for training, in a ``challenge`` set for
    evaluation.
    """
    taken, rest = stratified_sample(examples, int(share * len(examples) + 0.5), same)
    if challenge:
        return rare_classes.spread_rare_classes(examples, rest, taken, same)[::-1]
    return rare_classes.spread_rare_classes(examples, taken, rest, same)
