"""Random masking of tokens for masked language modelling (Devlin et al., 2019)."""

from __future__ import annotations

from typing import Any

import torch
from attrs import evolve, frozen
from torch import Tensor

from ticketlab.training.batch import Batch

NOT_MASKED = -100
"""The label of a position that is not predicted, as in transformers."""
HIDDEN, REPLACED = 0.8, 0.1
"""The fractions of the chosen positions that get the mask token and a random word. The rest keep their token."""


@frozen(eq=False)
class MaskingVocabulary:
    """The token ids of a model: the mask token's, a boolean per id that marks ``special`` tokens, and all other ids as ``words``."""

    mask_id: int
    special: Tensor
    words: Tensor

    @classmethod
    def of(cls, tokenizer: Any, size: int) -> MaskingVocabulary:
        """Return the vocabulary of a model with ``size`` word embeddings; ids that the tokenizer lacks count as special."""
        special = torch.ones(size, dtype=torch.bool)
        special[: len(tokenizer)] = False
        special[torch.tensor(sorted(tokenizer.all_special_ids))] = True
        return cls(int(tokenizer.mask_token_id), special, (~special).nonzero().squeeze(1))


def mask(batch: Batch, vocabulary: MaskingVocabulary, ratio: float, seed: int) -> Batch:
    """Choose each position with probability ``ratio``, and at least one per row that has a word. Special tokens and padding are exempt.

    ``batch`` must be on the CPU, so that a seed gives the same masks on every machine. Returns a batch with the masked ``input_ids`` and,
    as ``labels`` (rows, length), the ids to predict, ``NOT_MASKED`` elsewhere.
    """
    generator = torch.Generator().manual_seed(seed)
    ids = batch.input_ids
    possible = batch.attention_mask.bool() & ~vocabulary.special[ids]
    draws = torch.rand(ids.shape, generator=generator).masked_fill(~possible, torch.inf)
    lowest = draws == draws.amin(dim=1, keepdim=True)
    chosen = possible & ((draws < ratio) | lowest)
    fate = torch.rand(ids.shape, generator=generator)
    other = vocabulary.words[torch.randint(len(vocabulary.words), ids.shape, generator=generator)]
    shown = torch.where(chosen & (fate < HIDDEN), vocabulary.mask_id, ids)
    shown = torch.where(chosen & (fate >= HIDDEN) & (fate < HIDDEN + REPLACED), other, shown)
    return evolve(batch, input_ids=shown, labels=ids.masked_fill(~chosen, NOT_MASKED))
