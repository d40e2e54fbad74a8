"""Detects texts that contain their own label, so that a model can simply read it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ticketlab.tasks.base import Example
from ticketlab.tasks.reading.labels import quote_some

SAMPLE_SIZE = 2000
"""Number of examples that are checked, evenly spaced."""
MAX_LEAKING_SHARE = 0.5
"""Share of a class's examples that name it, and no other class, above which there is a warning."""


def find_label_leaks(examples: Sequence[Example], names: Sequence[str]) -> Iterator[str]:
    """Yield a warning if most texts of at least two classes contain the name of their own class, as a word and ignoring case.

    Texts that also name another class don't count: a question that lists its possible answers gives nothing away.
    """
    sample = examples[:: -(-len(examples) // SAMPLE_SIZE) or 1]
    classes = {name.casefold(): label for label, name in enumerate(names) if name}
    if not sample or len(classes) < 2:
        return
    longest_first = sorted(classes, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    sizes = Counter(example.label for example in sample)
    named = [(example.label, {classes[word] for word in pattern.findall(" ".join(example.texts).casefold())}) for example in sample]
    leaking = Counter(label for label, labels in named if labels == {label})
    leaked = [label for label, size in sizes.items() if leaking[label] > MAX_LEAKING_SHARE * size]
    if len(leaked) > 1:
        yield (
            f"{sum(leaking.values())} of {len(sample)} texts that were checked contain their own label and no other ("
            f"{quote_some([names[label] for label in sorted(leaked)], 4)}): a model can read the label from the text"
        )
