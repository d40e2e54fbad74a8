"""Tokenised rows and batches: texts are tokenised once, batched by similar length, and padded to the longest row of the batch."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from attrs import field, frozen
from torch import Tensor

from ticketlab.backbone.tokenizer import placeholder_token, special_token_count
from ticketlab.backbone.vocabulary_warnings import unknown_token_id
from ticketlab.inference.random_state import derive_seed
from ticketlab.tasks.base import Example
from ticketlab.training import unknown_characters
from ticketlab.training.input_coverage import InputCoverage

POOL = 50
"""Batches per pool that is sorted by length: more saves padding, fewer keeps the order more random."""
MULTIPLE = 4
"""Lengths of batches are rounded up to a multiple of this. A CPU compiles kernels for each new shape, so fewer shapes are faster."""


@frozen
class Batch:
    """Padded rows."""

    input_ids: Tensor
    """The token ids, (rows, length)."""
    attention_mask: Tensor
    """1 for tokens and 0 for padding, (rows, length)."""
    token_type_ids: Tensor | None
    """The segment of each token, (rows, length); None for a model without segments."""
    labels: Tensor
    """The labels, (rows,)."""
    loss_inputs: Mapping[str, Tensor] = field(factory=dict)
    """The inputs of the loss in addition to logits and labels, by keyword; each (rows, classes)."""

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def rows(self, first: int, count: int) -> Batch:
        """Return ``count`` rows from ``first`` on, with the padding of the batch."""
        chosen = slice(first, first + count)
        types = None if self.token_type_ids is None else self.token_type_ids[chosen]
        loss_inputs = {name: values[chosen] for name, values in self.loss_inputs.items()}
        return Batch(self.input_ids[chosen], self.attention_mask[chosen], types, self.labels[chosen], loss_inputs)

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device."""
        types = None if self.token_type_ids is None else self.token_type_ids.to(device)
        loss_inputs = {name: values.to(device) for name, values in self.loss_inputs.items()}
        return Batch(self.input_ids.to(device), self.attention_mask.to(device), types, self.labels.to(device), loss_inputs)


@frozen
class TokenizedRows:
    """Tokenised examples."""

    input_ids: Sequence[Sequence[int]]
    """The token ids of each row."""
    token_type_ids: Sequence[Sequence[int]] | None
    """The segments of the tokens of each row; None for a model without segments."""
    labels: Sequence[int]
    """The label of each row."""
    pad_id: int
    """The id of the padding token."""
    truncated: int
    """The number of examples that were cut off."""
    loss_inputs: Mapping[str, Tensor] = field(factory=dict)
    """The inputs of the loss, by keyword: tensors (rows, classes) in the order of the rows."""
    coverage: InputCoverage = InputCoverage()
    """Counts of what the model sees of the texts."""

    def __len__(self) -> int:
        return len(self.labels)

    @functools.cached_property
    def longest(self) -> int:
        """The length of the longest row, a length that the model accepts."""
        return max(map(len, self.input_ids), default=0)

    def collate(self, indices: Sequence[int], multiple: int = MULTIPLE) -> Batch:
        """Pad the rows at ``indices`` to the longest of them, rounded up to ``multiple`` but no longer than the longest row of all."""
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
        """Yield every row once, in batches of similar length, for evaluation."""
        order = sorted(range(len(self)), key=lambda index: len(self.input_ids[index]))
        return (order[first : first + size] for first in range(0, len(order), size))

    def of_one_length(self, size: int, marker: int | None = None) -> Iterator[list[int]]:
        """Yield every row once, in batches of equal length, which need no padding.

        With a ``marker``, the rows of a batch also contain that token equally often.
        """
        groups: dict[tuple[int, int], list[int]] = {}
        for index, ids in enumerate(self.input_ids):
            groups.setdefault((len(ids), 0 if marker is None else list(ids).count(marker)), []).append(index)
        return (rows[first : first + size] for _, rows in sorted(groups.items()) for first in range(0, len(rows), size))


def tokenize(examples: Sequence[Example], tokenizer: Any, max_length: int) -> TokenizedRows:
    """Tokenise examples, truncating rows to ``max_length`` tokens or the model's maximum (the longer text of a pair is cut first).

    If a text has no tokens at all, under a tokenizer that adds no special tokens, the row is a single placeholder token.

    :raises UsageError: ``max_length`` leaves no room for a token of each text.
    """
    most = int(tokenizer.model_max_length)
    max_length = min(max_length, most)
    if not examples:
        return TokenizedRows([], None, [], tokenizer.pad_token_id, 0)
    columns = [list(column) for column in zip(*(example.texts for example in examples), strict=True)]
    special = special_token_count(tokenizer, max_length, len(columns))
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
    unknown = unknown_token_id(tokenizer)
    texts = (example.texts for example in examples)
    coverage = InputCoverage.of(
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
        ids[index] = [placeholder_token(tokenizer)]
        if types:
            types[index] = [0]
    pad = tokenizer.pad_token_id or 0  # unused without a padding token: such a model gets rows of equal length
    return TokenizedRows(ids, types or None, [example.label for example in examples], pad, len(long), coverage=coverage)
