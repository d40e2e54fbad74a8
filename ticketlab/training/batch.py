"""Batches: texts tokenised once, rows of like length together, padding to the longest row of the batch."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from attrs import field, frozen
from torch import Tensor

from ticketlab.backbone.tokenizer import filler, room
from ticketlab.backbone.vocabulary import unknown_id
from ticketlab.inference.random_state import derive_seed
from ticketlab.tasks.base import Example
from ticketlab.training import unknown_characters
from ticketlab.training.input_coverage import InputCoverage

POOL = 50
"""How many batches are sorted by length together: more saves padding, fewer keeps the order more random."""
MULTIPLE = 4
"""Batches are as long as their longest row, rounded up to this: a CPU compiles kernels for each new shape, and fewer shapes cost less."""


@frozen
class Batch:
    """Padded rows. ``input_ids``, ``attention_mask`` and ``token_type_ids`` are (rows, length); ``labels`` is (rows,).

    ``loss_inputs`` has what a loss looks at besides logits and labels, by the name it takes it by: (rows, classes).
    """

    input_ids: Tensor
    attention_mask: Tensor
    token_type_ids: Tensor | None
    labels: Tensor
    loss_inputs: Mapping[str, Tensor] = field(factory=dict)

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device."""
        types = None if self.token_type_ids is None else self.token_type_ids.to(device)
        loss_inputs = {name: values.to(device) for name, values in self.loss_inputs.items()}
        return Batch(self.input_ids.to(device), self.attention_mask.to(device), types, self.labels.to(device), loss_inputs)


@frozen
class TokenizedRows:
    """Tokenised examples.

    ``truncated`` counts those that were longer than the model takes, ``sight`` what it sees of them; ``loss_inputs`` is as in
    :class:`Batch`.
    """

    input_ids: Sequence[Sequence[int]]
    token_type_ids: Sequence[Sequence[int]] | None
    labels: Sequence[int]
    pad_id: int
    truncated: int
    loss_inputs: Mapping[str, Tensor] = field(factory=dict)
    sight: InputCoverage = InputCoverage()

    def __len__(self) -> int:
        return len(self.labels)

    @functools.cached_property
    def longest(self) -> int:
        """The length of the longest row, which the model is known to take."""
        return max(map(len, self.input_ids), default=0)

    def collate(self, indices: Sequence[int], multiple: int = MULTIPLE) -> Batch:
        """Pad the rows at ``indices`` to the longest of them, rounded up to ``multiple`` as far as the longest row of all."""
        length = max(len(self.input_ids[index]) for index in indices)
        length = min(-(-length // multiple) * multiple, self.longest)
        ids = torch.full((len(indices), length), self.pad_id, dtype=torch.long)
        mask = torch.zeros((len(indices), length), dtype=torch.long)
        types = None if self.token_type_ids is None else torch.zeros((len(indices), length), dtype=torch.long)
        for row, index in enumerate(indices):
            size = len(self.input_ids[index])
            ids[row, :size] = torch.tensor(self.input_ids[index])
            mask[row, :size] = 1
            if types is not None and self.token_type_ids is not None:
                types[row, :size] = torch.tensor(self.token_type_ids[index])
        chosen = torch.tensor(list(indices))
        loss_inputs = {name: values[chosen] for name, values in self.loss_inputs.items()}
        return Batch(ids, mask, types, torch.tensor([self.labels[index] for index in indices]), loss_inputs)

    def epoch(self, size: int, seed: int, epoch: int) -> list[list[int]]:
        """Return the batches of one epoch as row indices: shuffled, then sorted by length within pools, then shuffled by batch."""
        generator = random.Random(derive_seed(seed, "epoch", epoch))
        order = list(range(len(self)))
        generator.shuffle(order)
        batches: list[list[int]] = []
        for start in range(0, len(order), size * POOL):
            pool = sorted(order[start : start + size * POOL], key=lambda index: len(self.input_ids[index]))
            batches += [pool[first : first + size] for first in range(0, len(pool), size)]
        generator.shuffle(batches)
        return batches

    def by_length(self, size: int) -> Iterator[list[int]]:
        """Yield every row once, in batches of like length, for evaluation."""
        order = sorted(range(len(self)), key=lambda index: len(self.input_ids[index]))
        return (order[first : first + size] for first in range(0, len(order), size))

    def of_one_length(self, size: int, marker: int | None = None) -> Iterator[list[int]]:
        """Yield every row once, in batches of one length, which need no padding; with a ``marker``, of one number of that token, too."""
        alike: dict[tuple[int, int], list[int]] = {}
        for index, ids in enumerate(self.input_ids):
            alike.setdefault((len(ids), 0 if marker is None else list(ids).count(marker)), []).append(index)
        return (rows[first : first + size] for _, rows in sorted(alike.items()) for first in range(0, len(rows), size))


def tokenize(examples: Sequence[Example], tokenizer: Any, max_length: int) -> TokenizedRows:
    """Tokenise examples, cutting rows off at ``max_length`` tokens, or at what the model takes (the longer text of a pair first).

    A text that comes to no token at all, under a tokenizer without special ones, is given as one of its special tokens.

    :raises UsageError: ``max_length`` leaves no room for a token of each text.
    """
    most = int(tokenizer.model_max_length)
    max_length = min(max_length, most)
    if not examples:
        return TokenizedRows([], None, [], tokenizer.pad_token_id, 0)
    columns = [list(column) for column in zip(*(example.texts for example in examples), strict=True)]
    special = room(tokenizer, max_length, len(columns))
    encoded = tokenizer(*columns, truncation=False, verbose=False)
    ids, types = list(encoded["input_ids"]), list(encoded.get("token_type_ids", ()))
    encodings = list(encoded.encodings) if tokenizer.is_fast else []
    parts = [encoding.sequence_ids for encoding in encodings] if len(columns) > 1 and encodings else None
    long = [index for index, row in enumerate(ids) if len(row) > max_length]
    cut_tokens = sum(len(ids[index]) - max_length for index in long)
    if long:
        cut = tokenizer(*([column[index] for index in long] for column in columns), truncation=True, max_length=max_length)
        for place, index in enumerate(long):
            ids[index] = cut["input_ids"][place]
            if types:
                types[index] = cut["token_type_ids"][place]
            if encodings:
                encodings[index] = cut.encodings[place]
            if parts is not None:
                parts[index] = encodings[index].sequence_ids
    empty = [index for index, row in enumerate(ids) if not row]
    unknown = unknown_id(tokenizer)
    texts = (example.texts for example in examples)
    sight = InputCoverage.of(
        ids,
        special=special,
        unknown=unknown,
        most=most,
        characters=unknown_characters.count(zip(texts, encodings, strict=False), unknown, frozenset(long)),
        parts=parts,
        truncated=len(long),
        cut_tokens=cut_tokens,
        longest=max_length,
        run_together=len(columns) > 1 and special <= tokenizer.num_special_tokens_to_add(pair=False),
    )
    for index in empty:
        ids[index] = [filler(tokenizer)]
        if types:
            types[index] = [0]
    pad = tokenizer.pad_token_id or 0  # of no effect where there is none: such a model gets rows of one length
    return TokenizedRows(ids, types or None, [example.label for example in examples], pad, len(long), sight=sight)
