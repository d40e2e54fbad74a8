"""Packing: rows of different lengths are concatenated into one long row, and attention is computed within each of them.

All layers but attention work token by token. Models of transformers compute attention by ``scaled_dot_product_attention``, which is
replaced here by one call per row. Whether a model supports this is tested once: it must give the same bits as for each row alone.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from ticketlab.backbone.input_limits import position_offset
from ticketlab.backbone.last_layer import LastLayer, after_attention
from ticketlab.core import debugging
from ticketlab.core.errors import UsageError
from ticketlab.inference.linear import STEP

Row = Mapping[str, Any]
"""The model's inputs for one text, unpadded: lists of ints of equal length. Names that start with ``_`` are for ``forward`` only."""
_POSITIONS = "position_ids"
_SEGMENTS = "token_type_ids"
_KNOWN = {"input_ids", "attention_mask", _SEGMENTS}
_WINDOWS = ("sliding_window", "local_attention", "attention_window")
"""Entries of the config of a model whose tokens attend only to near ones, as in ModernBERT."""
_TESTED = (3, 11, 11, 2, 18)
"""The lengths of the rows with which a model is tested."""


class Packing:
    """Runs ``model`` on packed rows.

    ``first_only``: only the first token's last hidden state is used of each row. The model then returns one row of logits per packed row,
    and the last layer skips the other tokens after attention.
    """

    def __init__(self, model: nn.Module, *, first_only: bool = False) -> None:
        self.model: Any = model
        self.first_only = first_only
        self._parameters = set(inspect.signature(model.forward).parameters)

    def works(self, row: Row) -> bool:
        """Test whether rows like this one can be packed. Call it in the context in which the model will be called."""
        names = {name for name in row if not name.startswith("_")}
        config = getattr(self.model, "config", None)
        if any(getattr(config, name, None) for name in _WINDOWS):
            return False  # the test rows may fit into one window, and others do not
        return names <= _KNOWN and _POSITIONS in self._parameters and self._same_bits(names)

    def inputs(self, rows: Sequence[Row], device: torch.device) -> dict[str, Tensor]:
        """Return the model's inputs, each of shape (1, tokens): the rows, and a last one that fills up to a multiple of 16 tokens.

        Without it each linear layer would copy its input to pad it.
        """
        before = position_offset(self.model)
        columns: dict[str, list[int]] = {name: [] for name in rows[0] if not name.startswith("_")}
        columns[_POSITIONS] = []
        missing = _missing(len(row["input_ids"]) for row in rows)
        last = {name: (rows[-1][name] * missing)[:missing] for name in columns if name != _POSITIONS}
        for row in [*rows, last]:
            for name, column in columns.items():
                column += positions(row["input_ids"], before) if name == _POSITIONS else row[name]
        if _SEGMENTS in self._parameters and _SEGMENTS not in columns:
            columns[_SEGMENTS] = [0] * len(columns[_POSITIONS])
        return {name: torch.tensor([column], dtype=torch.long, device=device) for name, column in columns.items()}

    @contextlib.contextmanager
    def separated(self, lengths: Sequence[int]) -> Iterator[None]:
        """Compute attention separately for packed rows of these lengths during the block, in which the model is run on them."""
        if missing := _missing(lengths):
            lengths = [*lengths, missing]
        with _Attention(lengths), self._first_tokens(lengths) if self.first_only else contextlib.nullcontext():
            yield

    @functools.cached_property
    def _last_layer(self) -> LastLayer:
        return LastLayer(self.model, after_attention(self.model))

    @contextlib.contextmanager
    def _first_tokens(self, lengths: Sequence[int]) -> Iterator[None]:
        """Make the last layer return each packed row's first token as a row."""
        first = torch.tensor([0, *itertools.accumulate(lengths[:-1])], device=next(self.model.parameters()).device)
        with self._last_layer.only(lambda hidden: hidden[:, first].transpose(0, 1)):
            yield

    def _same_bits(self, names: set[str]) -> bool:
        generator = torch.Generator().manual_seed(0)
        vocabulary = int(self.model.get_input_embeddings().num_embeddings)
        rows: list[Row] = []
        for length in _TESTED:
            ids = torch.randint(vocabulary, (length,), generator=generator).tolist()
            rows.append({"input_ids": ids} | {name: [int(name == "attention_mask")] * length for name in names - {"input_ids"}})
        device = next(self.model.parameters()).device
        try:
            with self.separated(_TESTED):
                output = self.model(**self.inputs(rows, device))[0]
            together = output[: len(rows)] if self.first_only else output[:, : sum(_TESTED)]
            alone = [self.model(**{name: torch.tensor([row[name]], device=device) for name in row})[0] for row in rows]
        except Exception as problem:  # a model may fail on packed rows in any way
            debugging.print_traceback(problem)
            return False
        return torch.equal(together, torch.cat(alone, 0 if self.first_only else 1))


class _Attention(TorchFunctionMode):
    """Computes ``scaled_dot_product_attention`` within each packed row; adjacent rows of equal length are computed at once."""

    def __init__(self, lengths: Sequence[int]) -> None:
        super().__init__()
        self.runs = runs(lengths)

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is not scaled_dot_product_attention:
            return function(*args, **kwargs)
        return self._by_row(*args, **kwargs)

    def _by_row(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **more: Any,
    ) -> Tensor:
        if attn_mask is not None or is_causal or dropout_p:
            raise UsageError("attention with a mask cannot be computed on packed rows")
        by_token = [states.transpose(1, 2)[0] for states in (query, key, value)]  # (tokens, heads, width)
        outputs, start = [], 0
        for length, rows in self.runs:
            end = start + length * rows
            parts = [states[start:end].view(rows, length, *states.shape[1:]).transpose(1, 2) for states in by_token]
            outputs.append(scaled_dot_product_attention(parts[0], parts[1], parts[2], **more).transpose(1, 2).flatten(0, 1))
            start = end
        return torch.cat(outputs)[None].transpose(1, 2)


def _missing(lengths: Iterable[int]) -> int:
    return -sum(lengths) % STEP


def runs(lengths: Iterable[int]) -> list[tuple[int, int]]:
    """Return the run-length encoding of ``lengths``: each length with the number of adjacent rows that have it."""
    return [(length, len(list(alike))) for length, alike in itertools.groupby(lengths)]


def positions(ids: Sequence[int], before: int) -> Sequence[int]:
    """Return each token's position. The first ``before`` positions are not used for text; padding gets the last of them, as in RoBERTa."""
    if not before:
        return range(len(ids))
    padding = before - 1
    counted = itertools.accumulate(token != padding for token in ids)
    return [padding if token == padding else padding + count for token, count in zip(ids, counted, strict=True)]
