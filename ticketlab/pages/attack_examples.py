"""The attacked texts that a page shows: a fixed choice from the records of each attack, with the changed words marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from ticketlab.attacks.results import record_file
from ticketlab.attacks.results.diff import DiffSegment, text_diffs
from ticketlab.attacks.results.record import Record
from ticketlab.core.errors import TicketlabError
from ticketlab.core.formatting import counted
from ticketlab.lab import mirror
from ticketlab.lab.layout import lab_of_run, stage_folder
from ticketlab.lab.results import StageResult, augmentation_sources, stage_results
from ticketlab.report.cells import Cell, Comparison

SHOWN: Mapping[str, int] = {"success": 5, "failed": 2}
"""The number of examples of each status to show for a model and an attack: the first ones of the sample."""
CONTEXT = 25
"""The number of words to show at each end of a long unchanged passage."""
WORD = re.compile(r"\s*\S+\s*")


@frozen
class ShownWords:
    """A run of words: ``same``, ``removed``, ``added``, or ``omitted`` with the number of omitted words as its text."""

    kind: str
    text: str


@frozen
class ShownText:
    """One text of an example: the name of its column and its words."""

    column: str
    words: tuple[ShownWords, ...]


@frozen
class ShownExample:
    """One attacked example."""

    record: Record
    texts: tuple[ShownText, ...]


@frozen
class AttackedTexts:
    """The shown examples of one attack on the model of one cell and task, all of one seed.

    ``total`` has the number of examples of each shown status. ``missing`` says why there are no examples. ``same_as`` is the label of the
    earlier cell with the same measurement, whose examples are not repeated. ``task_is_named`` if the cell has several tasks.
    """

    cell: str
    attack: str
    task: str
    stage: str
    seed: str
    total: Mapping[str, int]
    examples: tuple[ShownExample, ...] = ()
    missing: str = ""
    same_as: str = ""
    task_is_named: bool = False


def attacked_texts(comparison: Comparison) -> Iterator[AttackedTexts]:
    """Yield the examples of each finished cell, task, attack stage and attack, of the first seed."""
    shown: dict[tuple[str, str], str] = {}
    for cell, results in comparison.finished:
        for stage in _first_seeds(results):
            for attack, found in stage.result.get("attacks", {}).items():
                total = {"success": int(found.get("successes", 0)), "failed": int(found.get("failures", 0))}
                named = len(results["tasks"]) > 1
                texts = AttackedTexts(cell.label, attack, stage.task, stage.name, stage.seed, total, task_is_named=named)
                earlier = shown.setdefault((stage.key, attack), cell.label)
                yield evolve(texts, same_as=earlier) if earlier != cell.label else _with_examples(texts, cell, stage)


def _first_seeds(results: Mapping[str, Any]) -> Iterator[StageResult]:
    """Yield the attack stages of the first seed of each task that has them, without those whose texts augment a training stage."""
    seen: set[tuple[str, str]] = set()
    for stage in stage_results(results):
        measures = stage.kind == "attack" and stage.name not in augmentation_sources(stage.siblings)
        if measures and (stage.task, stage.name) not in seen:
            seen.add((stage.task, stage.name))
            yield stage


def _with_examples(texts: AttackedTexts, cell: Cell, stage: StageResult) -> AttackedTexts:
    path = record_file.path_in(stage_folder(lab_of_run(cell.folder), stage.key), texts.attack)
    try:
        mirror.fetch(path)
        if not path.is_file():
            return evolve(texts, missing=f"{path} does not exist: only the run's directory is here, not its lab")
        return evolve(texts, examples=tuple(_chosen(path)))
    except TicketlabError as problem:
        return evolve(texts, missing=str(problem))


def _chosen(path: Path) -> Iterator[ShownExample]:
    """Yield the first records of each shown status, in the order of :data:`SHOWN`."""
    header, records = record_file.first_of_each(path, SHOWN)
    for record in records:
        diffs = text_diffs(header, record)
        yield ShownExample(record, tuple(ShownText(name, tuple(_shortened(segments))) for name, segments in diffs))


def _shortened(segments: Sequence[DiffSegment]) -> Iterator[ShownWords]:
    """Yield the segments; of long unchanged ones only the words next to changes, with the number of the others between them."""
    for number, segment in enumerate(segments):
        words = WORD.findall(segment.text)
        if segment.kind != "same" or len(words) <= 3 * CONTEXT:
            yield ShownWords(segment.kind, segment.text)
            continue
        after = words[-CONTEXT:] if number + 1 < len(segments) else []
        yield ShownWords("same", "".join(words[:CONTEXT]))
        yield ShownWords("omitted", counted(len(words) - CONTEXT - len(after), "word"))
        if after:
            yield ShownWords("same", "".join(after))
