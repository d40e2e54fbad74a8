"""``ticketlab evaluate``: clean accuracy of a finished model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ticketlab.cli import flags, running
from ticketlab.cli.command import Command


@click.command(
    cls=Command, epilog="Example: ticketlab evaluate ./my-model --task reviews.csv --label-map LABEL_0=neg --label-map LABEL_1=pos"
)
@click.argument("model")
@flags.TASK
@flags.OOD
@flags.SPLIT
@flags.LABEL_MAP
@flags.MAX_LENGTH
@flags.SET
@flags.OUTPUT
def evaluate(
    model: str,
    tasks: Sequence[str],
    text_columns: Sequence[str],
    label_column: str | None,
    labels: Sequence[str],
    drop_labels: Sequence[str],
    ood: Sequence[str],
    ood_map: Sequence[str],
    split: str | None,
    label_map: Sequence[str],
    max_length: int | None,
    sets: Sequence[str],
    lab: Path,
    as_json: bool,
    csv_file: Path | None,
) -> None:
    """Evaluate MODEL, a classifier: a folder, a model on the hub (owner/name), or a stage or run of a lab.

    The name of a recipe means its latest run in --lab, and `latest` the latest of all.

    With --ood it is evaluated on challenge sets too, in which the labels of the task are found by name.
    """
    from ticketlab.lab.finished import called, one_stage
    from ticketlab.lab.latest import run_of
    from ticketlab.tasks.choose import choose

    model = run_of(model, lab, "model")
    others = [choose(value) for value in ood]
    chosen = flags.tasks_of(tasks, text_columns, label_column, labels, drop_labels)
    settings = flags.given(split=split, label_map=list(label_map) or None)
    recipe = one_stage("evaluate", model, chosen, settings, sets, max_length=max_length, ood=others, ood_map=ood_map)
    running.check_csv(csv_file, [recipe])
    done = running.run_in_lab(recipe, lab)
    shown = called(model)
    rows = running.rows_of(done, label=shown)
    if as_json:
        running.print_json(done.results)
    else:
        running.print_rows(rows, running.title_of(done, shown), running.notes_of([done]))
    running.finish([done], rows, csv_file)
