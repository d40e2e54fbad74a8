"""One run on one screen: its facts, its stages and its files. The tables of its numbers are those of ``ticketlab run``."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from ticketlab.core import quantities
from ticketlab.core.formatting import counted
from ticketlab.lab.layout import lab_of_run, stage_folder
from ticketlab.lab.open_lab import open_lab
from ticketlab.lab.run_file import read_run_file
from ticketlab.notebook.entries import Entry, entry_of
from ticketlab.notebook.run_columns import seed_text
from ticketlab.notebook.sizes import sizes_in
from ticketlab.notebook.stages import StageLine, stages_of
from ticketlab.report.layout import EMPTY, cell_text

if TYPE_CHECKING:
    from rich.table import Table

KEY_DIGITS = 10


def facts(run: Path, results: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return what is known about a run, as pairs of a name and a text."""
    entry = entry_of(run)
    found = [("run", entry.name)]
    found += [("also called", ", ".join(entry.names))] if entry.names else []
    found += [("state", _state(entry)), ("recipe", entry.recipe), ("what differs", entry.differs or "nothing")]
    found += [("model", entry.model or EMPTY), ("scale", entry.scale or EMPTY), ("seeds", seed_text(entry.seeds))]
    if results is None:
        found += [("tasks", ", ".join(entry.tasks) or EMPTY)]
    else:
        found += [(f"data {name}", _data_text(about)) for name, about in results.get("data", {}).items()]
        found += [("precision", str(results.get("precision", EMPTY))), ("ticketlab", str(results.get("ticketlab", EMPTY)))]
    found += [("digest", entry.digest or EMPTY), ("folder", str(run)), ("size", quantities.size(entry.bytes))]
    return found


def facts_table(pairs: Sequence[tuple[str, str]]) -> Table:
    """Return the table of what is known about a run."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in pairs:
        table.add_row(cell_text(name), cell_text(text))
    return table


def stage_table(run: Path, results: Mapping[str, Any]) -> Table:
    """Return the table of a run's stages."""
    lines = stages_of(run, results)
    table = _table("Stages")
    several_tasks = len({line.task for line in lines}) > 1
    for head in (*(["Task"] if several_tasks else []), "Seed", "Stage", "Key"):
        table.add_column(head, justify="right" if head == "Seed" else "left", overflow="fold")
    for head in ("Seconds", "Size"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("From", overflow="fold")
    for line in lines:
        cells = [*([line.task] if several_tasks else []), line.seed, _stage_text(line), line.key[:KEY_DIGITS]]
        seconds = EMPTY if line.seconds is None else f"{line.seconds:,.1f}"
        table.add_row(*map(cell_text, [*cells, seconds, quantities.size(line.bytes), _origin(line)]))
    return table


def file_table(run: Path) -> Table:
    """Return the table of the files in a run's directory."""
    table = _table("Files")
    table.add_column("Name", overflow="fold")
    table.add_column("Size", justify="right", no_wrap=True)
    for path in _files(run):
        inside = sorted(path.iterdir()) if path.is_dir() else []
        name = f"{path.name}/ ({counted(len(inside), 'file')})" if path.is_dir() else path.name
        table.add_row(cell_text(name), quantities.size(_bytes(path)))
    return table


def as_json(run: Path, results: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return everything about a run as plain values; ``results`` are the content of its ``results.json``."""
    entry, run_file = entry_of(run), read_run_file(run)
    stages = [] if results is None else [{**attrs.asdict(line), "folder": str(_folder(run, line.key))} for line in stages_of(run, results)]
    return {
        "name": entry.name,
        "names": list(entry.names),
        "folder": str(run),
        "state": entry.state,
        "digest": entry.digest,
        "recipe": entry.recipe,
        "differs": entry.differs,
        "bytes": entry.bytes,
        "run_file": None if run_file is None else attrs.asdict(run_file),
        "stages": stages,
        "files": {path.name: _bytes(path) for path in _files(run)},
        "results": results,
    }


def _table(title: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=cell_text(title), box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.title_justify = "left"
    return table


def _state(entry: Entry) -> str:
    ago = f"{quantities.age(time.time() - entry.changed)} ago"
    if entry.state == "finished":
        return f"finished {ago}"
    lab = open_lab(lab_of_run(entry.folder))
    done = sum(lab.has(key) for key in entry.keys)
    progress = f", {done} of {counted(len(entry.keys), 'stage')} in the lab" if entry.keys else ""
    advice = {"unfinished": "; its command resumes it", "damaged": "; its command writes results.json again", "running": ""}
    return f"{entry.state}, last changed {ago}{progress}{advice[entry.state]}"


def _data_text(about: Mapping[str, Any]) -> str:
    rows = ", ".join(f"{number:,} {split}" for split, number in about["rows"].items())
    text = f"{rows}; texts from {', '.join(about['columns'])}; labels {', '.join(map(str, about['labels']))}"
    return f"{text}; {_shortcut_text(about['shortcut'])}" if "shortcut" in about else text


def _shortcut_text(shortcut: Mapping[str, Any]) -> str:
    rate = "at chance" if shortcut["rate"] is None else f"at the rate {shortcut['rate']:g}"
    shares = ", ".join(f"{100 * share:.1f} % of {split}" for split, share in shortcut["agreement"].items())
    return f"injected markers before {shortcut['column']} {rate}, which agree with the label in {shares}"


def _stage_text(line: StageLine) -> str:
    return line.stage if line.kind in line.stage else f"{line.stage} ({line.kind})"


def _origin(line: StageLine) -> str:
    texts = {
        "computed": "computed",
        "found": "found in the lab",
        "same": f"the same as {line.same_as}",
        "missing": "no longer in the lab",
    }
    return texts[line.origin]


def _folder(run: Path, key: str) -> Path:
    return stage_folder(lab_of_run(run), key)


def _files(run: Path) -> list[Path]:
    return sorted(path for path in run.iterdir() if not path.name.startswith("."))


def _bytes(path: Path) -> int:
    return sizes_in(path).total() if path.is_dir() else path.stat().st_size
