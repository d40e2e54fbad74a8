"""The title of a comparison's table, what its numbers are, and the warnings of its runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ticketlab.core.formatting import counted, joined, number_range
from ticketlab.report import speed_up
from ticketlab.report.baseline_comparison import PairedComparison
from ticketlab.report.cells import Comparison, Published
from ticketlab.report.metric_text import metric_text, split_metric
from ticketlab.report.notes import notes_of_cells
from ticketlab.report.paired_cells import SAME_MEASUREMENT
from ticketlab.report.speed_up import SpeedUp
from ticketlab.report.summaries import Summary

SIGNIFICANT = 0.05
MOST_NAMED = 2
"""The maximum number of runs that a title names."""
SIZED = ("accuracy", "aua", "clean")
"""Measures of all examples of a set; others, such as the success rate, are of a part of them."""


def table_title(comparison: Comparison) -> str:
    """Return the title: that of the comparison, with the tasks, models, seeds and scale of its runs.

    A reduced scale is named, since its numbers are not comparable with the paper's.
    """
    results = [found for _, found in comparison.finished]
    tasks = dict.fromkeys(task for found in results for task in found["tasks"])
    models = dict.fromkeys(str(found["model"]) for found in results)
    seeds = sorted({len(found["seeds"]) for found in results})
    scales = dict.fromkeys(str(found["scale"]) for found in results)
    reduced = ", ".join(scale for scale in scales if scale not in ("full", ""))
    parts = [", ".join(tasks)]
    parts += [f"model{'s' if len(models) > 1 else ''} {', '.join(models)}"] if models else []
    parts += [counted(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"] if seeds else []
    parts += [f"scale {reduced} (reduced)"] if reduced else []
    names = [cell.folder.name for cell in comparison.cells]
    several = len(names) > MOST_NAMED and comparison.title == ", ".join(names)
    title = counted(len(names), "run") if several else comparison.title
    return ": ".join(part for part in (title, ", ".join(part for part in parts if part)) if part)


def table_legend(
    summaries: Sequence[Summary], tests: Sequence[PairedComparison], speed_ups: Sequence[SpeedUp], baseline: str
) -> Iterator[str]:
    """Yield what the numbers of a table are: means of how many seeds and examples, and what they are compared with."""
    seeds = {summary.statistics.seeds for summary in summaries}
    if any(summary.statistics.deviation is not None for summary in summaries):
        yield f"mean ± standard deviation (n - 1) over {number_range(seeds)} seeds"
    elif seeds:
        yield "one seed, so there is no deviation"
    sizes = list(_sizes(summaries))
    if sizes:
        yield f"examples behind each seed's number: {'; '.join(sizes)}"
    if any(one.ratio for one in speed_ups):
        yield f"speed-up against {_baselines([one for one in speed_ups if one.ratio], baseline)}; {speed_up.NOTE}"
    if any(test.p_corrected is not None for test in tests) and not any(is_significant(test) for test in tests):
        yield f"no number {significance(tests, baseline)}"
    made = [test for test in tests if test.p_corrected is not None and not test.same_as]
    for note in dict.fromkeys(note for test in made for note in test.notes):
        number = sum(note in test.notes for test in made)
        yield note if number == len(made) else f"{number} of the {counted(len(made), 'test')}: {note}"
    for what, compared in (("number", tests), ("speed-up", speed_ups)):
        reasons = [one.reason for one in compared if one.reason and one.reason != SAME_MEASUREMENT]  # its footnote says so
        if reasons:
            among = ", such as" if len(set(reasons)) > 1 else ""
            yield f"{counted(len(reasons), what)} not compared with the baseline{among}: {reasons[0]}"


def is_significant(test: PairedComparison | None) -> bool:
    """Return whether a number differs from the baseline's, corrected for the number of tests."""
    return test is not None and test.p_corrected is not None and test.p_corrected < SIGNIFICANT


def significance(tests: Sequence[PairedComparison], baseline: str) -> str:
    """Return what a significant number differs from, and by which tests; empty without tests."""
    made = [test for test in tests if test.p_corrected is not None and not test.same_as]
    if not made:
        return ""
    kinds = joined(list(dict.fromkeys(test.numbers.test for test in made if test.numbers)))
    number = counted(len(made), "test")
    return f"differs from that of {_baselines(made, baseline)} with p < {SIGNIFICANT} ({kinds}; Holm's correction for {number})"


def _baselines(compared: Sequence[PairedComparison | SpeedUp], baseline: str) -> str:
    """Return the label of the only cell that is a baseline, or the baseline of the comparison, which may be a level of many cells."""
    labels = list(dict.fromkeys(one.baseline for one in compared))
    return labels[0] if len(labels) == 1 else baseline or joined(labels)


def _sizes(summaries: Iterable[Summary]) -> Iterator[str]:
    """Yield the numbers of examples of each task, with the sets and attacks that have them: ``sst2 80 (Clean), 20 (pwws)``."""
    sources: dict[str, dict[str, set[int]]] = {}
    for summary in summaries:
        _, kind, _, measure = split_metric(summary.number.metric)
        if summary.examples and measure in SIZED and kind in ("clean", "ood", "attack"):
            of_task = sources.setdefault(summary.number.task, {})
            of_task.setdefault(metric_text(summary.number.metric).source, set()).update(summary.examples)
    for task, of_task in sources.items():
        by_size: dict[str, list[str]] = {}
        for source, sizes in of_task.items():
            by_size.setdefault(number_range(sizes), []).append(source)
        listed = ", ".join(f"{size} ({', '.join(names)})" for size, names in by_size.items())
        yield f"{task} {listed}"


def table_notes(comparison: Comparison, elsewhere: Sequence[Published]) -> Iterator[str]:
    """Yield the notes of a comparison, and what its numbers may not be compared for."""
    yield from comparison.notes
    yield from (f"differs from the paper: {difference}" for difference in comparison.differences)
    scales = {str(found["scale"]) for _, found in comparison.finished}
    if len(scales) > 1:
        yield f"the runs have different scales ({', '.join(sorted(scales))}); their numbers are not comparable"
    if elsewhere:
        yield f"left out: {counted(len(elsewhere), 'published number')} of levels that no cell has, such as {_levels(elsewhere[0].levels)}"


def table_warnings(comparison: Comparison) -> Iterator[str]:
    """Yield the warnings of the runs, each once, with the cells that it concerns unless it concerns all."""
    every = len(comparison.finished)
    for note in notes_of_cells(comparison):
        where = note.cells[0].label if len(note.cells) == 1 else f"{len(note.cells)} of {every} cells"
        yield note.text if len(note.cells) == every else f"{where}: {note.text}"


def _levels(levels: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {level}" for name, level in levels.items())
