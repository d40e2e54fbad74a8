"""Texts that have their own label written in them, so that a model need only read it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ticketlab.tasks.base import Example
from ticketlab.tasks.reading.labels import some

LOOKED_AT = 2000
"""Examples that are looked at, evenly spread."""
MOST = 0.5
"""The share of the examples of a class that name it, and no other class, above which it is a warning."""


def leaks(examples: Sequence[Example], names: Sequence[str]) -> Iterator[str]:
    """Yield a warning where the texts of two classes or more mostly name their own class, as a word and upper and lower case aside.

    Texts that name other classes too do not count: a question that lists its answers says nothing.
    """
    chosen = examples[:: -(-len(examples) // LOOKED_AT) or 1]
    classes = {name.casefold(): label for label, name in enumerate(names) if name}
    if not chosen or len(classes) < 2:
        return
    longest_first = sorted(classes, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    sizes = Counter(example.label for example in chosen)
    named = [(example.label, {classes[word] for word in pattern.findall(" ".join(example.texts).casefold())}) for example in chosen]
    own = Counter(label for label, found in named if found == {label})
    told = [label for label, size in sizes.items() if own[label] > MOST * size]
    if len(told) > 1:
        yield (
            f"{sum(own.values())} of {len(chosen)} texts that were looked at have their own label in them, and no other ("
            f"{some([names[label] for label in sorted(told)], 4)}): a model need only read it there"
        )
