"""Why numbers of attacks are not compared with others of their metric: nothing could be fooled, or other examples were attacked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from attrs import frozen

from ticketlab.core.formatting import counted
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.one_class import nothing_to_fool
from ticketlab.report.summaries import Summary

_Sample = tuple[int, int | None]
"""The size and the seed of a sample."""


@frozen
class Comparability:
    """Knows the ``cells`` of a table, by label, and the ``samples`` of examples that were attacked, by task and metric."""

    cells: Mapping[str, Cell]
    samples: Mapping[tuple[str, str], Collection[_Sample]]

    @classmethod
    def of(cls, comparison: Comparison, summaries: Iterable[Summary]) -> Comparability:
        """Return that of the numbers of a table."""
        samples: dict[tuple[str, str], set[_Sample]] = {}
        for summary in summaries:
            if (sample := _sample(summary)) is not None:
                samples.setdefault((summary.number.task, summary.number.metric), set()).add(sample)
        return cls({cell.label: cell for cell in comparison.cells}, samples)

    def doubts(self, summary: Summary) -> list[str]:
        """Return why a number of the table is not compared with the others of its task and metric; nothing if it is."""
        return [text for text in (nothing_to_fool(self.cells[summary.number.cell], summary), self._about_sample(summary)) if text]

    def _about_sample(self, summary: Summary) -> str:
        sample, number = _sample(summary), summary.number
        if sample is None or len(self.samples[number.task, number.metric]) == 1:
            return ""
        size, seed = sample
        return f"attacked {counted(size, 'example')} (sample seed {seed}); others of this metric are on other samples, and are not compared"


def _sample(summary: Summary) -> _Sample | None:
    """Return the sample that was attacked, None for a number of another kind."""
    number = summary.number
    return (number.sample, number.sample_seed) if number.attack and number.sample is not None else None
