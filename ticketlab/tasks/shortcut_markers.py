"""The marker words of an injected shortcut, one for each label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted
from ticketlab.tasks.reading.labels import quote_some

DEFAULT = (
    "walnut", "quartz", "birch", "zinc", "helium", "sodium", "calcium", "sandstone", "nickel", "granite", "maple", "marble",
)  # fmt: skip
"""Words for the first labels, in order. Each is one token of the vocabulary of BERT, rare in the usual data sets, and says nothing about
sentiment, topic or entailment."""


def markers_for(source: str, labels: Sequence[str], chosen: Sequence[str]) -> tuple[str, ...]:
    """Return the marker of each label: the ``chosen`` words or, if there are none, the first of :data:`DEFAULT`.

    :raises DataError: the number of words is not that of the labels.
    """
    if chosen and len(chosen) != len(labels):
        raise DataError(
            f"{source}: shortcut_markers: {counted(len(chosen), 'marker')} for {counted(len(labels), 'label')} ({quote_some(labels)}); "
            "name one word for each label, in this order"
        )
    if not chosen and len(labels) > len(DEFAULT):
        raise DataError(
            f"{source}: shortcut: there are {len(labels)} labels and only {len(DEFAULT)} default markers; name one word for each label "
            "with shortcut_markers"
        )
    return tuple(chosen) or DEFAULT[: len(labels)]


def check_markers(markers: Sequence[str]) -> None:
    """Check that markers are different single words; case does not distinguish them, since many models ignore it.

    :raises ValueError: they are not.
    """
    for marker in markers:
        if not re.fullmatch(r"\w+", marker):
            raise ValueError(f"a marker is one word of letters and digits, not {marker!r}")
    if len({marker.casefold() for marker in markers}) < len(markers):
        raise ValueError(f"markers must differ in more than case: {', '.join(markers)}")


def count_texts_with(markers: Sequence[str], texts: Iterable[str]) -> int:
    """Return the number of texts that contain a marker as a word, ignoring case."""
    word = re.compile(rf"\b(?:{'|'.join(map(re.escape, markers))})\b", re.IGNORECASE)
    return sum(word.search(text) is not None for text in texts)
