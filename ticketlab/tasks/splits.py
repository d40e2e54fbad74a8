"""Splits and samples that depend on the ids of the examples alone: never on their order, a seed or the machine."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeVar

HELD_OUT = Fraction(1, 10)


class Labelled(Protocol):
    """What has an id and a label."""

    @property
    def id(self) -> str:
        """Unique in the data set."""

    @property
    def label(self) -> Any:
        """The class."""


E = TypeVar("E", bound=Labelled)


def rank(identity: str) -> bytes:
    """Return where an id stands in the order of hashes."""
    return hashlib.sha256(identity.encode()).digest()


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


def pick(examples: Sequence[E], count: int) -> tuple[list[E], list[E]]:
    """Take ``count`` examples, each class in its proportion and in the order of hashes.

    Returns those taken and the rest, both in the order of ``examples``.
    """
    if count >= len(examples):
        return list(examples), []
    by_hash = sorted(examples, key=lambda example: rank(example.id))
    shares = quotas(Counter(example.label for example in by_hash), count)
    taken = set()
    for example in by_hash:
        if shares[example.label]:
            shares[example.label] -= 1
            taken.add(example.id)
    return [example for example in examples if example.id in taken], [example for example in examples if example.id not in taken]


def hold_out(examples: Sequence[E], ratio: Fraction = HELD_OUT) -> tuple[list[E], list[E]]:
    """Return the examples kept and the share held out, at least one of them."""
    held, kept = pick(examples, max(1, int(ratio * len(examples) + Fraction(1, 2))))
    return kept, held


def arrange(splits: Mapping[str, Sequence[E]]) -> dict[str, list[E]]:
    """Return ``train``, ``dev`` and ``test`` from the ``train``, ``validation`` and ``test`` that a data set has.

    All three: as they are. Where validation or test is missing, a tenth of train is dev and the other split is the test.
    A training split alone is divided 80/10/10; another alone is the test, and there is nothing to train on.
    """
    if len(splits) == 1:
        ((name, everything),) = splits.items()
        if name != "train":
            return {"train": [], "dev": [], "test": list(everything)}
        rest, test = hold_out(everything)
        train, dev = hold_out(rest, Fraction(1, 9))
        return {"train": train, "dev": dev, "test": test}
    if "validation" in splits and "test" in splits:
        return {"train": list(splits["train"]), "dev": list(splits["validation"]), "test": list(splits["test"])}
    train, dev = hold_out(splits["train"])
    return {"train": train, "dev": dev, "test": list(splits["validation"] if "validation" in splits else splits["test"])}


def arrange_challenge(splits: Mapping[str, Sequence[E]]) -> dict[str, list[E]]:
    """Return ``train``, ``dev`` and ``test`` of a challenge set, from which nothing is held out unless all that it has is a training split.

    The test is its test split, or else its validation split.
    """
    if list(splits) == ["train"]:
        return arrange(splits)
    test, dev = ("test", "validation") if "test" in splits else ("validation", "none")
    return {"train": list(splits.get("train", ())), "dev": list(splits.get(dev, ())), "test": list(splits[test])}


def share_out(examples: Sequence[E], share: float) -> tuple[list[E], list[E]]:
    """Return this share of the examples, each class in its proportion, and the rest."""
    return pick(examples, int(share * len(examples) + 0.5))
