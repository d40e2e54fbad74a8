"""The sources of random numbers of a training, which ``fixed_randomness`` can name."""

from __future__ import annotations

from collections.abc import Sequence

SOURCES_OF_RANDOMNESS = ("head", "order", "dropout")
"""The initial weights of a new head (and masked words), the order of the examples, and dropout (with an adversary's noise)."""


def check_sources(sources: Sequence[str]) -> None:
    """Check the sources that a training fixes.

    :raises ValueError: one is named twice.
    """
    if twice := sorted({source for source in sources if sources.count(source) > 1}):
        raise ValueError(f"{', '.join(twice)} is named twice in {list(sources)}")
