"""Runs a model over rows of tokens, many at once, so that what a row gives depends on that row alone, bit for bit.

A matrix product rounds differently when it has other numbers of rows, so a text's logits would depend on what they were computed with.
Here rows of one length go together, so that none is padded, and each linear layer sees its tokens in portions whose size changes
nothing: see :mod:`ticketlab.attacks.portions`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ticketlab.attacks.portions import Linears

Row = Mapping[str, Any]
"""The model's inputs of one text, unpadded: lists of ints of one length. What begins with ``_`` is for ``forward`` alone."""
Precision = Literal["fp32", "bf16"]
Ask = Callable[["Canonical", Sequence[Row]], list[Any]]

merging: ContextVar[Ask | None] = ContextVar("merging", default=None)
"""Who merges queries with those of other examples; None computes them at once."""

_TOKENS = {"cpu": 512}  # what a layer makes of more no longer fits the cache of a core
_TOKENS_ELSEWHERE = 32768
_FIXED_ROWS = 8


class Canonical:
    """A model that answers for rows.

    ``forward(batch, rows)`` gets tensors of shape (rows, length) on the model's device and returns one result a row, on the CPU. It runs
    under inference mode. A model with layers other than those known to treat each row alike always gets the same number of rows.
    """

    def __init__(
        self, model: nn.Module, forward: Callable[[Mapping[str, Tensor], Sequence[Row]], Sequence[Any]], *, precision: Precision = "fp32"
    ) -> None:
        self.model = model
        self.forward = forward
        self.precision = precision
        self.rows = 0
        """Rows computed so far."""
        self._linears = Linears(model, torch.bfloat16 if precision == "bf16" else None)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def __call__(self, rows: Sequence[Row]) -> list[Any]:
        """Return the result of each row; equal rows are computed once."""
        ask = merging.get()
        return self.compute(rows) if ask is None else ask(self, rows)

    def compute(self, rows: Sequence[Row]) -> list[Any]:
        """Return the result of each row, without waiting for others' rows."""
        unique = {key(row): row for row in rows}
        by_length: dict[int, list[Row]] = {}
        for row in unique.values():
            by_length.setdefault(length(row), []).append(row)
        results: dict[Any, Any] = {}
        for count, alike in by_length.items():
            most = self.most_rows(count)
            for start in range(0, len(alike), most):
                batch = alike[start : start + most]
                results.update(zip(map(key, batch), self.batch(batch), strict=True))
        return [results[key(row)] for row in rows]

    def most_rows(self, tokens: int) -> int:
        """Return how many rows of so many tokens go through the model together."""
        if not self._linears.complete:
            return _FIXED_ROWS
        return max(1, _TOKENS.get(self.device.type, _TOKENS_ELSEWHERE) // tokens)

    def batch(self, rows: Sequence[Row]) -> Sequence[Any]:
        """Run rows of one length, no more than :meth:`most_rows`, through the model."""
        missing = 0 if self._linears.complete else _FIXED_ROWS - len(rows)
        filled = [*rows, *[rows[-1]] * missing]
        device = self.device
        inputs = {
            name: torch.tensor([row[name] for row in filled], dtype=torch.long, device=device)
            for name in filled[0]
            if not name.startswith("_")
        }
        self.rows += len(rows)
        with torch.inference_mode(), self._autocast(device), self._linears.in_portions():
            return self.forward(inputs, filled)[: len(rows)]

    @contextlib.contextmanager
    def _autocast(self, device: torch.device) -> Iterator[None]:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16"):
            yield


def length(row: Row) -> int:
    """Return how many tokens a row has."""
    return len(row["input_ids"])


def key(row: Row) -> tuple[Any, ...]:
    """Return what tells a row from others."""
    return tuple(tuple(values) if isinstance(values, list) else values for values in row.values())
