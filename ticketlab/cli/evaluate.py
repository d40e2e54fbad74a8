"""``ticketlab evaluate``: measure the accuracy of a finished model on unchanged texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ticketlab.cli import output, run_recipe, shared_options
from ticketlab.cli.command import Command


@click.command(
    cls=Command, epilog="Example: ticketlab evaluate ./my-model --task reviews.csv --label-map LABEL_0=neg --label-map LABEL_1=pos"
)
@click.argument("model")
@shared_options.OF_RUN
@shared_options.TASK
@shared_options.OOD
@shared_options.SPLIT
@shared_options.METRIC
@shared_options.LABEL_MAP
@shared_options.MAX_LENGTH
@shared_options.SET
@shared_options.RUN_NAME
@shared_options.OUTPUT
def evaluate(
    model: str,
    run_seed: int | None,
    run_task: str | None,
    tasks: Sequence[str],
    text_columns: Sequence[str],
    label_column: str | None,
    labels: Sequence[str],
    drop_labels: Sequence[str],
    ood: Sequence[str],
    ood_map: Sequence[str],
    split: str | None,
    metrics: Sequence[str],
    label_map: Sequence[str],
    max_length: int | None,
    sets: Sequence[str],
    name: str | None,
    lab: Path,
    as_json: bool,
    csv_file: Path | None,
) -> None:
    """Evaluate MODEL, a classifier: a folder, a model on the hub (owner/name), or a stage or run of a lab.

    A run is given by its name or directory, by the beginning of its name or digest, or by the name of its recipe for the latest run in
    --lab; `latest` is the latest of all. Without --task, its model is evaluated on the run's own task and challenge sets, read as in the
    run.

    --ood evaluates it on challenge sets as well, whose labels are matched with those of the task by name.
    """
    from ticketlab.lab.finished_runs import find_run
    from ticketlab.recipes.measured_model import choose_data, find_model
    from ticketlab.recipes.single_stage import one_stage
    from ticketlab.tasks.datasets.lookup import find_task

    measured = find_model(find_run(model, lab, "model"), seed=run_seed, task=run_task)
    chosen = shared_options.tasks_of(tasks, text_columns, label_column, labels, drop_labels)
    data = choose_data(measured, chosen, [find_task(value) for value in ood], ood_map, takes_ood=True)
    settings = shared_options.given(split=split, metrics=list(metrics) or None, label_map=list(label_map) or None)
    recipe = one_stage("evaluate", measured, data.tasks, settings, sets, max_length=max_length, ood=data.ood, ood_map=data.ood_map)
    run_recipe.check_csv(csv_file, [recipe], lab, name)
    done = run_recipe.run_in_lab(recipe, lab, name=name)
    data.warn_if_changed(done.results)
    rows = run_recipe.rows_of(done, label=measured.shown)
    if as_json:
        output.print_json(done.results)
    else:
        run_recipe.print_rows(rows, run_recipe.title_of(done, measured.shown), run_recipe.notes_of([done]))
    run_recipe.finish([done], csv_file, [measured.shown])
