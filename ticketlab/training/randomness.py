"""The sources of random numbers of a training, which ``fixed_randomness`` can name."""

from __future__ import annotations

SOURCES_OF_RANDOMNESS = ("head", "order", "dropout")
"""The initial weights of a new head (and masked words), the order of the examples, and dropout (with an adversary's noise)."""
