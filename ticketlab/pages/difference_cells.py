"""The cells of a paired difference: the two values, the difference with its interval, and the p value."""

from __future__ import annotations

from collections.abc import Sequence

from ticketlab.pages.data_table import PageCell
from ticketlab.pages.number_cells import p_cell, value_cell
from ticketlab.report.metric_text import MetricText
from ticketlab.statistics.paired import PairedDifference


def difference_cells(numbers: PairedDifference | None, text: MetricText, *, unpaired: Sequence[int] = ()) -> tuple[PageCell, ...]:
    """Return the four cells, empty ones without numbers. The title of the difference says which seeds and examples it is of."""
    if numbers is None:
        return (PageCell(),) * 4
    compared = "; ".join(_compared(numbers, unpaired))
    return (
        value_cell(numbers.first, text),
        value_cell(numbers.second, text),
        value_cell(numbers.difference, text, signed=True, interval=numbers.interval, title=compared),
        p_cell(numbers.p),
    )


def _compared(numbers: PairedDifference, unpaired: Sequence[int]) -> list[str]:
    seeds = [f"seeds {', '.join(map(str, numbers.seeds))}"]
    alone = [f"unpaired seeds {', '.join(map(str, unpaired))}"] if unpaired else []
    examples = [] if numbers.examples is None else [f"{numbers.examples} examples"]
    left_out = [f"{numbers.left_out} examples that only one has"] if numbers.left_out else []
    return [*seeds, *alone, *examples, *left_out]
