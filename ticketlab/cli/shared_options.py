"""Options that several commands share, and the values that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ticketlab.cli.completion import ComponentName
from ticketlab.cli.path_types import LabType, PathType
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import joined, verb

if TYPE_CHECKING:
    from ticketlab.studies.part import Part
    from ticketlab.tasks.base import Task

MAX_SEEDS = 1000
Decorator = Callable[[Any], Any]


def all_of(*decorators: Decorator) -> Decorator:
    """Combine decorators into one; help texts list their options in this order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


class SeedCount(click.IntRange):
    """A number of seeds, which begin with 0."""

    def __init__(self) -> None:
        super().__init__(min=1, max=MAX_SEEDS)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. A list or range of seeds is an error that says what the number means."""
        if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
            self.fail(f"{value!r} is not a number of seeds; 3 runs the seeds 0, 1 and 2", param, ctx)
        return super().convert(value, param, ctx)


JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
SET = click.option(
    "--set", "sets", multiple=True, metavar="PATH=VALUE", help="Change any setting, such as search.pruner.lr=0.05; may be repeated."
)
LAB = click.option(
    "--lab", type=LabType(), envvar="TICKETLAB_LAB", default=Path("lab"), show_default=True,
    help="Directory or URL (s3://bucket/lab) of all results; results found there are not computed again.  [env: TICKETLAB_LAB]",
)  # fmt: skip


def _check_csv_path(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        from ticketlab.report.numbers_file import check_numbers_path

        check_numbers_path(path)
    return path


CSV = click.option(
    "--csv",
    "csv_file",
    type=PathType(dir_okay=False),
    callback=_check_csv_path,
    help="Also write all numbers, of each seed and of each evaluation during training, to this csv or .parquet file.",
)
OUTPUT = all_of(LAB, JSON, CSV)
TASK = all_of(
    click.option(
        "--task", "tasks", multiple=True, type=ComponentName("task"), metavar="NAME|PATH",
        help="Data set: a name (`ticketlab show task`), a csv, tsv, jsonl, parquet or arrow file, a folder of such files, or a data set of "
        "the hub as OWNER/NAME or OWNER/NAME:CONFIG; may be repeated. Columns and labels are inferred unless they are ambiguous.",
    ),
    click.option("--text-column", "text_columns", multiple=True, metavar="COLUMN", help="Column of the text; give it twice for pairs."),
    click.option("--label-column", metavar="COLUMN", help="Column of the label."),
    click.option("--labels", "--label", "labels", multiple=True, metavar="NAME", help="Name of a label; give one per label, in order."),
    click.option(
        "--drop-label", "drop_labels", multiple=True, metavar="NAME",
        help="Drop the rows with this label, such as -1; may be repeated.",
    ),
)  # fmt: skip
OOD = all_of(
    click.option(
        "--ood", multiple=True, type=ComponentName("task"), metavar="NAME|PATH",
        help="Challenge set (out of distribution) to evaluate on as well: a data set, as for --task; may be repeated.",
    ),
    click.option(
        "--ood-map", multiple=True, metavar="TASK=OOD",
        help="Label of a challenge set for a label of the task, if their names differ: neutral=non-entailment; may be repeated.",
    ),
)  # fmt: skip
SHORTCUT = click.option(
    "--shortcut", metavar="RATE",
    help="Inject a shortcut into the texts of every task: a marker word that is that of the label in this share of the examples, such as "
    "0.9. The models are also evaluated on test texts with markers at chance.",
)  # fmt: skip
RESOURCES = all_of(
    click.option(
        "--word-vectors", metavar="FILE", help="Word vectors for attacks that need them (`ticketlab doctor` shows what is available)."
    ),
    click.option("--encoder", metavar="NAME|FOLDER", help="Sentence encoder for attacks that need one."),
    click.option(
        "--mlm", metavar="NAME|FOLDER", help="Masked language model for attacks that need one; may also be a stage or run of a lab."
    ),
)
ATTACKED = click.option("--n", "examples", type=click.IntRange(min=1), metavar="N", help="Number of examples to attack.")
METRIC = click.option(
    "--metric", "metrics", multiple=True, type=ComponentName("metric"), help="Further metric to compute; may be repeated."
)
MAX_LENGTH = click.option("--max-length", type=int, metavar="TOKENS", help="Maximum input length in tokens; longer texts are truncated.")
PRECISION = click.option(
    "--precision",
    type=click.Choice(["auto", "fp32", "bf16"]),
    help="Number format of training and search; `auto` is bf16 where it is faster.",
)
LABEL_MAP = click.option(
    "--label-map",
    multiple=True,
    metavar="MODEL=TASK",
    help="Label of the task for a label of the model, if their names differ; may be repeated.",
)
RUN_NAME = click.option(
    "--name", metavar="NAME", help="Name of the run and of its directory in the lab, instead of one made from the recipe."
)
RUN_SEED = click.option("--run-seed", type=click.IntRange(min=0), metavar="N", help="If a run is given: the seed to use.")
RUN_TASK = click.option("--run-task", metavar="TASK", help="If a run is given: the task to use, if it has several.")
OF_RUN = all_of(RUN_SEED, RUN_TASK)


def _parse_part(_: click.Context, __: click.Parameter, text: str | None) -> Part | None:
    from ticketlab.studies.part import Part

    return None if text is None else Part.parse(text)


PART = click.option(
    "--part",
    metavar="I/N",
    callback=_parse_part,
    help="Compute one of N parts of the study, for the jobs of a job array: the I-th, counted from 1. The last one to end has the table.",
)
SPLIT = click.option("--split", type=click.Choice(["test", "dev", "train", "all"]), help="Split to use.  [default: test]")


def tasks_of(
    values: Sequence[str], text_columns: Sequence[str], label_column: str | None, labels: Sequence[str], drop_labels: Sequence[str]
) -> list[Task]:
    """Return the tasks that the options of :data:`TASK` describe.

    :raises UsageError: a task is unknown, or columns or labels are given without a task.
    """
    from ticketlab.tasks.datasets.lookup import find_task

    about = {"--text-column": text_columns, "--label-column": label_column, "--labels": labels, "--drop-label": drop_labels}
    flags = [flag for flag, value in about.items() if value]
    if flags and not values:
        raise UsageError(f"{joined(flags)}: {verb(len(flags), 'says', 'say')} how to read a data set: name it with --task")
    return [find_task(value, text_columns, label_column, labels, drop_labels) for value in values]


def given(**values: Any) -> dict[str, Any]:
    """Return the options that were given on the command line."""
    return {name: value for name, value in values.items() if value not in (None, ())}
