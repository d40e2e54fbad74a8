"""Batch-invariant inference: runs a model on many rows of tokens at once, and a row's result depends on that row alone, bit for bit.

A matrix product rounds differently for different numbers of rows, so a text's logits normally depend on the batch that they are computed
in. Here rows are never padded. Rows of any length are packed into one where attention can be computed row by row
(:mod:`ticketlab.inference.packing`); otherwise a batch holds rows of one length. Linear layers compute in chunks whose size does not
affect the result (:mod:`ticketlab.inference.linear`).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from ticketlab.backbone.input_limits import pooled_eos_token
from ticketlab.core import debugging
from ticketlab.core.component import Precision
from ticketlab.inference.linear import BatchInvariantLinears
from ticketlab.inference.packing import Packing, Row

Submit = Callable[["BatchInvariantModel", Sequence[Row]], list[Any]]

submit_request: ContextVar[Submit | None] = ContextVar("submit_request", default=None)
"""The scheduler's function that merges a request with those of other examples; None: each request is computed immediately."""

_MAX_TOKENS = {"cpu": 768}  # fewer make products slower; with more, a layer's activations no longer fit a core's cache
_MAX_TOKENS_ELSEWHERE = 32768
_FIXED_ROWS = 8


class BatchInvariantModel:
    """A model whose result for a row does not depend on the rest of the batch.

    ``forward(batch, rows)`` returns one result per row, on the CPU; surplus results are ignored. It gets tensors on the model's device,
    either of shape (rows, length) or, where ``packing`` supports such rows, of shape (1, tokens): the concatenated rows and their filling.
    It runs in inference mode. A model with layers that are not known to be batch-invariant always gets the same number of rows. Each row
    length is tested once: if the other rows of a batch, or the row's position among them, change a single bit, rows are run one by one.
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
        self._can_pack: dict[frozenset[str], bool] = {}
        self._invariant: dict[Hashable, bool] = {}
        self._end = pooled_eos_token(model)
        self._linears = BatchInvariantLinears(model, torch.bfloat16 if precision == "bf16" else None)

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return next(self.model.parameters()).device

    def __call__(self, rows: Sequence[Row]) -> list[Any]:
        """Return the result of each row; equal rows are computed once."""
        submit = submit_request.get()
        return self.compute(rows) if submit is None else submit(self, rows)

    def compute(self, rows: Sequence[Row]) -> list[Any]:
        """Return the result of each row immediately, without merging them with the rows of other examples."""
        groups: dict[Hashable, dict[Any, Row]] = {}
        for row in rows:
            groups.setdefault(self.group(row), {})[key(row)] = row
        results: dict[Any, Any] = {}
        for group in groups.values():
            while group:
                batch = {key: group.pop(key) for key in list(group)[: self.batch_size(map(length, group.values()))]}
                results.update(zip(batch, self.run_batch(list(batch.values())), strict=True))
        return [results[key(row)] for row in rows]

    def group(self, row: Row) -> Hashable:
        """Return the key that rows of one batch share: None for rows that can be packed, otherwise their length.

        An encoder-decoder classifies at the end token of a text, and requires rows with the same number of end tokens.
        """
        names = frozenset(row)
        if names not in self._can_pack:
            with self._inference():
                self._can_pack[names] = self._linears.complete and self.packing is not None and self.packing.works(row)
        if self._can_pack[names] and length(row):  # an empty row has no first token
            return None
        return length(row) if self._end is None else (length(row), row["input_ids"].count(self._end))

    def batch_size(self, lengths: Iterable[int]) -> int:
        """Return how many of the first rows of a group, given their lengths, form one batch; at least one."""
        if not self._linears.complete:
            return _FIXED_ROWS
        limit = _MAX_TOKENS.get(self.device.type, _MAX_TOKENS_ELSEWHERE)
        sums = itertools.accumulate(lengths)
        return max(1, sum(1 for _ in itertools.takewhile(lambda tokens: tokens <= limit, sums)))

    def run_batch(self, rows: Sequence[Row]) -> Sequence[Any]:
        """Run rows of one group through the model, at most :meth:`batch_size` of them."""
        self.rows += len(rows)
        packed = self.group(rows[0]) is None
        with self._inference():
            return self._run_packed(rows) if packed else self._run_stacked(rows)

    def _run_packed(self, rows: Sequence[Row]) -> Sequence[Any]:
        assert self.packing is not None
        order = sorted(
            range(len(rows)), key=lambda index: length(rows[index])
        )  # attention is computed for all adjacent rows of one length at once
        arranged = [rows[index] for index in order]
        with self.packing.separated([length(row) for row in arranged]):
            outputs = self.forward(self.packing.inputs(arranged, self.device), arranged)[: len(rows)]
            results = dict(zip(order, outputs, strict=True))
        return [results[index] for index in range(len(rows))]

    def _run_stacked(self, rows: Sequence[Row]) -> Sequence[Any]:
        group = self.group(rows[0])
        if group not in self._invariant:
            self._invariant[group] = self._is_batch_invariant(rows[0])
        if not self._invariant[group]:
            return [self._stack_and_run([row])[0] for row in rows]
        missing = 0 if self._linears.complete else _FIXED_ROWS - len(rows)
        return self._stack_and_run([*rows, *[rows[-1]] * missing])[: len(rows)]

    def _stack_and_run(self, rows: Sequence[Row]) -> Sequence[Any]:
        inputs = {name: [row[name] for row in rows] for name in rows[0] if not name.startswith("_")}
        return self.forward(self._tensors(inputs), rows)[: len(rows)]

    def _is_batch_invariant(self, row: Row) -> bool:
        """Test whether random rows like this one give the same bits alone as in a batch or, if the batch size is fixed, at any position.

        Attention has matrix products of its own: libraries choose kernels by the batch size, and block boundaries shift between rows.
        """
        generator = torch.Generator().manual_seed(0)
        try:
            vocabulary = int(self.model.get_input_embeddings().num_embeddings)  # type: ignore[operator]
            ids = torch.randint(vocabulary, (_FIXED_ROWS, length(row)), generator=generator)
            if self._end is not None:  # end tokens exactly where the row has them
                others = ids.where(ids != self._end, (self._end + 1) % vocabulary)
                ids = others.where(torch.tensor(row["input_ids"]) != self._end, self._end)
            inputs = {name: row[name] for name in row if not name.startswith("_")}
            together = self._outputs(inputs, ids)
            if self._linears.complete:
                return torch.equal(together, torch.cat([self._outputs(inputs, single[None]) for single in ids]))
            return torch.equal(together, self._outputs(inputs, ids.roll(1, 0)).roll(-1, 0))
        except Exception as problem:  # a model may fail on random rows in any way
            debugging.print_traceback(problem)
            return False

    def _outputs(self, row: Row, ids: Tensor) -> Tensor:
        inputs = {name: [values] * len(ids) for name, values in row.items()} | {"input_ids": ids.tolist()}
        output = self.model(**self._tensors(inputs))
        return output if isinstance(output, Tensor) else output[0]

    def _tensors(self, inputs: Mapping[str, Any]) -> dict[str, Tensor]:
        return {name: torch.tensor(values, dtype=torch.long, device=self.device) for name, values in inputs.items()}

    @contextlib.contextmanager
    def _inference(self) -> Iterator[None]:
        """Disable gradients, set the precision, and make the linear layers batch-invariant."""
        autocast = torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16")
        with torch.inference_mode(), autocast, self._linears.enabled():
            yield


def length(row: Row) -> int:
    """Return the number of tokens of a row."""
    return len(row["input_ids"])


def key(row: Row) -> tuple[Any, ...]:
    """Return a hashable key; rows with equal keys are equal."""
    return tuple(tuple(values) if isinstance(values, list) else values for values in row.values())
