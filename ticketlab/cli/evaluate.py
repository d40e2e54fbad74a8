"""``ticketlab evaluate``: measure the accuracy of a finished model on unchanged texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ticketlab.cli import run_recipe, shared_options
from ticketlab.cli.command import Command


@click.command(
    cls=Command, epilog="Example: ticketlab evaluate ./my-model --task reviews.csv --label-map LABEL_0=neg --label-map LABEL_1=pos"
)
@click.argument("model")
@shared_options.TASK
@shared_options.OOD
@shared_options.SPLIT
@shared_options.LABEL_MAP
@shared_options.MAX_LENGTH
@shared_options.SET
@shared_options.OUTPUT
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

    The name of a recipe stands for its latest run in --lab, and `latest` for the latest run of all.

    --ood evaluates it on challenge sets as well, whose labels are matched with those of the task by name.
    """
    from ticketlab.lab.finished_models import display_name
    from ticketlab.lab.finished_runs import find_run
    from ticketlab.recipes.single_stage import one_stage
    from ticketlab.tasks.datasets.lookup import find_task

    model = find_run(model, lab, "model")
    challenge_sets = [find_task(value) for value in ood]
    chosen = shared_options.tasks_of(tasks, text_columns, label_column, labels, drop_labels)
    settings = shared_options.given(split=split, label_map=list(label_map) or None)
    recipe = one_stage("evaluate", model, chosen, settings, sets, max_length=max_length, ood=challenge_sets, ood_map=ood_map)
    run_recipe.check_csv(csv_file, [recipe])
    done = run_recipe.run_in_lab(recipe, lab)
    shown = display_name(model)
    rows = run_recipe.rows_of(done, label=shown)
    if as_json:
        run_recipe.print_json(done.results)
    else:
        run_recipe.print_rows(rows, run_recipe.title_of(done, shown), run_recipe.notes_of([done]))
    run_recipe.finish([done], rows, csv_file)
