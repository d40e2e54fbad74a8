"""A bias model and a metric with a mistake, in a module that imports no more than it needs: they follow the order of a set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from attrs import frozen

from ticketlab.plugin import BiasModel, Example, Metric, Predictions

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@frozen
class UnorderedLetters(BiasModel):
    """How often each letter occurs, in the order of a set."""

    name: ClassVar[str] = "unordered-letters"
    summary: ClassVar[str] = "the frequencies of letters"

    def features(self, examples: Sequence[Example], words: Any) -> Any:
        counts = [[float(example.texts[0].count(letter)) for letter in set(LETTERS)] for example in examples]
        return np.array(counts).reshape(len(examples), len(LETTERS))


@frozen
class HashedAccuracy(Metric):
    """The share of right predictions, and the hash of a label's name."""

    name: ClassVar[str] = "hashed-accuracy"
    summary: ClassVar[str] = "accuracy, with a mistake"
    better: ClassVar[Literal["higher", "lower"]] = "higher"

    def compute(self, predictions: Predictions) -> float | None:
        return float(predictions.correct.mean()) + hash(predictions.label_names[0]) % 1000 / 1e6
