"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ticketlab.cli.completion import ComponentName
from ticketlab.cli.path_types import Place
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from ticketlab.tasks.base import Task

Decorator = Callable[[Any], Any]


def all_of(*decorators: Decorator) -> Decorator:
    """Return one decorator for several, first shown first."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
SET = click.option(
    "--set", "sets", multiple=True, metavar="PATH=VALUE", help="Any setting, such as search.pruner.lr=0.05; may be repeated."
)
LAB = click.option(
    "--lab", type=Place(file_okay=False), envvar="TICKETLAB_LAB", default=Path("lab"), show_default=True,
    help="Directory of all results; what is there is not computed again. [env: TICKETLAB_LAB]",
)  # fmt: skip


def _free_for_numbers(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        from ticketlab.report.csv_file import check_place

        check_place(path)
    return path


CSV = click.option(
    "--csv",
    "csv_file",
    type=Place(dir_okay=False),
    callback=_free_for_numbers,
    help="Also write the numbers to this csv file.",
)
OUTPUT = all_of(LAB, JSON, CSV)
TASK = all_of(
    click.option(
        "--task", "tasks", multiple=True, type=ComponentName("task"), metavar="NAME|PATH",
        help="A data set by name (`ticketlab show task`), a csv, tsv, jsonl, parquet or arrow file or a folder of them, or a data set of "
        "the hub as OWNER/NAME or OWNER/NAME:CONFIG; may be repeated. "
        "Columns and labels are inferred where only one reading is possible.",
    ),
    click.option("--text-column", "text_columns", multiple=True, metavar="COLUMN", help="Column of the text; twice for pairs."),
    click.option("--label-column", metavar="COLUMN", help="Column of the label."),
    click.option("--labels", "--label", "labels", multiple=True, metavar="NAME", help="A label name; one for each, in order."),
    click.option(
        "--drop-label", "drop_labels", multiple=True, metavar="NAME",
        help="Leave out the rows with this label, such as -1; may be repeated.",
    ),
)  # fmt: skip
OOD = all_of(
    click.option(
        "--ood", multiple=True, type=ComponentName("task"), metavar="NAME|PATH",
        help="A challenge set to evaluate on as well, out of distribution: a data set as for --task; may be repeated.",
    ),
    click.option(
        "--ood-map", multiple=True, metavar="TASK=OOD",
        help="Which label of a challenge set a label of the task is, if named otherwise: neutral=non-entailment; may be repeated.",
    ),
)  # fmt: skip
RESOURCES = all_of(
    click.option("--word-vectors", metavar="FILE", help="Word vectors for attacks that need them (`ticketlab doctor` shows what is here)."),
    click.option("--encoder", metavar="NAME|FOLDER", help="Sentence encoder for attacks that need one."),
    click.option("--mlm", metavar="NAME|FOLDER", help="Masked language model for attacks that need one: also a stage or run of a lab."),
)
ATTACKED = click.option("--n", "examples", type=click.IntRange(min=1), metavar="N", help="Size of the sample to attack.")
MAX_LENGTH = click.option("--max-length", type=int, metavar="TOKENS", help="Longest input in tokens.")
PRECISION = click.option("--precision", type=click.Choice(["auto", "fp32", "bf16"]), help="Number format of training and search.")
LABEL_MAP = click.option(
    "--label-map", multiple=True, metavar="MODEL=TASK", help="Which label of the task a label of the model is, if named otherwise."
)
SPLIT = click.option("--split", type=click.Choice(["test", "dev", "train", "all"]), help="Which examples.  [default: test]")


def tasks_of(
    values: Sequence[str], text_columns: Sequence[str], label_column: str | None, labels: Sequence[str], drop_labels: Sequence[str]
) -> list[Task]:
    """Return the tasks that the options of :data:`TASK` mean.

    :raises UsageError: no such task, or columns without a task.
    """
    from ticketlab.tasks.datasets.lookup import find_task

    if not values and (text_columns or label_column or labels or drop_labels):
        raise UsageError("--text-column, --label-column, --labels and --drop-label say how to read a file: name it with --task")
    return [find_task(value, text_columns, label_column, labels, drop_labels) for value in values]


def given(**values: Any) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in values.items() if value not in (None, ())}
