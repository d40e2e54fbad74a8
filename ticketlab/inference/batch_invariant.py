"""Runs a model over rows of tokens, many at once, so that what a row gives depends on that row alone, bit for bit.

A matrix product rounds differently when it has other numbers of rows, so a text's logits would depend on what they were computed with.
Here no row is padded: rows of any length go together where attention can be kept apart (:mod:`ticketlab.inference.packing`), elsewhere
those of one length. Each linear layer sees its tokens in portions whose size changes nothing: see :mod:`ticketlab.inference.linear`.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ticketlab.backbone.positions import text_end
from ticketlab.inference.linear import Linears
from ticketlab.inference.packing import Packing, Row

Precision = Literal["fp32", "bf16"]
Ask = Callable[["BatchInvariantModel", Sequence[Row]], list[Any]]

merging: ContextVar[Ask | None] = ContextVar("merging", default=None)
"""Who merges queries with those of other examples; None computes them at once."""

_TOKENS = {"cpu": 768}  # fewer, and products are slower; more, and what a layer makes of them no longer fits the cache of a core
_TOKENS_ELSEWHERE = 32768
_FIXED_ROWS = 8


class BatchInvariantModel:
    """A model that answers for rows.

    ``forward(batch, rows)`` returns one result a row, on the CPU; more are ignored. It gets tensors on the model's device, either of shape
    (rows, length) or, where ``packing`` takes such rows, of shape (1, tokens): the rows one after the other, and what fills them up. It
    runs under inference mode. A model with layers other than those known to treat each row alike always gets the same number of rows. Rows
    that go together are tried for each length: where others beside a row, or its place among them, change a bit, rows go alone.
    """

    def __init__(
        self,
        model: nn.Module,
        forward: Callable[[Mapping[str, Tensor], Sequence[Row]], Sequence[Any]],
        *,
        precision: Precision = "fp32",
        packing: Packing | None = None,
    ) -> None:
        self.model = model
        self.forward = forward
        self.precision = precision
        self.packing = packing
        self.rows = 0
        """Rows computed so far."""
        self._packs: dict[frozenset[str], bool] = {}
        self._steady: dict[Hashable, bool] = {}
        self._end = text_end(model)
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
        groups: dict[Hashable, dict[Any, Row]] = {}
        for row in rows:
            groups.setdefault(self.group(row), {})[key(row)] = row
        results: dict[Any, Any] = {}
        for alike in groups.values():
            while alike:
                batch = {key: alike.pop(key) for key in list(alike)[: self.fit(map(length, alike.values()))]}
                results.update(zip(batch, self.batch(list(batch.values())), strict=True))
        return [results[key(row)] for row in rows]

    def group(self, row: Row) -> Hashable:
        """Return what rows that go through the model together have in common: their length, or nothing (None).

        An encoder with a decoder reads a text at its end, and wants rows with equally many ends.
        """
        names = frozenset(row)
        if names not in self._packs:
            with self._computing():
                self._packs[names] = self._linears.complete and self.packing is not None and self.packing.works(row)
        if self._packs[names] and length(row):  # a row of nothing has no first token
            return None
        return length(row) if self._end is None else (length(row), row["input_ids"].count(self._end))

    def fit(self, lengths: Iterable[int]) -> int:
        """Return how many of the first rows of one group go through the model together, one or more."""
        if not self._linears.complete:
            return _FIXED_ROWS
        most = _TOKENS.get(self.device.type, _TOKENS_ELSEWHERE)
        sums = itertools.accumulate(lengths)
        return max(1, sum(1 for _ in itertools.takewhile(lambda tokens: tokens <= most, sums)))

    def batch(self, rows: Sequence[Row]) -> Sequence[Any]:
        """Run rows of one group, no more than :meth:`fit` says, through the model."""
        self.rows += len(rows)
        packed = self.group(rows[0]) is None
        with self._computing():
            return self._packed(rows) if packed else self._stacked(rows)

    def _packed(self, rows: Sequence[Row]) -> Sequence[Any]:
        assert self.packing is not None
        order = sorted(range(len(rows)), key=lambda index: length(rows[index]))  # attention is computed at once for one length
        arranged = [rows[index] for index in order]
        with self.packing.apart([length(row) for row in arranged]):
            found = self.forward(self.packing.inputs(arranged, self.device), arranged)[: len(rows)]
            results = dict(zip(order, found, strict=True))
        return [results[index] for index in range(len(rows))]

    def _stacked(self, rows: Sequence[Row]) -> Sequence[Any]:
        group = self.group(rows[0])
        if group not in self._steady:
            self._steady[group] = self._is_steady(rows[0])
        if not self._steady[group]:
            return [self._together([row])[0] for row in rows]
        missing = 0 if self._linears.complete else _FIXED_ROWS - len(rows)
        return self._together([*rows, *[rows[-1]] * missing])[: len(rows)]

    def _together(self, rows: Sequence[Row]) -> Sequence[Any]:
        inputs = {name: [row[name] for row in rows] for name in rows[0] if not name.startswith("_")}
        return self.forward(self._tensors(inputs), rows)[: len(rows)]

    def _is_steady(self, row: Row) -> bool:
        """Try whether rows like this one give the same bits alone as among others, or, of a fixed number, wherever they stand.

        Attention is products of its own: libraries pick kernels by how many there are, and kernels see a row at other boundaries.
        """
        generator = torch.Generator().manual_seed(0)
        try:
            vocabulary = int(self.model.get_input_embeddings().num_embeddings)  # type: ignore[operator]
            ids = torch.randint(vocabulary, (_FIXED_ROWS, length(row)), generator=generator)
            if self._end is not None:  # where the row has it, and nowhere else
                others = ids.where(ids != self._end, (self._end + 1) % vocabulary)
                ids = others.where(torch.tensor(row["input_ids"]) != self._end, self._end)
            same = {name: row[name] for name in row if not name.startswith("_")}
            together = self._answers(same, ids)
            if self._linears.complete:
                return torch.equal(together, torch.cat([self._answers(same, some[None]) for some in ids]))
            return torch.equal(together, self._answers(same, ids.roll(1, 0)).roll(-1, 0))
        except Exception:  # whatever the model has against it
            return False

    def _answers(self, row: Row, ids: Tensor) -> Tensor:
        inputs = {name: [values] * len(ids) for name, values in row.items()} | {"input_ids": ids.tolist()}
        found = self.model(**self._tensors(inputs))
        return found if isinstance(found, Tensor) else found[0]

    def _tensors(self, inputs: Mapping[str, Any]) -> dict[str, Tensor]:
        return {name: torch.tensor(values, dtype=torch.long, device=self.device) for name, values in inputs.items()}

    @contextlib.contextmanager
    def _computing(self) -> Iterator[None]:
        """Compute as always: without gradients, in the wanted precision, in portions."""
        autocast = torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16")
        with torch.inference_mode(), autocast, self._linears.in_portions():
            yield


def length(row: Row) -> int:
    """Return how many tokens a row has."""
    return len(row["input_ids"])


def key(row: Row) -> tuple[Any, ...]:
    """Return what tells a row from others."""
    return tuple(tuple(values) if isinstance(values, list) else values for values in row.values())
