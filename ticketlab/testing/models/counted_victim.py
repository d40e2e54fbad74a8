"""A victim that counts its queries."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ticketlab.inference.victim import Text, Victim


class CountedVictim(Victim):
    """The same victim as another one, with the number of texts that it was called with."""

    def __init__(self, victim: Victim) -> None:
        super().__init__(victim.model, victim.tokenizer, victim.label_names, max_length=victim.max_length, precision=victim.precision)
        self.texts = 0
        """Texts that it was called with."""

    def __call__(self, texts: Sequence[Text]) -> Tensor:
        """Count the texts, and return their logits."""
        self.texts += len(texts)
        return super().__call__(texts)
