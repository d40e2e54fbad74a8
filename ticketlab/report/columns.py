"""The columns of the main table, in blocks that stay together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from ticketlab.report.cells import count, number, percent, share, shares
from ticketlab.report.challenges import ChallengeCells
from ticketlab.report.layout import EMPTY
from ticketlab.report.rows import AttackCells, Row
from ticketlab.report.statistics import Measure

MAJORITY = "majority class"
WHAT_COSTS = "seconds of optimizer steps, parameters that the last training can change"
WHAT_MAJORITY = f"F1 weights each label by its examples; {MAJORITY}: always saying the commonest label of the set"
Of = Callable[[Row], ChallengeCells | None]


@frozen
class Column:
    """What a column says of a row, and of the majority baseline of a task with these rows."""

    head: str
    cell: Callable[[Row], str]
    baseline: Callable[[Sequence[Row]], str] = lambda rows: EMPTY


def scores(rows: Sequence[Row]) -> Iterator[tuple[list[Column], str]]:
    """Yield the columns of the task's own split, of each challenge set, and of each attack, with what the caption says of them."""
    sets = dict.fromkeys(cells.name for row in rows for cells in row.challenges)
    clean = Column("Clean %", lambda row: percent(row.clean), _majority(_own))
    if sets:
        yield [clean, _f1("Clean", _own)], f"{how_measured(rows)}; {WHAT_MAJORITY}"
    else:
        yield [clean], how_measured(rows)
    for name in sets:
        yield [_accuracy(name, _challenge(name)), _f1(name, _challenge(name))], ""
    for name in dict.fromkeys(cells.name for row in rows for cells in row.attacks):
        yield _attacked(name, rows), ""
    if any(cells.errors for row in rows for cells in row.attacks):
        yield [Column("Errors", lambda row: str(sum(cells.errors for cells in row.attacks)))], ""
    if any(cells.timeouts for row in rows for cells in row.attacks):
        yield [Column("Timeouts", lambda row: str(sum(cells.timeouts for cells in row.attacks)))], ""


def costs(rows: Sequence[Row]) -> Iterator[tuple[list[Column], str]]:
    """Yield the columns of what the tickets remove and what making the models took; they stay together."""
    columns = [Column("Sparsity %", lambda row: _sparsity(row.sparsity))] if any(row.sparsity for row in rows) else []
    searched = any(row.search_seconds for row in rows)
    spent = searched or any(row.training_seconds for row in rows)
    if spent:
        columns.append(Column("Trained", lambda row: count(row.parameters)))
    if searched:
        columns.append(Column("Search s", lambda row: number(row.search_seconds)))
    if spent:
        columns.append(Column("Training s", lambda row: number(row.training_seconds)))
    yield columns, WHAT_COSTS if spent else ""


def _accuracy(name: str, of: Of) -> Column:
    return Column(f"{name}\nAcc %", lambda row: percent(cells.accuracy if (cells := of(row)) else None), _majority(of))


def _f1(name: str, of: Of) -> Column:
    return Column(
        f"{name}\nF1 %",
        lambda row: share(cells.weighted_f1 if (cells := of(row)) else None),
        lambda same: shares(cells.majority_f1 for row in same if (cells := of(row))),
    )


def _majority(of: Of) -> Callable[[Sequence[Row]], str]:
    return lambda same: shares(cells.majority for row in same if (cells := of(row)))


def _own(row: Row) -> ChallengeCells | None:
    return row.own_split


def _challenge(name: str) -> Of:
    return lambda row: next((cells for cells in row.challenges if cells.name == name), None)


def _attacked(name: str, rows: Sequence[Row]) -> list[Column]:
    def of(row: Row) -> AttackCells | None:
        return next((cells for cells in row.attacks if cells.name == name), None)

    columns = [
        Column(f"{name}\nAua %", lambda row: percent(cells.aua if (cells := of(row)) else None)),
        Column(f"{name}\nSuc %", lambda row: percent(cells.suc if (cells := of(row)) else None)),
        Column(f"{name}\n#Query", lambda row: number(cells.queries if (cells := of(row)) else None)),
    ]
    shown = [cells for row in rows if (cells := of(row))]
    if any(cells.words for cells in shown):
        columns.append(Column(f"{name}\nWords %", lambda row: percent(cells.words if (cells := of(row)) else None)))
    if any(cells.similarity for cells in shown):
        columns.append(Column(f"{name}\nSimilarity", lambda row: number(cells.similarity if (cells := of(row)) else None, digits=3)))
    return columns


def _sparsity(groups: Mapping[str, Measure]) -> str:
    """Name the groups, unless the ticket is of single weights."""
    if list(groups) == ["weights"]:
        return percent(groups["weights"])
    return "\n".join(f"{name} {percent(measure)}" for name, measure in groups.items()) or EMPTY


def how_measured(rows: Sequence[Row]) -> str:
    """Return what the caption says of the numbers in the cells."""
    over = "mean ± deviation over seeds; " if any(row.seeds > 1 for row in rows) else ""
    clean = _sizes(row.clean for row in rows if row.clean not in [cells.clean for cells in row.attacks])
    attacked = _sizes(cells.aua for row in rows for cells in row.attacks)
    sets = {
        name: _sizes(cells.accuracy for row in rows for cells in row.challenges if cells.name == name)
        for name in dict.fromkeys(cells.name for row in rows for cells in row.challenges)
    }
    parts = (
        clean and f"{clean} {'example' if clean == '1' else 'examples'} evaluated",
        *(f"{n} of {name}" for name, n in sets.items() if n),
        attacked and f"{attacked} attacked",
    )
    sizes = ", ".join(part for part in parts if part)
    means = "; of means Student's" if any(cells.queries and cells.queries.interval for row in rows for cells in row.attacks) else ""
    return f"{over}in brackets the 95 % Wilson interval{f' for one seed ({sizes})' if sizes else ''}{means}"


def _sizes(measures: Iterable[Measure | None]) -> str:
    sizes = sorted({measure.n for measure in measures if measure is not None and measure.n is not None})
    return " or ".join(str(size) for size in sizes)
