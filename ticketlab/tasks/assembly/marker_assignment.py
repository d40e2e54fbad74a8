"""Which marker each example gets: at a rate of agreement with the label, decided by a hash of the id, or exactly at chance."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ticketlab.tasks.base import Example


def at_rate(examples: Sequence[Example], labels: int, rate: float, seed: int) -> list[int]:
    """Return the index of the label whose marker each example gets.

    It is the example's own label with probability ``rate``, and otherwise one of the other ``labels`` - 1, uniformly. An example's marker
    depends on its id, its label and the seed alone; at a higher rate, the examples whose marker agrees at a lower rate still agree.
    """
    found = []
    for example in examples:
        digest = _digest(example, seed)
        agrees = (int.from_bytes(digest[:8]) >> 11) / 2**53 < rate
        other = (example.label + 1 + int.from_bytes(digest[8:16]) % (labels - 1)) % labels
        found.append(example.label if agrees else other)
    return found


def at_chance(examples: Sequence[Example], labels: int, seed: int) -> list[int]:
    """Return the index of the label whose marker each example gets, so that every marker is equally frequent with every label.

    In each class, and in all examples, the frequencies of two markers differ by at most one. Within a class, examples are in the order of
    a hash of their ids and the seed.
    """
    order = sorted(range(len(examples)), key=lambda index: (examples[index].label, _digest(examples[index], seed), examples[index].id))
    found = [0] * len(examples)
    for place, index in enumerate(order):
        found[index] = place % labels
    return found


def _digest(example: Example, seed: int) -> bytes:
    """Return a hash that is independent of the one that selects training samples (:mod:`ticketlab.tasks.reading.hash_order`)."""
    return hashlib.sha256(f"shortcut {seed} {example.id}".encode(errors="surrogatepass")).digest()
