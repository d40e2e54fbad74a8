"""A masked language model of transformers: predicts the likeliest word pieces at given positions of a text."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.backbone import loading
from ticketlab.backbone.device import where_float64_works
from ticketlab.backbone.mlm_head import head_of, restricted
from ticketlab.core.component import Precision
from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.inference.batch_invariant import BatchInvariantModel, length
from ticketlab.inference.packing import Packing, Row
from ticketlab.inference.victim import longest_input
from ticketlab.resources.word_pieces import WordPiece, WordPieces

PieceFilter = Callable[[WordPiece], bool]
"""Returns whether an entry of the vocabulary is a valid prediction."""
_TIE_BREAK = 1e-12


@frozen
class EncodedText:
    """A tokenized text."""

    text: str
    """The text."""
    inputs: Mapping[str, list[int]]
    """The inputs of the model by name, without padding."""
    spans: Sequence[tuple[int, int]]
    """The span of characters of each token, empty for special tokens."""

    def at(self, start: int, end: int) -> list[int]:
        """Return the positions of the tokens of these characters; none if they are truncated, or a token has other characters too."""
        positions = [position for position, (first, last) in enumerate(self.spans) if first < end and start < last]
        others = "".join(self.text[self.spans[position][0] : start] + self.text[end : self.spans[position][1]] for position in positions)
        return [] if others.strip() else positions


@frozen
class MaskPredictions:
    """The predictions at one position, the likeliest first."""

    ids: Sequence[int]
    """The token ids."""
    log_probs: Sequence[float]
    """The logarithms of their probabilities."""


class MaskedLanguageModel:
    """A masked language model with its tokenizer.

    Texts longer than the model's maximum are truncated; none is padded. The head, whose output has the size of the vocabulary, is applied
    only to the requested positions. Predictions depend only on text, position, ``count`` and ``among``.
    """

    def __init__(self, model: nn.Module, tokenizer: Any, *, precision: Precision = "fp32") -> None:
        self.model = model.eval()
        """The model, in evaluation mode."""
        self.tokenizer = tokenizer
        """Its tokenizer."""
        self.max_length = longest_input(model, tokenizer)
        """The maximum length of a text in tokens."""
        self.pieces = WordPieces(tokenizer, int(model.get_input_embeddings().num_embeddings))  # type: ignore[operator]
        """The vocabulary: the text of each token, and whether it continues a word."""
        self._inputs = set(inspect.signature(model.forward).parameters)
        self._head = _head(model)
        self._batch_invariant_model = BatchInvariantModel(model, self._forward, precision=precision, packing=Packing(model))
        self._allowed = functools.cache(self._mask_of)

    @classmethod
    def load(cls, name: str, device: str = "cpu", precision: Precision = "fp32") -> MaskedLanguageModel:
        """Load a model with its head from a folder.

        :raises ResourceError: it does not load, has no masked language modelling head, or its tokenizer has no mask token or reports no
            offsets.
        """
        try:
            warn = functools.partial(_warn_of, name)
            model, tokenizer, found = loading.load_mlm(name, seed=0, warn=warn)
        except UsageError as problem:
            raise ResourceError(f"masked language model {problem}") from problem
        if not found:
            raise ResourceError(
                f"masked language model {name}: it has no masked language modelling head, and a new one would predict at random; "
                "train one (`ticketlab show objective mlm`) and name the folder of the run"
            )
        if not tokenizer.is_fast:
            raise ResourceError(
                f"masked language model {name}: its tokenizer does not report the offsets of its tokens (it is not a fast one)"
            )
        return cls(model.to(device), tokenizer, precision=precision)

    def tokens(self, text: str) -> EncodedText:
        """Tokenize a text."""
        encoded = self.tokenizer(text, truncation=True, max_length=self.max_length, return_offsets_mapping=True)
        return EncodedText(text, {name: encoded[name] for name in encoded if name in self._inputs}, encoded["offset_mapping"])

    def top(
        self, queries: Sequence[tuple[EncodedText, Sequence[int]]], count: int, among: PieceFilter | None = None
    ) -> list[dict[int, MaskPredictions]]:
        """Return the ``count`` likeliest entries of the vocabulary at the given positions of each text, by position.

        ``among`` restricts the entries, and excludes special ones; None allows all. Equally likely entries are ordered by their ids.
        """
        wanted = [sorted(set(positions)) for _, positions in queries]
        rows: list[Row] = [
            {**tokens.inputs, "_positions": positions, "_count": count, "_among": among}
            for (tokens, _), positions in zip(queries, wanted, strict=True)
            if positions
        ]
        answers = iter(self._batch_invariant_model(rows))
        return [dict(zip(positions, next(answers), strict=True)) if positions else {} for positions in wanted]

    def _forward(self, batch: Mapping[str, Tensor], rows: Sequence[Row]) -> list[list[MaskPredictions]]:
        starts = itertools.accumulate((length(row) for row in rows), initial=0)
        positions = [start + position for start, row in zip(starts, rows, strict=False) for position in row["_positions"]]
        chosen = torch.zeros(batch["input_ids"].numel(), dtype=torch.bool)
        chosen[positions] = True
        chosen = chosen.view(batch["input_ids"].shape).to(batch["input_ids"].device)
        if self._head is None:
            logits = self.model(**batch).logits[chosen]
        else:
            with restricted(self._head, chosen):
                logits = self.model(**batch).logits
        by_row = logits.float().split([len(row["_positions"]) for row in rows])
        results: list[list[MaskPredictions]] = [[]] * len(rows)
        queries: dict[Any, list[int]] = {}
        for index, row in enumerate(rows):
            queries.setdefault((row["_count"], row["_among"]), []).append(index)
        for (count, among), indices in queries.items():
            predictions = iter(self._best(torch.cat([by_row[index] for index in indices]), count, among))
            for index in indices:
                results[index] = [next(predictions) for _ in rows[index]["_positions"]]
        return results

    def _best(self, logits: Tensor, count: int, among: PieceFilter | None) -> list[MaskPredictions]:
        log_probs = logits.log_softmax(dim=-1)
        width = logits.shape[-1]
        exact = where_float64_works(logits).double()
        ranked = exact - torch.arange(width, dtype=torch.double, device=exact.device) * _TIE_BREAK
        available = width
        if among is not None:
            allowed = self._allowed(among).to(ranked.device)
            ranked = ranked.masked_fill(~allowed, -torch.inf)
            available = int(allowed.sum())
        ids = ranked.topk(min(count, available)).indices
        return [MaskPredictions(*pair) for pair in zip(ids.tolist(), log_probs.gather(-1, ids.to(log_probs.device)).tolist(), strict=True)]

    def _mask_of(self, among: PieceFilter) -> Tensor:
        return torch.tensor([not piece.special and among(piece) for piece in self.pieces])


def _warn_of(name: str, message: str) -> None:
    loading.python_warning(f"masked language model {name}: {message}")


def _head(model: nn.Module) -> nn.Module | None:
    """Return the first module of the head; None for a family whose adapter does not name it."""
    try:
        return head_of(model)
    except UsageError:
        return None
