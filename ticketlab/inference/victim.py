"""The model under attack, as textattack calls it: texts in, logits out."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ticketlab.backbone.input_limits import max_tokens
from ticketlab.backbone.tokenizer import placeholder_token
from ticketlab.core.component import Precision
from ticketlab.inference import tokenization
from ticketlab.inference.batch_invariant import BatchInvariantModel
from ticketlab.inference.evaluation_mode import evaluation_mode
from ticketlab.inference.packing import Packing, Row

Text = str | Sequence[str]
"""One input: a text or the texts of a pair."""


class Victim:
    """A transformers classifier with its tokenizer and its label names, in the order of its logits.

    The model stays on its device. Texts are always truncated to ``max_length`` tokens, or to the model's own limit if that is lower. The
    logits of a text depend on that text alone, whatever the batch.
    """

    def __init__(
        self, model: nn.Module, tokenizer: Any, label_names: Sequence[str], *, max_length: int = 128, precision: Precision = "fp32"
    ) -> None:
        self.model = model
        """The model."""
        self.tokenizer = tokenizer
        """Its tokenizer."""
        self.label_names = tuple(label_names)
        """The names of the labels, in the order of the logits."""
        self.max_length = min(max_length, longest_input(model, tokenizer))
        """The maximum length of an input in tokens."""
        self.batch_invariant_model = BatchInvariantModel(model, self._logits, precision=precision, packing=Packing(model, first_only=True))
        """The model, which gives a row the same bits in any batch."""
        self.tally: Any = None
        """In a worker process, the shared counter of its rows."""
        self.tallies: list[Any] = []
        """In the parent process, the counters of all workers."""
        self._has_segments = "token_type_ids" in inspect.signature(model.forward).parameters

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return self.batch_invariant_model.device

    @property
    def precision(self) -> Precision:
        """The precision in which the model computes."""
        return self.batch_invariant_model.precision

    @property
    def rows(self) -> int:
        """Rows computed so far in this process."""
        return self.batch_invariant_model.rows

    @property
    def rows_everywhere(self) -> int:
        """Rows computed so far in all processes."""
        return self.rows + sum(int(tally.value) for tally in self.tallies)

    def __call__(self, texts: Sequence[Text]) -> Tensor:
        """Return the logits of each text, in float32 on the CPU: shape (texts, labels).

        :raises ValueError: the numbers of outputs and of label names differ.
        """
        if not texts:
            return torch.empty(0, len(self.label_names))
        return torch.stack(self.batch_invariant_model(self.encode(texts)))

    def encode(self, texts: Sequence[Text]) -> list[dict[str, list[int]]]:
        """Return the model's inputs for each text, truncated and not padded."""
        pairs = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
        rows = list(tokenization.rows(self.tokenizer, pairs, self.max_length))
        if not rows:
            return []
        names = [name for name in rows[0] if name != "token_type_ids" or self._has_segments]
        return [{name: row[name] for name in names} if row["input_ids"] else self._empty_row(names) for row in rows]

    def _empty_row(self, names: Sequence[str]) -> dict[str, list[int]]:
        """Return the model's inputs for a text without tokens, for tokenizers that add no special ones."""
        return {name: [int(name == "attention_mask")] for name in names} | {"input_ids": [placeholder_token(self.tokenizer)]}

    def _logits(self, batch: Mapping[str, Tensor], rows: Sequence[Row]) -> Sequence[Tensor]:
        if self.tally is not None:
            self.tally.value += len(rows)
        logits: Tensor = self.model(**batch).logits.float().cpu()
        if logits.shape[-1] != len(self.label_names):
            raise ValueError(f"the model has {logits.shape[-1]} outputs for {len(self.label_names)} label names")
        return logits.unbind()

    def truncates(self, text: Text) -> bool:
        """Return whether ``text`` is truncated before the model sees it."""
        columns = [text] if isinstance(text, str) else list(text)
        with without_length_warning(self.tokenizer):
            return len(self.tokenizer(*columns, truncation=False)["input_ids"]) > self.max_length

    def seen(self, text: Text) -> list[tuple[int, int]] | None:
        """Return the span of characters that the model sees of each text; None if the tokenizer reports no offsets (is not a fast one)."""
        if not getattr(self.tokenizer, "is_fast", False):
            return None
        columns = [text] if isinstance(text, str) else list(text)
        encoded = self.tokenizer(*columns, truncation=True, max_length=self.max_length, return_offsets_mapping=True)
        tokens = list(zip(encoded.sequence_ids(0), encoded["offset_mapping"], strict=True))
        spans = [[span for place, span in tokens if place == number] for number in range(len(columns))]
        return [(min(first for first, _ in column), max(last for _, last in column)) if column else (0, 0) for column in spans]

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[Victim]:
        """Put the model into evaluation mode during the block, then restore the mode of every submodule."""
        with evaluation_mode(self.model):
            yield self


@contextlib.contextmanager
def without_length_warning(tokenizer: Any) -> Iterator[None]:
    """Suppress a tokenizer's warning about texts longer than its model's maximum."""
    name = "deprecation_warnings"
    before = dict(getattr(tokenizer, name, {}))
    if hasattr(tokenizer, name):
        tokenizer.deprecation_warnings["sequence-length-is-longer-than-the-specified-maximum"] = True
    try:
        yield
    finally:
        if hasattr(tokenizer, name):
            tokenizer.deprecation_warnings = before


def longest_input(model: nn.Module, tokenizer: Any) -> int:
    """Return the maximum number of tokens of the model and its tokenizer."""
    most = max_tokens(model)
    return int(tokenizer.model_max_length) if most is None else min(int(tokenizer.model_max_length), most)
