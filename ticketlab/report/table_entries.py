"""The entries of a table: the numbers of a cell, those of the paper, and why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import field, frozen

from ticketlab.core.formatting import counted, joined, verb
from ticketlab.report.baseline_comparison import PairedComparison
from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.comparability import Comparability
from ticketlab.report.comparison_table import FAILED, UNAVAILABLE, UNFINISHED, Entry
from ticketlab.report.metric_text import SPEED_UP
from ticketlab.report.speed_up import SpeedUp
from ticketlab.report.summaries import Summary
from ticketlab.report.table_notes import is_significant
from ticketlab.report.table_places import CELL, Levels, Places
from ticketlab.report.table_spec import TASK
from ticketlab.statistics.seeds import SeedStatistics

_Key = tuple[frozenset[tuple[str, str]], str]


@frozen
class Entries:
    """Makes the entries of a table, and collects the ``footnotes`` that they refer to."""

    comparison: Comparison
    places: Places
    summaries: Mapping[_Key, Summary]
    tests: Mapping[tuple[str, str, str], PairedComparison]
    speed_ups: Sequence[SpeedUp]
    most_seeds: int
    comparability: Comparability
    footnotes: list[str] = field(factory=list)

    @classmethod
    def of(cls, comparison: Comparison, places: Places, tests: Sequence[PairedComparison], speed_ups: Sequence[SpeedUp]) -> Entries:
        """Return the entries of the summaries at these places."""
        return cls(
            comparison,
            places,
            {(frozenset(place.items()), summary.number.metric): summary for place, summary in places.summaries},
            {(test.cell, test.task, test.metric): test for test in tests},
            speed_ups,
            max((len(summary.values) for _, summary in places.summaries), default=0),
            Comparability.of(comparison, (summary for _, summary in places.summaries)),
        )

    def ours(self, row: Levels, column: Levels, metric: str) -> Entry:
        """Return the entry with our number."""
        levels = {**row, **column}
        if metric == SPEED_UP:
            return self._speed_up(levels)
        summary = self.summaries.get((frozenset(levels.items()), metric))
        if summary is not None:
            return self._measured(summary)
        cell = self._cell(levels)
        if cell is None or cell.results is not None:
            return Entry(cell=cell.label if cell else "")
        if cell.unavailable:
            return Entry(cell=cell.label, state=UNAVAILABLE, marks=self._mark([f"not computed: {cell.unavailable}"]))
        if not cell.error:
            return Entry(cell=cell.label, state=UNFINISHED, marks=self._mark([f"{cell.label}: {cell.missing}"] if cell.missing else []))
        return Entry(cell=cell.label, state=FAILED, marks=self._mark([f"{cell.label} failed: {cell.error}"]))

    def paper(self, row: Levels, column: Levels, metric: str) -> Entry:
        """Return the entry with the published number; an empty one if there is none."""
        levels = {**row, **column}.items()
        found = [one.value for place, one in self.places.published if one.metric == metric and place.items() <= levels]
        return Entry(published=found[0]) if found else Entry()

    def _measured(self, summary: Summary) -> Entry:
        number, statistics = summary.number, summary.statistics
        cell = next(cell for cell in self.comparison.cells if cell.label == number.cell)
        test = self.tests.get((number.cell, number.task, number.metric))
        doubts = self.comparability.doubts(summary)
        return Entry(
            statistics=statistics,
            examples=summary.examples,
            cell=number.cell,
            p=test.p_corrected if test else None,
            comparable=not doubts,
            significant=is_significant(test),
            marks=self._mark([*_about_cell(cell), *self._about_seeds(summary), *doubts]),
        )

    def _about_seeds(self, summary: Summary) -> Iterator[str]:
        seeds = len(summary.values)
        if summary.statistics.seeds < seeds:
            yield f"{counted(summary.statistics.seeds, 'measurement')} for {seeds} seeds, since it does not depend on the seed"
        elif seeds < self.most_seeds:
            yield f"{counted(seeds, 'seed')} instead of {self.most_seeds}"

    def _speed_up(self, levels: Levels) -> Entry:
        """Return the speed-up of the cell. That of a baseline is 1."""
        cell = self._cell(levels)
        if cell is None or cell.results is None:
            return Entry(cell=cell.label if cell else "")
        task = levels.get(TASK) if TASK not in cell.levels else None
        found = [one for one in self.speed_ups if one.ratio and task in (None, one.task)]
        ratio = next((one.ratio for one in found if one.cell == cell.label), None)
        of_baseline = next((one for one in found if one.baseline == cell.label), None)
        if ratio is None and of_baseline is not None:
            ratio = SeedStatistics(1.0, None, None, len(of_baseline.seeds))
        return Entry(cell=cell.label, statistics=ratio, marks=self._mark(_about_cell(cell)) if ratio else ())

    def _cell(self, levels: Levels) -> Cell | None:
        """Return the cell with these levels. What only results tell, such as the task, is not known of a cell without results."""
        known = {CELL, *(factor.name for factor in self.comparison.factors)}
        explicit = {name: level for name, level in levels.items() if name in known}.items()
        return next((cell for cell in self.comparison.cells if explicit <= {**cell.levels, CELL: cell.label}.items()), None)

    def _mark(self, texts: Iterable[str]) -> tuple[int, ...]:
        marks = []
        for text in texts:
            if text not in self.footnotes:
                self.footnotes.append(text)
            marks.append(self.footnotes.index(text))
        return tuple(marks)


def _about_cell(cell: Cell) -> Iterator[str]:
    """Yield why a cell's numbers are those of another."""
    factors = joined(cell.inapplicable)
    no_effect = f"{factors} {verb(len(cell.inapplicable), 'has', 'have')} no effect" if factors else ""
    if cell.same_as:
        yield f"the same stages as {cell.same_as}{f': {no_effect}' if no_effect else ''}"
    elif no_effect:
        yield no_effect
