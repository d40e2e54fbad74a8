"""The details of each cell: its numbers by seed, its stages, its warnings, and the resolved recipe of its run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.lab.layout import RECIPE
from ticketlab.lab.results import checkpoint_name, stage_results
from ticketlab.pages.cell_names import CellNames, status
from ticketlab.pages.number_cells import sizes_text
from ticketlab.report.cells import RUN, Cell, Comparison
from ticketlab.report.metric_text import metric_text
from ticketlab.report.notes import notes
from ticketlab.report.summaries import Summary


@frozen
class SeedNumbers:
    """One metric of a cell: the text of each seed's value, by seed, and the examples behind it."""

    task: str
    model: str
    metric: str
    values: Mapping[str, str]
    mean: str
    examples: str
    stage: str


@frozen
class StageLine:
    """One stage of a cell: ``same_as`` names the earlier stage of the run with the same key."""

    task: str
    seed: str
    name: str
    kind: str
    seconds: float | None
    key: str
    same_as: str


@frozen
class CellDetails:
    """All details of one cell. ``facts`` are pairs of a heading and a text; ``recipe`` is the text of the resolved recipe."""

    anchor: str
    label: str
    status: str
    error: str
    facts: tuple[tuple[str, str], ...]
    seeds: tuple[str, ...] = ()
    numbers: tuple[SeedNumbers, ...] = ()
    stages: tuple[StageLine, ...] = ()
    warnings: tuple[str, ...] = ()
    recipe: str = ""

    @property
    def has_several_tasks(self) -> bool:
        """Whether the task of a number or a stage has to be named."""
        return len({stage.task for stage in self.stages}) > 1


def cell_details(comparison: Comparison, summaries: Sequence[Summary], names: CellNames) -> Iterator[CellDetails]:
    """Yield the details of each cell, also of those that are not finished."""
    by_cell: dict[str, list[Summary]] = {}
    for summary in summaries:
        by_cell.setdefault(summary.number.cell, []).append(summary)
    for cell in comparison.cells:
        levels = [(name, level) for name, level in cell.levels.items() if name != RUN]
        anchor = names.anchor(cell.label)
        if cell.results is None:
            yield CellDetails(anchor, cell.label, status(cell), cell.error or cell.missing, (*levels, ("Directory", cell.folder.name)))
            continue
        yield CellDetails(
            anchor=anchor,
            label=cell.label,
            status=status(cell),
            error=cell.error,
            facts=(*levels, *_facts(cell, cell.results)),
            seeds=tuple(str(seed) for seed in cell.results["seeds"]),
            numbers=tuple(_numbers(summary) for summary in by_cell.get(cell.label, ())),
            stages=tuple(_stages(cell.results)),
            warnings=tuple(notes(cell.results)),
            recipe=_recipe(cell),
        )


def _facts(cell: Cell, results: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    overrides = ", ".join(f"{path}={value}" for path, value in results.get("overrides", {}).items())
    yield "Recipe", str(results["recipe"])
    yield "Differs in", overrides or "nothing"
    yield "Model", str(results["model"])
    yield "Tasks", ", ".join(results["tasks"])
    yield "Scale", str(results["scale"] or "full")
    yield "Precision", str(results.get("precision", "unknown"))
    yield "Directory", cell.folder.name
    yield "ticketlab", str(results.get("ticketlab", "unknown"))


def _numbers(summary: Summary) -> SeedNumbers:
    number, text = summary.number, metric_text(summary.number.metric)
    percent = " %" if text.factor == 100 else ""
    return SeedNumbers(
        task=number.task,
        model=checkpoint_name(number.of, number.checkpoint),
        metric=f"{number.metric}{percent}",
        values={str(value.seed): text.number(value.value) for value in summary.values},
        mean=text.number(summary.statistics.mean),
        examples=sizes_text(summary),
        stage=number.stage,
    )


def _stages(results: Mapping[str, Any]) -> Iterator[StageLine]:
    for stage in stage_results(results):
        same_as = list(map(str, stage.result.get("same_as", ())))
        yield StageLine(
            task=stage.task,
            seed=stage.seed,
            name=stage.name,
            kind=stage.kind,
            seconds=stage.result.get("cost", {}).get("seconds"),
            key=stage.key,
            same_as=f"{same_as[2]} of {same_as[0]}, seed {same_as[1]}" if len(same_as) == 3 else "",
        )


def _recipe(cell: Cell) -> str:
    """Return the text of the resolved recipe, or a sentence if the run's directory has none."""
    try:
        return (cell.folder / RECIPE).read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        return f"# {cell.folder / RECIPE} cannot be read: {problem.strerror}"
