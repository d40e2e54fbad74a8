"""The columns of the main table, in blocks that stay together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from ticketlab.report.attack_cells import AttackCells
from ticketlab.report.cells import count, number, percent, share, shares
from ticketlab.report.challenges import ChallengeCells
from ticketlab.report.layout import EMPTY
from ticketlab.report.rows import ResultRow
from ticketlab.report.samples import described
from ticketlab.report.statistics import Measure

MAJORITY = "majority class"
WHAT_COSTS = "seconds of optimizer steps, parameters that the last training can change"
WHAT_MAJORITY = f"{MAJORITY}: always saying the commonest label of the set"
WHAT = {
    "balanced_accuracy": "balanced: the mean recall of the classes",
    "macro_f1": "macro F1: the mean F1 of the classes",
    "weighted_f1": "weighted F1: each class by its examples",
}
"""What the caption says of a measure whose heading does not say it."""
Of = Callable[[ResultRow], ChallengeCells | None]


@frozen
class Column:
    """What a column says of a row, and of the majority baseline of a task with these rows."""

    head: str
    cell: Callable[[ResultRow], str]
    baseline: Callable[[Sequence[ResultRow]], str] = lambda rows: EMPTY


def scores(rows: Sequence[ResultRow]) -> Iterator[tuple[list[Column], str]]:
    """Yield the columns of the task's own split, of each challenge set, and of each attack, with what the caption says of them.

    Beside each accuracy of the task's own split stand the balanced accuracy and what the task's benchmark reports; with challenge sets
    the weighted F1 of all sets too, as the papers have it for PAWS.
    """
    sets = dict.fromkeys(cells.name for row in rows for cells in row.challenges)
    more = ("weighted_f1",) if sets else ()
    own = [Column("Clean %", lambda row: percent(row.clean), _majority(_own))]
    yield [*own, *_measures("", _own, rows, ("balanced_accuracy", *more))], "; ".join([how_measured(rows), *_notes(rows, more)])
    for name in sets:
        of = _challenge(name)
        yield [_accuracy(name, of), *_measures(name, of, rows, more)], ""
    for label in dict.fromkeys(cells.label for row in rows for cells in row.attacks):
        yield _attacked(label, rows), ""
    if any(cells.errors for row in rows for cells in row.attacks):
        yield [Column("Errors", lambda row: str(sum(cells.errors for cells in row.attacks)))], ""
    if any(cells.timeouts for row in rows for cells in row.attacks):
        yield [Column("Timeouts", lambda row: str(sum(cells.timeouts for cells in row.attacks)))], ""


def costs(rows: Sequence[ResultRow]) -> Iterator[tuple[list[Column], str]]:
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


def _measures(name: str, of: Of, rows: Sequence[ResultRow], more: Sequence[str]) -> Iterator[Column]:
    """Yield a column for each of the measures in ``more`` and of those that the set's results are to show, where there is a number."""
    found = [cells for row in rows if (cells := of(row))]
    for measure in dict.fromkeys((*more, *(shown for cells in found for shown in cells.shown))):
        if any(cells.measures.get(measure) for cells in found):
            head = _head(measure, dict.fromkeys(cells.positive_label for cells in found if cells.positive_label))
            yield Column(f"{name}\n{head}" if name else head, _cell(measure, of), _baseline(measure, of))


def _head(measure: str, positive: Iterable[str]) -> str:
    return {
        "balanced_accuracy": "Balanced %",
        "macro_f1": "Macro F1 %",
        "weighted_f1": "Weighted F1 %",
        "binary_f1": f"F1 %\n{' or '.join(positive)}",
        "matthews": "Matthews",
    }[measure]


def _cell(measure: str, of: Of) -> Callable[[ResultRow], str]:
    return lambda row: _shown(measure, cells.measures[measure] if (cells := of(row)) else None)


def _baseline(measure: str, of: Of) -> Callable[[Sequence[ResultRow]], str]:
    def shown(same: Sequence[ResultRow]) -> str:
        values = [cells.baselines[measure] for row in same if (cells := of(row))]
        return " or ".join(dict.fromkeys(_shown(measure, Measure(value)) for value in values if value is not None)) or EMPTY

    return shown


def _shown(measure: str, value: Measure | None) -> str:
    """Return a correlation as it is, and a share in per cent."""
    return number(value, digits=3) if measure == "matthews" else share(value)


def _majority(of: Of) -> Callable[[Sequence[ResultRow]], str]:
    return lambda same: shares(cells.majority for row in same if (cells := of(row)))


def _notes(rows: Sequence[ResultRow], more: Sequence[str]) -> Iterator[str]:
    """Yield what the measures of the columns are."""
    judged = [cells for row in rows for cells in (row.own_split, *row.challenges) if cells is not None]
    yield from (WHAT[name] for name in ("balanced_accuracy", *more) if any(cells.measures.get(name) for cells in judged))
    if any(cells.majority is not None for cells in judged):
        yield WHAT_MAJORITY


def _own(row: ResultRow) -> ChallengeCells | None:
    return row.own_split


def _challenge(name: str) -> Of:
    return lambda row: next((cells for cells in row.challenges if cells.name == name), None)


def _attacked(label: str, rows: Sequence[ResultRow]) -> list[Column]:
    def of(row: ResultRow) -> AttackCells | None:
        return next((cells for cells in row.attacks if cells.label == label), None)

    columns = [
        Column(f"{label}\nAua %", lambda row: percent(cells.aua if (cells := of(row)) else None)),
        Column(f"{label}\nSuc %", lambda row: percent(cells.suc if (cells := of(row)) else None)),
        Column(f"{label}\n#Query", lambda row: number(cells.queries if (cells := of(row)) else None)),
    ]
    shown = [cells for row in rows if (cells := of(row))]
    if any(cells.words for cells in shown):
        columns.append(Column(f"{label}\nWords %", lambda row: percent(cells.words if (cells := of(row)) else None)))
    if any(cells.similarity for cells in shown):
        columns.append(Column(f"{label}\nSimilarity", lambda row: number(cells.similarity if (cells := of(row)) else None, digits=3)))
    return columns


def _sparsity(groups: Mapping[str, Measure]) -> str:
    """Name the groups, unless the ticket is of single weights."""
    if list(groups) == ["weights"]:
        return percent(groups["weights"])
    return "\n".join(f"{name} {percent(measure)}" for name, measure in groups.items()) or EMPTY


def how_measured(rows: Sequence[ResultRow]) -> str:
    """Return what the caption says of the numbers in the cells: how many examples are behind them, and of which split."""
    over = "mean ± deviation over seeds; " if any(row.seeds > 1 for row in rows) else ""
    clean = by_split((row.clean, row.split) for row in rows)
    sets = {
        name: by_split((cells.accuracy, "") for row in rows for cells in row.challenges if cells.name == name)
        for name in dict.fromkeys(cells.name for row in rows for cells in row.challenges)
    }
    parts = (
        *(f"{n} {'example' if n == '1' else 'examples'}{split} evaluated" for split, n in clean.items()),
        *(f"{n} of {name}" for name, found in sets.items() for n in found.values()),
        *described(sample for row in rows for cells in row.attacks for sample in cells.samples),
    )
    sizes = "; ".join(parts)
    means = "; of means Student's" if any(cells.queries and cells.queries.interval for row in rows for cells in row.attacks) else ""
    return f"{over}in brackets the 95 % Wilson interval{f' for one seed ({sizes})' if sizes else ''}{means}"


def by_split(measures: Iterable[tuple[Measure | None, str]]) -> dict[str, str]:
    """Return how many examples are behind numbers, such as ``95 to 100``, by split: nothing for the test, else ``" of dev"``."""
    found: dict[str, set[tuple[int, int]]] = {}
    for one, split in measures:
        if one is not None and one.n is not None:
            where = {"": "", "test": "", "all": " of all splits"}.get(split, f" of {split}")
            found.setdefault(where, set()).add((one.n, one.largest or one.n))
    return {
        split: " or ".join(str(n) if n == most else f"{n} to {most}" for n, most in sorted(sizes)) for split, sizes in sorted(found.items())
    }
