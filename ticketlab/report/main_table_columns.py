"""The columns of the main table: scores on each set, results of attacks, sparsity and cost, in groups that stay together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from ticketlab.report.attack_summary import AttackSummary
from ticketlab.report.attacked_sample import describe_samples
from ticketlab.report.layout import EMPTY
from ticketlab.report.metric_text import metric_text
from ticketlab.report.number_format import count, distinct_percents, number_with_interval, percent, percent_with_interval
from ticketlab.report.rows import ResultRow
from ticketlab.report.set_summary import SetSummary
from ticketlab.report.statistics import Measure

MAJORITY = "majority class"
COST_NOTE = "seconds of optimizer steps, trainable parameters of the last training stage"
MAJORITY_NOTE = f"{MAJORITY}: always predicting the most common label of the set"
MEASURE_NOTES = {
    "balanced_accuracy": "balanced: mean recall of the classes",
    "macro_f1": "macro F1: mean F1 of the classes",
    "weighted_f1": "weighted F1: mean F1, each class weighted by its examples",
}
"""Explanations in the caption of measures whose headings do not explain them."""
SetOfRow = Callable[[ResultRow], SetSummary | None]
"""Selects a set from a row; None if the row's model was not evaluated on the set."""


@frozen
class TableColumn:
    """A column: its heading, the cell of a row, and the cell of the majority baseline of a task with these rows."""

    head: str
    cell: Callable[[ResultRow], str]
    baseline: Callable[[Sequence[ResultRow]], str] = lambda rows: EMPTY


def score_columns(rows: Sequence[ResultRow]) -> Iterator[tuple[list[TableColumn], str]]:
    """Yield the columns of the task's own split, of each challenge set and of each attack, each group with its note for the caption.

    The accuracy of the task's own split is accompanied by the balanced accuracy and by the measures that the task's benchmark reports.
    With challenge sets, the weighted F1 of every set is shown too, as papers report it for PAWS.
    """
    sets = dict.fromkeys(summary.name for row in rows for summary in row.challenges)
    extra = ("weighted_f1",) if sets else ()
    clean = TableColumn("Clean %", lambda row: percent_with_interval(row.clean), _majority(_own_split))
    note = "; ".join([measurement_note(rows), *_measure_notes(rows, extra)])
    yield [clean, *_measure_columns("", _own_split, rows, ("balanced_accuracy", *extra))], note
    for name in sets:
        of = _challenge_set(name)
        yield [_accuracy_column(name, of), *_measure_columns(name, of, rows, extra)], ""
    for label in dict.fromkeys(attack.label for row in rows for attack in row.attacks):
        yield _attack_columns(label, rows), ""
    if any(attack.errors for row in rows for attack in row.attacks):
        yield [TableColumn("Errors", lambda row: str(sum(attack.errors for attack in row.attacks)))], ""
    if any(attack.timeouts for row in rows for attack in row.attacks):
        yield [TableColumn("Timeouts", lambda row: str(sum(attack.timeouts for attack in row.attacks)))], ""


def number_columns(rows: Sequence[ResultRow]) -> Iterator[tuple[list[TableColumn], str]]:
    """Yield one group: the numbers that stages of other kinds measured of the models, such as their size and latency."""
    metrics = dict.fromkeys(metric for row in rows for metric in row.numbers)
    yield [TableColumn(metric_text(metric).heading.replace(", ", "\n"), _number_cell(metric)) for metric in metrics], ""


def _number_cell(metric: str) -> Callable[[ResultRow], str]:
    text = metric_text(metric)

    def cell(row: ResultRow) -> str:
        found = row.numbers.get(metric)
        if found is None:
            return EMPTY
        return text.number(found.mean) + ("" if found.deviation is None else f" ± {text.number(found.deviation)}")

    return cell


def cost_columns(rows: Sequence[ResultRow]) -> Iterator[tuple[list[TableColumn], str]]:
    """Yield one group: the sparsity of the tickets and the cost of the models."""
    columns = [TableColumn("Sparsity %", lambda row: _sparsity(row.sparsity))] if any(row.sparsity for row in rows) else []
    searched = any(row.search_seconds for row in rows)
    timed = searched or any(row.training_seconds for row in rows)
    if timed:
        columns.append(TableColumn("Trained", lambda row: count(row.parameters)))
    if searched:
        columns.append(TableColumn("Search s", lambda row: number_with_interval(row.search_seconds)))
    if timed:
        columns.append(TableColumn("Training s", lambda row: number_with_interval(row.training_seconds)))
    yield columns, COST_NOTE if timed else ""


def _accuracy_column(name: str, of: SetOfRow) -> TableColumn:
    return TableColumn(
        f"{name}\nAcc %", lambda row: percent_with_interval(summary.accuracy if (summary := of(row)) else None), _majority(of)
    )


def _measure_columns(name: str, of: SetOfRow, rows: Sequence[ResultRow], extra: Sequence[str]) -> Iterator[TableColumn]:
    """Yield a column for each measure in ``extra`` and each one that the set's summaries show, if any row has a value for it."""
    summaries = [summary for row in rows if (summary := of(row))]
    for measure in dict.fromkeys((*extra, *(shown for summary in summaries for shown in summary.shown))):
        if any(summary.measures.get(measure) for summary in summaries):
            head = _heading(measure, dict.fromkeys(summary.positive_label for summary in summaries if summary.positive_label))
            yield TableColumn(f"{name}\n{head}" if name else head, _measure_cell(measure, of), _measure_baseline(measure, of))


def _heading(measure: str, positive: Iterable[str]) -> str:
    heading = "Matthews" if measure == "matthews" else metric_text(f"clean.{measure}").heading
    return f"{heading}\n{' or '.join(positive)}" if measure == "binary_f1" else heading


def _measure_cell(measure: str, of: SetOfRow) -> Callable[[ResultRow], str]:
    return lambda row: _format(measure, summary.measures.get(measure) if (summary := of(row)) else None)


def _measure_baseline(measure: str, of: SetOfRow) -> Callable[[Sequence[ResultRow]], str]:
    def cell(same_task: Sequence[ResultRow]) -> str:
        values = [summary.baselines.get(measure) for row in same_task if (summary := of(row))]
        return " or ".join(dict.fromkeys(_format(measure, Measure(value)) for value in values if value is not None)) or EMPTY

    return cell


def _format(measure: str, value: Measure | None) -> str:
    """Return a fraction as a percentage, and anything else as a number."""
    text = metric_text(f"clean.{measure}")
    return percent(value) if text.factor == 100 else number_with_interval(value, digits=text.digits)


def _majority(of: SetOfRow) -> Callable[[Sequence[ResultRow]], str]:
    return lambda same_task: distinct_percents(summary.majority for row in same_task if (summary := of(row)))


def _measure_notes(rows: Sequence[ResultRow], extra: Sequence[str]) -> Iterator[str]:
    """Yield explanations of the measures in the columns."""
    summaries = [summary for row in rows for summary in (row.own_split, *row.challenges) if summary is not None]
    yield from (MEASURE_NOTES[name] for name in ("balanced_accuracy", *extra) if any(summary.measures.get(name) for summary in summaries))
    if any(summary.majority is not None for summary in summaries):
        yield MAJORITY_NOTE


def _own_split(row: ResultRow) -> SetSummary | None:
    return row.own_split


def _challenge_set(name: str) -> SetOfRow:
    return lambda row: next((summary for summary in row.challenges if summary.name == name), None)


def _attack_columns(label: str, rows: Sequence[ResultRow]) -> list[TableColumn]:
    def of(row: ResultRow) -> AttackSummary | None:
        return next((attack for attack in row.attacks if attack.label == label), None)

    columns = [
        TableColumn(f"{label}\nAua %", lambda row: percent_with_interval(attack.aua if (attack := of(row)) else None)),
        TableColumn(f"{label}\nSuc %", lambda row: percent_with_interval(attack.suc if (attack := of(row)) else None)),
        TableColumn(f"{label}\n#Query", lambda row: number_with_interval(attack.queries if (attack := of(row)) else None)),
    ]
    attacks = [attack for row in rows if (attack := of(row))]
    if any(attack.words for attack in attacks):
        columns.append(TableColumn(f"{label}\nWords %", lambda row: percent_with_interval(attack.words if (attack := of(row)) else None)))
    if any(attack.similarity for attack in attacks):
        columns.append(
            TableColumn(
                f"{label}\nSimilarity",
                lambda row: number_with_interval(attack.similarity if (attack := of(row)) else None, digits=3),
            )
        )
    return columns


def _sparsity(groups: Mapping[str, Measure]) -> str:
    """Return the sparsity of each group of units, with the group's name unless the ticket is of single weights only."""
    if list(groups) == ["weights"]:
        return percent_with_interval(groups["weights"])
    return "\n".join(f"{name} {percent_with_interval(measure)}" for name, measure in groups.items()) or EMPTY


def measurement_note(rows: Sequence[ResultRow]) -> str:
    """Return the caption's explanation of the numbers in the cells: the kind of interval, and the examples behind them by split."""
    over = "mean ± deviation over seeds; " if any(row.seeds > 1 for row in rows) else ""
    clean = examples_by_split((row.clean, row.split) for row in rows)
    sets = {
        name: examples_by_split((summary.accuracy, "") for row in rows for summary in row.challenges if summary.name == name)
        for name in dict.fromkeys(summary.name for row in rows for summary in row.challenges)
    }
    parts = (
        *(f"{n} {'example' if n == '1' else 'examples'}{split} evaluated" for split, n in clean.items()),
        *(f"{n} of {name}" for name, numbers in sets.items() for n in numbers.values()),
        *describe_samples(sample for row in rows for attack in row.attacks for sample in attack.samples),
    )
    sizes = "; ".join(parts)
    means = (
        "; Student's t interval for means"
        if any(attack.queries and attack.queries.interval for row in rows for attack in row.attacks)
        else ""
    )
    return f"{over}in brackets the 95 % Wilson interval{f' for one seed ({sizes})' if sizes else ''}{means}"


def examples_by_split(measures: Iterable[tuple[Measure | None, str]]) -> dict[str, str]:
    """Return the number of examples behind each split's numbers, such as ``95 to 100``.

    Keys are phrases to append: empty for the test split, otherwise such as ``" of dev"``.
    """
    ranges: dict[str, set[tuple[int, int]]] = {}
    for measure, split in measures:
        if measure is not None and measure.n is not None:
            where = {"": "", "test": "", "all": " of all splits"}.get(split, f" of {split}")
            ranges.setdefault(where, set()).add((measure.n, measure.largest or measure.n))
    return {
        split: " or ".join(str(n) if n == largest else f"{n} to {largest}" for n, largest in sorted(sizes))
        for split, sizes in sorted(ranges.items())
    }
