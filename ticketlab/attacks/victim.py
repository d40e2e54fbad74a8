"""The model under attack, as textattack calls it: texts in, logits out."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

Text = str | Sequence[str]
"""One input: a text, or the texts of a pair."""


class Victim:
    """A classifier of transformers with its tokenizer and the names of its labels, in the order of its logits.

    The model stays on its device. Texts are always truncated, to ``max_length`` tokens or to what the model can take, and padded to
    the longest of their batch. A result depends on the texts of the call alone.
    """

    def __init__(
        self, model: nn.Module, tokenizer: Any, label_names: Sequence[str], *, max_length: int = 128, batch_size: int = 32
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.label_names = tuple(label_names)
        self.max_length = min(max_length, longest_input(model, tokenizer))
        self.batch_size = batch_size
        self.rows = 0
        """Rows that went through the model so far."""
        self._takes_segments = "token_type_ids" in inspect.signature(model.forward).parameters

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def __call__(self, texts: Sequence[Text]) -> Tensor:
        """Return logits on the CPU in float32, one row a text, in the order of the texts."""
        if not texts:
            return torch.empty(0, len(self.label_names))
        encoded = self.encode(texts)
        order = sorted(range(len(texts)), key=lambda row: len(encoded[row]["input_ids"]))
        logits = torch.empty(len(texts), len(self.label_names))
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            logits[rows] = self.forward(self.pad([encoded[row] for row in rows]))
        return logits

    def encode(self, texts: Sequence[Text]) -> list[dict[str, list[int]]]:
        """Return the model's inputs for each text, truncated and not padded."""
        pairs = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
        columns = [list(column) for column in zip(*pairs, strict=True)]
        encoded = self.tokenizer(*columns, truncation=True, max_length=self.max_length)
        names = [name for name in encoded if name != "token_type_ids" or self._takes_segments]
        return [{name: encoded[name][row] for name in names} for row in range(len(pairs))]

    def pad(self, rows: Sequence[dict[str, list[int]]], length: int | None = None) -> dict[str, Tensor]:
        """Stack encoded texts into a batch, padded to the longest of them or to ``length``."""
        length = length or max(len(row["input_ids"]) for row in rows)
        filler = {"input_ids": self.tokenizer.pad_token_id or 0, "token_type_ids": self.tokenizer.pad_token_type_id}
        left = self.tokenizer.padding_side == "left"
        batch = {}
        for name in rows[0]:
            fill = [[filler.get(name, 0)] * (length - len(row[name])) for row in rows]
            padded = [extra + row[name] if left else row[name] + extra for row, extra in zip(rows, fill, strict=True)]
            batch[name] = torch.tensor(padded, dtype=torch.long, device="cpu")
        return batch

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Run one padded batch; return its logits on the CPU in float32."""
        self.rows += len(batch["input_ids"])
        with torch.inference_mode():
            logits: Tensor = self.model(**{name: tensor.to(self.device) for name, tensor in batch.items()}).logits.float().cpu()
        if logits.shape[-1] != len(self.label_names):
            raise ValueError(f"the model has {logits.shape[-1]} outputs for {len(self.label_names)} label names")
        return logits.clone()  # an inference tensor cannot be used everywhere

    def truncates(self, text: Text) -> bool:
        """Say whether the model sees only the beginning of ``text``."""
        columns = [text] if isinstance(text, str) else list(text)
        with quiet(self.tokenizer):
            return len(self.tokenizer(*columns, truncation=False)["input_ids"]) > self.max_length

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
    lengths = [int(tokenizer.model_max_length)]
    positions = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    if positions and positions > 0:
        lengths.append(positions - _positions_before_the_first(model))
    return min(lengths)


def _positions_before_the_first(model: nn.Module) -> int:
    """RoBERTa and its kin count positions from the padding index plus one."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding) and module.padding_idx is not None:
            return module.padding_idx + 1
    return 0
