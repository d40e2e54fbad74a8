"""``ticketlab attack show``: show what an attack did to each text, with the changed words marked. Any text can be shown."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from ticketlab.attacks.results import caveats, diff, metrics, record_file
from ticketlab.attacks.results.record import STATUSES, Record
from ticketlab.cli import output, run_recipe, shared_options
from ticketlab.cli.attack.find_records import record_files
from ticketlab.cli.command import Command
from ticketlab.cli.path_types import PathType
from ticketlab.core import progress
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.formatting import counted
from ticketlab.core.formatting import printable as shown_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

DEFAULT_EXAMPLES = 20
STYLES = {"same": "", "removed": "red strike", "added": "green bold"}
MARKS = {"same": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}
"""Marks around changed words without colours."""
LINE_BREAKS = re.compile(r"[\n\r\t]")
STATUS_STYLES = {"success": "red", "failed": "green", "skipped": "dim", "error": "yellow", "timeout": "yellow"}


@click.command(cls=Command, epilog="Example: ticketlab attack show records.jsonl --status success --n 5")
@click.argument("file", type=PathType())
@shared_options.OF_RUN
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Only examples with this status; may be repeated.")
@click.option("--id", "ids", multiple=True, metavar="ID", help="Only this example; may be repeated.")
@click.option(
    "--n",
    "most",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Show at most this many examples.  [default: {DEFAULT_EXAMPLES}; all with --json]",
)
@click.option("--attack", metavar="NAME", help="Only the records of this attack, if FILE has several.")
@click.option("--encoder", metavar="NAME|FOLDER", help="Measure similarity with this sentence encoder.")
@shared_options.LAB
@shared_options.JSON
def show(
    file: Path,
    run_seed: int | None,
    run_task: str | None,
    statuses: Sequence[str],
    ids: Sequence[str],
    most: int | None,
    attack: str | None,
    encoder: str | None,
    lab: Path,
    as_json: bool,
) -> None:
    """Show the numbers of an attack, then what it changed in each text.

    FILE is a file of records, the folder of an attack stage, or a run: given by its name or directory, by the beginning of its name or
    digest, or by the name of its recipe for the latest run in --lab with an attack; `latest` is the latest of all.

    Removed words are red and struck through, added words are green; without colours they are marked [-removed-] and {+added+}.
    """
    path = _file_of_attack(file, record_files(file, lab, run_task, run_seed), attack)
    header, rows = record_file.read(path)
    if encoder is not None:
        rows = _with_similarity(rows, encoder)
        header = {**header, "similarity_encoder": encoder}
    chosen = _chosen(path, rows, statuses, ids)
    measured = metrics.measure(rows, query_budget=_query_budget(header)).to_table()
    if as_json:
        shown = [_json_record(header, record) for record in chosen[:most]]
        found = {
            "file": str(path),
            "header": _without_surrogates(header),
            "metrics": measured,
            "notes": _notes(header, path, rows),
            "records": shown,
        }
        output.print_json(found)
        return
    _print_numbers(header, path, rows, measured)
    console = output.open_console()
    for record in chosen[: most or DEFAULT_EXAMPLES]:
        _print(console, header, record)
    if statuses and not chosen:
        progress.say(f"no example to show has the status {' or '.join(statuses)}; of all {len(rows)}: {_counts(rows)}")
    left = len(chosen) - (most or DEFAULT_EXAMPLES)
    if left > 0:
        progress.say(f"{left} more: --n {len(chosen)} shows all; --status and --id filter them")


def _file_of_attack(file: Path, candidates: Sequence[Path], attack: str | None) -> Path:
    by_attack: dict[str, list[Path]] = {}
    for path in candidates:
        by_attack.setdefault(str(record_file.read(path)[0].get("attack")), []).append(path)
    names = ", ".join(by_attack)
    if attack is not None and attack not in by_attack:
        raise UsageError(f"{file}: no records of the attack `{attack}`{did_you_mean(attack, by_attack)}")
    found = [path for name, paths in by_attack.items() if attack in (None, name) for path in paths]
    if len(found) == 1:
        return found[0]
    if len(by_attack) > 1 and attack is None:
        raise UsageError(f"{file}: records of several attacks; select one with --attack: {names}")
    places = ", ".join(map(_short, found))
    raise UsageError(f"{file}: {len(found)} files of records; select one with --run-seed and --run-task, or name one of {places}")


def _short(path: Path) -> str:
    """Return a path, relative to the working directory if that is shorter."""
    return min(str(path), os.path.relpath(path), key=len)


def _chosen(path: Path, rows: Sequence[Record], statuses: Sequence[str], ids: Sequence[str]) -> list[Record]:
    known = {record.id for record in rows}
    for name in ids:
        if name not in known:
            raise UsageError(f"{path}: no example has the id `{name}`{did_you_mean(name, sorted(known)[:50])}")
    return [record for record in rows if (not ids or record.id in ids) and (not statuses or record.status in statuses)]


def _with_similarity(rows: Sequence[Record], encoder: str) -> list[Record]:
    from ticketlab.attacks.results.similarity import find_encoder, with_similarity
    from ticketlab.resources.resources import FLAGS

    found = find_encoder(encoder, FLAGS["encoder"])
    return with_similarity(rows, found.load_encoder()) if found else list(rows)


def _print_numbers(header: Mapping[str, Any], path: Path, rows: Sequence[Record], measured: Mapping[str, Any]) -> None:
    """Print the table of the attack, as ``ticketlab attack`` does."""
    from ticketlab.report.rows import result_rows

    sample = header.get("sample")
    size = sample.get("size") if isinstance(sample, Mapping) else None
    if isinstance(size, int) and size > len(rows):
        progress.say(f"{path}: {len(rows)} of {counted(size, 'example')} so far")
    model, task, attack = (str(header.get(name) or other) for name, other in (("model", path.name), ("task", "-"), ("attack", path.stem)))
    split = {"split": str(sample["split"])} if isinstance(sample, Mapping) and "split" in sample else {}
    stage = {"kind": "attack", "of": model, "attacks": {attack: measured}, "sample": split}
    results = {"recipe": model, "model": model, "scale": "", "seeds": [0], "tasks": {task: {"0": {"attack": stage}}}}
    run_recipe.print_rows(result_rows(results), f"{attack} on {task}: {_counts(rows)}", _notes(header, path, rows))


def _notes(header: Mapping[str, Any], path: Path, rows: Sequence[Record]) -> list[str]:
    """Return the caveats about the numbers, as ``ticketlab attack`` prints them."""
    labels = header.get("labels")
    return caveats.caveats_of(
        str(header.get("attack") or path.stem),
        rows,
        [str(label) for label in labels] if isinstance(labels, list) else sorted({record.label for record in rows}),
        query_budget=_query_budget(header),
        uses_resources=bool(header.get("resources")),
    )


def _query_budget(header: Mapping[str, Any]) -> int | None:
    settings = header.get("settings")
    budget = settings.get("query_budget") if isinstance(settings, Mapping) else None
    return budget if isinstance(budget, int) else None


def _counts(rows: Sequence[Record]) -> str:
    return ", ".join(f"{sum(record.status == status for record in rows)} {status}" for status in STATUSES)


def _print(console: Console, header: Mapping[str, Any], record: Record) -> None:
    """Print a record; if its difference cannot be computed, print the raw texts."""
    try:
        lines = [_heading(record), *_texts(header, record, colours=_has_colours(console))]
    except Exception as problem:
        from rich.text import Text

        plain = f"{record.id} {record.status}: {list(record.original)} -> {list(record.perturbed)} ({type(problem).__name__}: {problem})"
        lines = [Text(_printable(plain))]
    for line in lines:
        line.plain = line.plain.encode(console.encoding, "replace").decode(console.encoding)
        console.print(line, soft_wrap=True)
    console.print()


def _heading(record: Record) -> Text:
    from rich.text import Text

    line = Text.assemble((_printable(record.id), "bold"), "  ")
    line.append(record.status, STATUS_STYLES[record.status]).append(f"  {_printable(record.label)}")
    if record.predicted_before is not None:
        before, after = (_printable(name or "") for name in (record.predicted_before, record.predicted_after))
        line.append(f", predicted {before}" if record.status == "skipped" else f", predicted {before} -> {after}")
    if record.confidence_before is not None and record.confidence_after is not None and record.status != "skipped":
        line.append(f" (probability of the label {100 * record.confidence_before:.1f} % -> {100 * record.confidence_after:.1f} %)")
    if record.status in ("success", "failed"):
        line.append(f", {counted(record.queries, 'query', 'queries')}, {record.words_changed} of {counted(record.words_total, 'word')}")
    if record.truncated:
        line.append(", the model sees only the beginning")
    if record.message:
        line.append(f": {_printable(record.message)}")
    return line


def _texts(header: Mapping[str, Any], record: Record, *, colours: bool) -> list[Text]:
    from rich.text import Text

    lines = []
    for name, parts in diff.text_diffs(header, record):
        line = Text.assemble((f"  {_printable(name)}: ", "dim"))
        for piece, after in itertools.zip_longest(parts, parts[1:]):
            opening, closing = ("", "") if colours else MARKS[piece.kind]
            words = _printable(piece.text)
            space = words[len(words.rstrip()) :]
            if piece.kind == "removed" and after is not None and after.kind == "added":
                space = " " if colours else ""
            line.append(f"{opening}{words.rstrip()}{closing}", STYLES[piece.kind]).append(space)
        lines.append(line)
    return lines


def _json_record(header: Mapping[str, Any], record: Record) -> dict[str, Any]:
    words = {name: [{piece.kind: piece.text} for piece in parts] for name, parts in diff.text_diffs(header, record)}
    readable: dict[str, Any] = _without_surrogates({**attrs.asdict(record), "words": words})
    return readable


def _without_surrogates(value: Any) -> Any:
    """Return a value without lone surrogates, which cannot be encoded."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, (list, tuple)) else value


def _printable(text: str) -> str:
    """Return a text with control characters escaped and line breaks as spaces."""
    return shown_text(LINE_BREAKS.sub(" ", text))


def _has_colours(console: Console) -> bool:
    return console.is_terminal and console.color_system is not None and not console.no_color
