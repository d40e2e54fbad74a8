"""A masked language model of transformers: the likeliest pieces of words at some places of a text."""

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
from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.inference.batch_invariant import BatchInvariantModel, Precision, length
from ticketlab.inference.packing import Packing, Row
from ticketlab.inference.victim import longest_input
from ticketlab.resources.word_pieces import Piece, Pieces
from ticketlab.training.masked_lm import head_of, only

Among = Callable[[Piece], bool]
"""Says of an entry of the vocabulary whether it is wanted."""
_TIE = 1e-12


@frozen
class Tokens:
    """A text as the model sees it: its inputs, and from which to which character each token goes (special ones: nowhere)."""

    text: str
    inputs: Mapping[str, list[int]]
    spans: Sequence[tuple[int, int]]

    def at(self, start: int, end: int) -> list[int]:
        """Return the positions of the tokens of these characters; none where the text was cut before, or a token is of others too."""
        found = [position for position, (first, last) in enumerate(self.spans) if first < end and start < last]
        others = "".join(self.text[self.spans[position][0] : start] + self.text[end : self.spans[position][1]] for position in found)
        return [] if others.strip() else found


@frozen
class Guesses:
    """What the model expects at one position: ids, the likeliest first, and the logarithms of their probabilities."""

    ids: Sequence[int]
    log_probs: Sequence[float]


class MaskedLanguageModel:
    """A masked language model with its tokenizer.

    A text longer than the model takes is cut; none is padded. The head, whose output is as wide as the vocabulary, sees the positions
    asked for alone. What comes back depends on text, position, ``most`` and ``among`` alone.
    """

    def __init__(self, model: nn.Module, tokenizer: Any, *, precision: Precision = "fp32") -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.max_length = longest_input(model, tokenizer)
        self.pieces = Pieces(tokenizer, int(model.get_input_embeddings().num_embeddings))  # type: ignore[operator]
        self._inputs = set(inspect.signature(model.forward).parameters)
        self._head = _head(model)
        self._canonical = BatchInvariantModel(model, self._forward, precision=precision, packing=Packing(model))
        self._wanted = functools.cache(self._mask_of)

    @classmethod
    def load(cls, name: str, device: str = "cpu", precision: Precision = "fp32") -> MaskedLanguageModel:
        """Read a model from a folder, its head included.

        :raises ResourceError: it does not load, has no head of masked language modelling, or its tokenizer has no mask token or cannot say
            where its tokens are.
        """
        try:
            warn = functools.partial(_warn_of, name)
            model, tokenizer, found = loading.load_mlm(name, seed=0, warn=warn)
        except UsageError as problem:
            raise ResourceError(f"masked language model {problem}") from problem
        if not found:
            raise ResourceError(
                f"masked language model {name}: it has no head of masked language modelling, and a new one would guess at random; "
                "train one (`ticketlab show objective mlm`) and give the folder of the run"
            )
        if not tokenizer.is_fast:
            raise ResourceError(f"masked language model {name}: its tokenizer does not say where in a text its tokens are (no fast one)")
        return cls(model.to(device), tokenizer, precision=precision)

    def tokens(self, text: str) -> Tokens:
        """Return a text as the model sees it."""
        encoded = self.tokenizer(text, truncation=True, max_length=self.max_length, return_offsets_mapping=True)
        return Tokens(text, {name: encoded[name] for name in encoded if name in self._inputs}, encoded["offset_mapping"])

    def top(self, asked: Sequence[tuple[Tokens, Sequence[int]]], most: int, among: Among | None = None) -> list[dict[int, Guesses]]:
        """Return the likeliest ``most`` entries of the vocabulary at the positions asked for, by position, for each text.

        ``among`` leaves some entries out, and those that are special; without it all are there. Equal ones come in the order of their ids.
        """
        wanted = [sorted(set(positions)) for _, positions in asked]
        rows: list[Row] = [
            {**tokens.inputs, "_positions": positions, "_most": most, "_among": among}
            for (tokens, _), positions in zip(asked, wanted, strict=True)
            if positions
        ]
        answers = iter(self._canonical(rows))
        return [dict(zip(positions, next(answers), strict=True)) if positions else {} for positions in wanted]

    def _forward(self, batch: Mapping[str, Tensor], rows: Sequence[Row]) -> list[list[Guesses]]:
        starts = itertools.accumulate((length(row) for row in rows), initial=0)
        places = [start + position for start, row in zip(starts, rows, strict=False) for position in row["_positions"]]
        chosen = torch.zeros(batch["input_ids"].numel(), dtype=torch.bool)
        chosen[places] = True
        chosen = chosen.view(batch["input_ids"].shape).to(batch["input_ids"].device)
        if self._head is None:
            logits = self.model(**batch).logits[chosen]
        else:
            with only(self._head, chosen):
                logits = self.model(**batch).logits
        by_row = logits.float().split([len(row["_positions"]) for row in rows])
        results: list[list[Guesses]] = [[]] * len(rows)
        wishes: dict[Any, list[int]] = {}
        for index, row in enumerate(rows):
            wishes.setdefault((row["_most"], row["_among"]), []).append(index)
        for (most, among), indices in wishes.items():
            guesses = iter(self._best(torch.cat([by_row[index] for index in indices]), most, among))
            for index in indices:
                results[index] = [next(guesses) for _ in rows[index]["_positions"]]
        return results

    def _best(self, logits: Tensor, most: int, among: Among | None) -> list[Guesses]:
        log_probs = logits.log_softmax(dim=-1)
        width = logits.shape[-1]
        ranked = logits.double() - torch.arange(width, dtype=torch.double, device=logits.device) * _TIE
        count = width
        if among is not None:
            wanted = self._wanted(among).to(logits.device)
            ranked = ranked.masked_fill(~wanted, -torch.inf)
            count = int(wanted.sum())
        ids = ranked.topk(min(most, count)).indices
        found = log_probs.gather(-1, ids)
        return [Guesses(*guesses) for guesses in zip(ids.tolist(), found.tolist(), strict=True)]

    def _mask_of(self, among: Among) -> Tensor:
        return torch.tensor([not piece.special and among(piece) for piece in self.pieces])


def _warn_of(name: str, message: str) -> None:
    loading.python_warning(f"masked language model {name}: {message}")


def _head(model: nn.Module) -> nn.Module | None:
    """Return where the head begins; None for a family whose adapter does not say."""
    try:
        return head_of(model)
    except UsageError:
        return None
