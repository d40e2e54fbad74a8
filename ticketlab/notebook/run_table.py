"""The table of runs in ``ticketlab lab ls``, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from ticketlab.core import quantities
from ticketlab.core.formatting import printable
from ticketlab.lab.run_names import DIGITS
from ticketlab.notebook.entries import Entry
from ticketlab.notebook.headlines import Headline
from ticketlab.notebook.run_columns import Column, columns_of
from ticketlab.notebook.studies import StudyEntry
from ticketlab.report.layout import cell_text, plain_cell
from ticketlab.report.statistics import Measure

if TYPE_CHECKING:
    from rich.table import Table

SHORTEST_DIGEST = 6
RECIPE_HEAD = "Recipe and what differs"
GAP = 2
"""The space between columns."""
Lines = list[str]
MIN_RECIPE = 28
MAX_RUN = 24
"""The minimum width of the column of recipes, and the maximum width of that of runs in a narrow table, in characters."""


def short_names(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the shortest name of each run by the name of its directory: a chosen name, or enough of the digest to identify it."""
    digests = [entry.digest for entry in entries if entry.digest]
    length = SHORTEST_DIGEST
    while length < 64 and len({digest[:length] for digest in digests}) < len(set(digests)):
        length += 1
    return {entry.name: _short_name(entry, length) for entry in entries}


def _short_name(entry: Entry, length: int) -> str:
    if not entry.digest or not entry.name.endswith(f"-{entry.digest[:DIGITS]}"):
        return entry.name
    return entry.names[0] if entry.names else entry.digest[:length]


def run_table(entries: Sequence[Entry], names: Mapping[str, str], now: float, width: int, metric: str = "") -> Table:
    """Return the table of runs: a row for each, or a block of lines if the columns do not fit in ``width`` characters.

    ``names`` are the short names of the runs, and ``metric`` is the number that they are sorted by, if any.
    """
    models_of = {key: names[entry.name] for entry in sorted(entries, key=lambda entry: -entry.changed) for key in entry.keys}
    columns = [column for column in columns_of(entries, now, metric, models_of) if column.always or any(map(column.has_text, entries))]
    texts = [[column.lines(entry) for column in columns] for entry in entries]
    widths = [_width([*column.head.split("\n"), *(line for own in texts for line in own[number])]) for number, column in enumerate(columns)]
    run = _width(["Run", *(names[entry.name] for entry in entries)])
    left = width - run - sum(widths) - GAP * (len(columns) + 1) - 1
    if left >= MIN_RECIPE:
        recipe = min(left, max(_width(map(_recipe, entries)), _width([RECIPE_HEAD])))
        return _wide_table(entries, names, columns, texts, [run, recipe, *widths])
    return _narrow_table(entries, names, columns, texts, (min(run, MAX_RUN), width - min(run, MAX_RUN) - GAP - 1))


def _wide_table(
    entries: Sequence[Entry], names: Mapping[str, str], columns: Sequence[Column], texts: Sequence[Sequence[Lines]], widths: Sequence[int]
) -> Table:
    """Return a table with a row for each run. The widths of all columns are given, because measuring them takes Rich long."""
    table = _table()
    table.add_column("Run", width=widths[0])
    table.add_column(RECIPE_HEAD, width=widths[1], overflow="fold")
    for column, width in zip(columns, widths[2:], strict=True):
        table.add_column(cell_text(column.head), width=width, justify="left" if column.is_text else "right", no_wrap=True)
    for entry, own in zip(entries, texts, strict=True):
        table.add_row(*map(plain_cell, [names[entry.name], _recipe(entry), *map("\n".join, own)]))
    return table


def _narrow_table(
    entries: Sequence[Entry], names: Mapping[str, str], columns: Sequence[Column], texts: Sequence[Sequence[Lines]], widths: tuple[int, int]
) -> Table:
    """Return a table of two columns: the run, and lines with its recipe and everything else, each number with its name."""
    table = _table()
    table.add_column("Run", overflow="fold", width=widths[0])
    table.add_column("Recipe, what differs, and numbers", overflow="fold", width=widths[1])
    for entry, own in zip(entries, texts, strict=True):
        lines = [_recipe(entry)]
        for number in range(max(map(len, own))):
            shown = [column.in_line(of_column[number]) for column, of_column in zip(columns, own, strict=True) if number < len(of_column)]
            lines += _packed([text for text in shown if text], widths[1])
        table.add_row(*map(plain_cell, [names[entry.name], "\n".join(lines)]))
    return table


def _width(texts: Iterable[str]) -> int:
    """Return the width of the widest of some lines, in characters of a terminal."""
    from rich.cells import cell_len

    return max((cell_len(printable(text)) for text in texts), default=0)


def _packed(texts: Sequence[str], width: int) -> list[str]:
    """Return texts on as few lines as possible, none of them broken."""
    lines: list[str] = []
    for text in texts:
        if lines and len(f"{lines[-1]}; {text}") <= width:
            lines[-1] += f"; {text}"
        else:
            lines.append(text)
    return lines


def _table() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)


def study_table(studies: Sequence[StudyEntry], now: float) -> Table:
    """Return the table of studies."""
    table = _table()
    table.add_column("Study", overflow="fold")
    table.add_column("Summary, and factors x levels", overflow="fold")
    for head in ("Cells done", "Age"):
        table.add_column(head, justify="right", no_wrap=True)
    for study in studies:
        factors = ", ".join(f"{name} x {levels}" for name, levels in study.factors.items())
        done = f"{study.finished}/{study.cells}" + (f", {study.failed} failed" if study.failed else "")
        table.add_row(
            *map(plain_cell, (study.name, "\n".join(filter(None, (study.summary, factors))), done, quantities.age(now - study.changed)))
        )
    return table


def as_json(entries: Sequence[Entry], studies: Sequence[StudyEntry], metric: str = "") -> dict[str, Any]:
    """Return the runs and studies as plain values."""
    return {"runs": [_run_as_json(entry, metric) for entry in entries], "studies": [_study_as_json(study) for study in studies]}


def _run_as_json(entry: Entry, metric: str) -> dict[str, Any]:
    found = {
        "name": entry.name,
        "names": list(entry.names),
        "digest": entry.digest,
        "folder": str(entry.folder),
        "state": entry.state,
        "recipe": entry.recipe,
        "differs": entry.differs,
        "scale": entry.scale,
        "model": entry.model,
        "tasks": list(entry.tasks),
        "seeds": list(entry.seeds),
        "numbers": [_headline_as_json(headline) for headline in entry.headlines],
        "changed": _time(entry.changed),
        "bytes": entry.bytes,
    }
    return found | ({"metric": metric, "values": list(entry.values)} if metric else {})


def _headline_as_json(headline: Headline) -> dict[str, Any]:
    def measure(value: Measure | None) -> dict[str, float | None] | None:
        return None if value is None else {"mean": value.mean, "deviation": value.deviation}

    return {
        "task": headline.task,
        "model": headline.model,
        "models": headline.models,
        "clean": measure(headline.clean),
        "split": headline.split if headline.clean is not None else None,
        "examples": headline.examples,
        "attack": headline.attack or None,
        "aua": measure(headline.aua),
        "attack_split": headline.attack_split if headline.attack else None,
        "attack_examples": headline.attack_examples,
        "ood": headline.ood or None,
        "ood_accuracy": measure(headline.ood_accuracy),
    }


def _study_as_json(study: StudyEntry) -> dict[str, Any]:
    return {**attrs.asdict(study), "changed": _time(study.changed)}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _recipe(entry: Entry) -> str:
    return f"{entry.recipe}: {entry.differs}" if entry.differs else entry.recipe
