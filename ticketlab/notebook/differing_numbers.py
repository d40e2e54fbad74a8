"""The numbers in which two runs differ, and what the runs measured differently, so that a difference may not mean what it seems to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core.formatting import joined
from ticketlab.lab.results import checkpoint_name, stage_results
from ticketlab.notebook.run_columns import seed_text
from ticketlab.report.cells import RUN, Cell
from ticketlab.report.numbers import Number, numbers
from ticketlab.report.statistics import Measure, summarise

Results = Mapping[str, Any]


@frozen
class DifferingNumber:
    """One metric of one task and model in two runs; a run that lacks it has None. ``difference`` is the second mean minus the first."""

    task: str
    model: str
    metric: str
    one: Measure | None
    other: Measure | None

    @property
    def difference(self) -> float | None:
        """The second mean minus the first; None if a run lacks the metric."""
        return self.other.mean - self.one.mean if self.one is not None and self.other is not None else None


def differing_numbers(one: Results, other: Results) -> list[DifferingNumber]:
    """Return the metrics of two runs whose means over the seeds differ, or that only one of them has.

    Where each run has a single task, or a single model of a task, they are compared whatever they are called. Where several stages of a run
    measure a metric of one model, each is compared with the stage of its name.
    """
    measured = [_values(results) for results in (one, other)]
    task, model = (_common_name(*([key[part] for key in found] for found in measured)) for part in (0, 1))
    named = [{(task or key[0], key[1] and (model or key[1]), key[2]): by_stage for key, by_stage in found.items()} for found in measured]
    several = {key for found in named for key, by_stage in found.items() if len(by_stage) > 1}
    pairs: dict[tuple[str, str, str], list[Measure | None]] = {}
    for number, found in enumerate(named):
        for key, by_stage in found.items():
            for stage, values in by_stage.items():
                of = f"{key[1]} ({stage})" if key in several else key[1]
                pairs.setdefault((key[0], of, key[2]), [None, None])[number] = summarise(values)
    return [
        DifferingNumber(*key, *pair) for key, pair in pairs.items() if pair[0] is None or pair[1] is None or pair[0].mean != pair[1].mean
    ]


def caveats(one: Results, other: Results) -> list[str]:
    """Return what the runs measured differently: tasks, data, seeds, examples, samples of attacks, precision."""
    return [
        *_task_caveats(one, other),
        *_data_caveats(one.get("data", {}), other.get("data", {})),
        *_seed_caveats(one, other),
        *_sample_caveats(one, other),
        *_precision_caveats(one, other),
    ]


def _values(results: Results) -> dict[tuple[str, str, str], dict[str, list[float]]]:
    """Return the distinct measurements of each metric, by task, model and metric, and by the stage that measured it."""
    cell = Cell(str(results["recipe"]), {RUN: ""}, Path(), results)
    distinct: dict[tuple[tuple[str, str, str], str], Number] = {}
    for number in numbers(cell):
        if number.step is None:
            distinct.setdefault(((number.task, checkpoint_name(number.of, number.checkpoint), number.metric), number.key), number)
    found: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for (key, _), number in distinct.items():
        found.setdefault(key, {}).setdefault(number.stage, []).append(number.value)
    return found


def _common_name(one: Sequence[str], other: Sequence[str]) -> str:
    """Return what to call two things that are the only ones of their run, or an empty string. Numbers of no model, of data, have none."""
    first, second = set(filter(None, one)), set(filter(None, other))
    if len(first) != 1 or len(second) != 1:
        return ""
    return " / ".join(dict.fromkeys((*first, *second)))


def _task_caveats(one: Results, other: Results) -> Iterator[str]:
    if set(one["tasks"]) != set(other["tasks"]):
        yield f"the tasks differ: {joined(list(one['tasks']))}, and {joined(list(other['tasks']))}"


def _data_caveats(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    for name in one:
        if name in other and one[name]["fingerprint"] != other[name]["fingerprint"]:
            rows = [", ".join(f"{number:,} {split}" for split, number in about[name]["rows"].items()) for about in (one, other)]
            sizes = f"{rows[0]}, and {rows[1]}" if rows[0] != rows[1] else f"both have {rows[0]}, but other texts, labels or columns"
            yield f"{name}: the data differ ({sizes}), so numbers differ for this reason too"


def _seed_caveats(one: Results, other: Results) -> Iterator[str]:
    first, second = (sorted(results["seeds"]) for results in (one, other))
    if first != second:
        yield f"the means are over other seeds: {seed_text(first)}, and {seed_text(second)}"


def _sample_caveats(one: Results, other: Results) -> Iterator[str]:
    first, second = _samples(one), _samples(other)
    for name in first:
        if name in second and first[name] != second[name]:
            yield f"{name}: other examples were attacked: {first[name]}, and {second[name]}"


def _samples(results: Results) -> dict[str, str]:
    """Return the sample of each task and attack as text."""
    found: dict[str, str] = {}
    for stage in stage_results(results):
        sample: Mapping[str, Any] = stage.result.get("sample", {})
        for attack in stage.result.get("attacks", {}) if sample else ():
            found[f"{stage.task}, {attack}"] = f"{sample['size']} of {sample['split']} (sample seed {sample['seed']})"
    return found


def _precision_caveats(one: Results, other: Results) -> Iterator[str]:
    first, second = (str(results.get("precision", "")) for results in (one, other))
    if first != second:
        yield f"the precision differs: {first or 'unknown'}, and {second or 'unknown'}"
