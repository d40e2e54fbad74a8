"""The model under attack, as textattack calls it: texts in, logits out."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ticketlab.backbone.positions import most_tokens
from ticketlab.backbone.tokenizer import filler
from ticketlab.inference import tokenization
from ticketlab.inference.batch_invariant import BatchInvariantModel, Precision
from ticketlab.inference.packing import Packing, Row

Text = str | Sequence[str]
"""One input: a text, or the texts of a pair."""


class Victim:
    """A classifier of transformers with its tokenizer and the names of its labels, in the order of its logits.

    The model stays on its device. Texts are always truncated, to ``max_length`` tokens or to what the model can take. The logits of a text
    depend on that text alone, whatever it is asked with.
    """

    def __init__(
        self, model: nn.Module, tokenizer: Any, label_names: Sequence[str], *, max_length: int = 128, precision: Precision = "fp32"
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.label_names = tuple(label_names)
        self.max_length = min(max_length, longest_input(model, tokenizer))
        self.canonical = BatchInvariantModel(model, self._logits, precision=precision, packing=Packing(model, first_only=True))
        self.tally: Any = None
        """Where a copy in another process counts its rows."""
        self.tallies: list[Any] = []
        """Those of all its copies."""
        self._takes_segments = "token_type_ids" in inspect.signature(model.forward).parameters

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return self.canonical.device

    @property
    def precision(self) -> Precision:
        """What the model computes in."""
        return self.canonical.precision

    @property
    def rows(self) -> int:
        """Rows that went through the model so far."""
        return self.canonical.rows

    @property
    def rows_everywhere(self) -> int:
        """Rows that went through the model so far, in other processes too."""
        return self.rows + sum(int(tally.value) for tally in self.tallies)

    def __call__(self, texts: Sequence[Text]) -> Tensor:
        """Return logits on the CPU in float32, one row a text, in the order of the texts.

        :raises ValueError: the model has another number of outputs than there are label names.
        """
        if not texts:
            return torch.empty(0, len(self.label_names))
        return torch.stack(self.canonical(self.encode(texts)))

    def encode(self, texts: Sequence[Text]) -> list[dict[str, list[int]]]:
        """Return the model's inputs for each text, truncated and not padded."""
        pairs = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
        rows = list(tokenization.rows(self.tokenizer, pairs, self.max_length))
        if not rows:
            return []
        names = [name for name in rows[0] if name != "token_type_ids" or self._takes_segments]
        return [{name: row[name] for name in names} if row["input_ids"] else self._nothing(names) for row in rows]

    def _nothing(self, names: Sequence[str]) -> dict[str, list[int]]:
        """Return the model's inputs for a text without any token, where the tokenizer puts no special ones around it."""
        return {name: [int(name == "attention_mask")] for name in names} | {"input_ids": [filler(self.tokenizer)]}

    def _logits(self, batch: Mapping[str, Tensor], rows: Sequence[Row]) -> Sequence[Tensor]:
        if self.tally is not None:
            self.tally.value += len(rows)
        logits: Tensor = self.model(**batch).logits.float().cpu()
        if logits.shape[-1] != len(self.label_names):
            raise ValueError(f"the model has {logits.shape[-1]} outputs for {len(self.label_names)} label names")
        return logits.unbind()

    def truncates(self, text: Text) -> bool:
        """Say whether the model sees only the beginning of ``text``."""
        columns = [text] if isinstance(text, str) else list(text)
        with quiet(self.tokenizer):
            return len(self.tokenizer(*columns, truncation=False)["input_ids"]) > self.max_length

    def seen(self, text: Text) -> list[tuple[int, int]] | None:
        """Return from which to which character the model sees each of the texts; None where the tokenizer does not say (no fast one)."""
        if not getattr(self.tokenizer, "is_fast", False):
            return None
        columns = [text] if isinstance(text, str) else list(text)
        encoded = self.tokenizer(*columns, truncation=True, max_length=self.max_length, return_offsets_mapping=True)
        tokens = list(zip(encoded.sequence_ids(0), encoded["offset_mapping"], strict=True))
        spans = [[span for place, span in tokens if place == number] for number in range(len(columns))]
        return [(min(first for first, _ in column), max(last for _, last in column)) if column else (0, 0) for column in spans]

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[Victim]:
        """Keep the model in evaluation mode during the block; every submodule gets its own mode back."""
        modes = [(module, module.training) for module in self.model.modules()]
        self.model.eval()
        try:
            yield self
        finally:
            for module, training in modes:
                module.training = training


@contextlib.contextmanager
def quiet(tokenizer: Any) -> Iterator[None]:
    """Keep a tokenizer from warning about a text that is longer than its model takes."""
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
    """Return how many tokens the model and its tokenizer take."""
    most = most_tokens(model)
    return int(tokenizer.model_max_length) if most is None else min(int(tokenizer.model_max_length), most)
