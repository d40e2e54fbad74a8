"""The columns of the table of runs: their heads, and the text of a run in each."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import frozen

from ticketlab.core import quantities
from ticketlab.lab.integrity import keys_in
from ticketlab.lab.results import SHARES
from ticketlab.notebook.entries import Entry
from ticketlab.notebook.headlines import TEST, Headline
from ticketlab.recipes.run_name import short_model_name
from ticketlab.report.layout import EMPTY
from ticketlab.report.number_format import percent
from ticketlab.report.numbers import Number
from ticketlab.report.statistics import Measure, summarise


@frozen
class Column:
    """A column. ``lines`` returns the lines of a run: one, or one for each task.

    ``before`` and ``after`` surround its texts in a line where the columns have no heads. A column that is empty for all runs is left out
    unless it is ``always`` shown.
    """

    head: str
    lines: Callable[[Entry], list[str]]
    before: str = ""
    after: str = ""
    always: bool = False
    is_text: bool = False

    def has_text(self, entry: Entry) -> bool:
        """Return whether the column is not empty for a run."""
        return any(line != EMPTY for line in self.lines(entry))

    def in_line(self, text: str) -> str:
        """Return a text of the column for a line without heads; empty if there is none."""
        return f"{self.before} {text}{self.after}".lstrip() if text != EMPTY else ""


def columns_of(entries: Sequence[Entry], now: float, metric: str = "", models_of: Mapping[str, str] | None = None) -> list[Column]:
    """Return the columns after the name and the recipe.

    An attack or a challenge set that is the same everywhere is in the head, otherwise in the cells. ``metric`` is that of the entries'
    ``measured`` numbers, if any, and ``now`` the time from which ages are counted. ``models_of`` has the run that made a stage, by the
    stage's key.
    """
    scales = _distinct(entry.scale for entry in entries)
    models = _distinct(entry.model for entry in entries)
    columns = [Column("State", lambda entry: [EMPTY if entry.state == "finished" else entry.state], is_text=True)]
    columns.append(Column("Task", _tasks, always=True, is_text=True))
    if len(models) > 1:
        columns.append(Column("Model", lambda entry: [_model(entry, models_of or {})], before="model", is_text=True))
    if scales != ["full"]:
        columns.append(Column("Scale", lambda entry: [entry.scale or EMPTY], before="scale", is_text=True))
    columns.append(Column("Seeds", lambda entry: [seed_text(entry.seeds)], before="seeds", always=True))
    columns.append(Column("Clean %", _clean, before="clean", after=" %", always=True))
    columns.append(_named_column(entries, "{}\nAua %", lambda line: (line.attack, line.aua, line.attack_split)))
    columns.append(_named_column(entries, "{}\nOOD %", lambda line: (line.ood, line.ood_accuracy, TEST)))
    if metric:
        unit = " %" if is_share(metric) else ""
        columns.append(Column(f"{metric}{unit}".replace(".", ".\n"), lambda entry: [_metric_text(entry.measured, metric)], metric, unit))
    columns.append(Column("Age", lambda entry: [quantities.age(now - entry.changed)], after=" ago", always=True))
    columns.append(Column("Size", lambda entry: [quantities.size(entry.bytes)], always=True))
    return columns


def seed_text(seeds: Sequence[int]) -> str:
    """Return seeds as ``0-4`` or ``0,2,7``."""
    if not seeds:
        return EMPTY
    first, last = min(seeds), max(seeds)
    if len(seeds) > 2 and last - first + 1 == len(seeds):
        return f"{first}-{last}"
    return ",".join(map(str, sorted(seeds)))


def _named_column(entries: Sequence[Entry], head: str, found: Callable[[Headline], tuple[str, Measure | None, str]]) -> Column:
    """Return a column of numbers that belong to an attack or a set, whose name is in the head if there is only one.

    ``found`` returns the name, the number and the split that it was measured on.
    """
    names = _distinct(found(line)[0] for entry in entries for line in entry.headlines)
    name = names[0] if len(names) == 1 else ""

    def text(line: Headline | None) -> str:
        own, value, split = found(line) if line is not None else ("", None, TEST)
        return _percent_on(value, split) if name or value is None else f"{own} {_percent_on(value, split)}"

    title = head.format(name).strip()
    return Column(
        title, lambda entry: [text(line) for line in _lines(entry)], before=title.replace("\n", " ").removesuffix(" %"), after=" %"
    )


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))


def _lines(entry: Entry) -> list[Headline | None]:
    """Return the main numbers of each task, None for a task without numbers."""
    by_task = {headline.task: headline for headline in entry.headlines}
    return [by_task.get(task) for task in entry.tasks] or [None]


def _tasks(entry: Entry) -> list[str]:
    """Return the tasks; where several models were measured, with the one whose numbers are shown."""
    lines = zip(entry.tasks or (EMPTY,), _lines(entry), strict=True)
    return [f"{task} ({line.model})" if line is not None and line.models > 1 else task for task, line in lines]


def _model(entry: Entry, models_of: Mapping[str, str]) -> str:
    """Return the model that a run starts from or measures, in short; of a model of another run in the lab, that run."""
    keys = keys_in(entry.model)
    made_by = models_of.get(keys[-1]) if keys else None
    return f"of {made_by}" if made_by else short_model_name(entry.model) or EMPTY


def _clean(entry: Entry) -> list[str]:
    return [_percent_on(line.clean, line.split) if line is not None else EMPTY for line in _lines(entry)]


def _percent_on(value: Measure | None, split: str) -> str:
    """Return a number in percent, with the split that it was measured on unless that is the test split."""
    return percent(value) if value is None or split == TEST else f"{percent(value)} ({split})"


def is_share(metric: str) -> bool:
    """Return whether the values of a metric are shown in percent."""
    return metric.rpartition(".")[2] in SHARES or "sparsity." in metric


def _metric_text(measured: Sequence[Number], metric: str) -> str:
    """Return the mean of a metric, with the deviation over seeds; without it if the numbers are of several models or tasks."""
    if not measured:
        return EMPTY
    values = [number.value for number in measured]
    of_seeds = len({(number.task, number.of, number.checkpoint) for number in measured}) == 1
    mean = statistics.fmean(values)
    text = percent(summarise(values if of_seeds else [mean])) if is_share(metric) else f"{mean:.4g}"
    return text if of_seeds else f"{text} (mean of {len(values)})"
