"""The numbers of a picture: one entry per cell, task, measured model and metric, with the values of its seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from ticketlab.core.errors import UsageError
from ticketlab.lab.results import checkpoint_name
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.numbers import Number, numbers
from ticketlab.report.unknown_metric import metric_hint


@frozen(kw_only=True)
class Measured:
    """A metric of one model of a cell. ``values`` has one value for each distinct seed, ``keys`` the keys of the stages behind them.

    ``measurement`` names the model and the stage that measured it, to distinguish several of one cell.
    """

    cell: Cell
    task: str
    model: str
    scale: str
    measurement: str
    of: str
    checkpoint: str
    metric: str
    split: str
    attack: str
    step: int | None
    values: tuple[float, ...]
    seeds: tuple[int, ...]
    keys: tuple[str, ...]
    n: int | None

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return sum(self.values) / len(self.values)


@frozen
class _Identity:
    task: str
    measurement: str
    metric: str
    checkpoint: str
    step: int | None


def measured(
    comparison: Comparison, metrics: Iterable[str], *, argument: str, checkpoints: bool = False, repeats: bool = False
) -> list[Measured]:
    """Return the entries of these metrics, in the order of the cells. A measurement that several seeds share counts once.

    Models of checkpoints are left out unless ``checkpoints`` is set. Unless ``repeats`` is set, so are cells whose stages are those of an
    earlier cell because a factor has no effect on them.

    :raises UsageError: no cell is finished, or no cell has one of the metrics; ``argument`` is where it was named.
    """
    wanted = list(metrics)
    found: list[Measured] = []
    known: set[str] = set()
    for cell in comparison.cells:
        if not repeats and cell.same_as and cell.inapplicable:
            continue
        of_cell = list(numbers(cell))
        known |= {number.metric for number in of_cell}
        chosen = [number for number in of_cell if number.metric in wanted and (checkpoints or not number.checkpoint)]
        found += _entries(cell, chosen)
    check_finished(comparison)
    for metric in wanted:
        if not any(entry.metric == metric for entry in found):
            raise UsageError(f"{argument}: no finished cell has the number `{metric}`{metric_hint(metric, known - {metric})}")
    return found


def check_finished(comparison: Comparison) -> None:
    """Check that there is anything to draw.

    :raises UsageError: no cell is finished.
    """
    if not comparison.finished:
        error = next((f"; the first error: {cell.error}" for cell in comparison.cells if cell.error), "")
        raise UsageError(f"{comparison.title}: none of its {len(comparison.cells)} cells is finished, so there is nothing to draw{error}")


def _entries(cell: Cell, chosen: Sequence[Number]) -> list[Measured]:
    groups: dict[_Identity, list[Number]] = {}
    for number in chosen:
        model = checkpoint_name(number.of, number.checkpoint) or number.stage
        measurement = model if number.stage in (model, number.of) else f"{model}, {number.stage}"
        identity = _Identity(number.task, measurement, number.metric, number.checkpoint, number.step)
        groups.setdefault(identity, []).append(number)
    return [_entry(cell, identity, group) for identity, group in groups.items()]


def _entry(cell: Cell, identity: _Identity, group: Sequence[Number]) -> Measured:
    of_seed: dict[int, Number] = {}
    for number in group:
        of_seed.setdefault(number.seed, number)
    by_key: Mapping[str, Number] = {number.key or str(number.seed): number for number in reversed(of_seed.values())}
    distinct = sorted(by_key.values(), key=lambda number: number.seed)
    first = distinct[0]
    sizes = [number.n for number in distinct if number.n is not None]
    return Measured(
        cell=cell,
        task=identity.task,
        model=first.model,
        scale=first.scale,
        measurement=identity.measurement,
        of=first.of,
        checkpoint=identity.checkpoint,
        metric=identity.metric,
        split=first.split,
        attack=first.attack,
        step=identity.step,
        values=tuple(number.value for number in distinct),
        seeds=tuple(number.seed for number in distinct),
        keys=tuple(number.key for number in distinct),
        n=min(sizes) if sizes else None,
    )
