"""``ticketlab run``: run a recipe from beginning to end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ticketlab.cli import executor_options, output, run_recipe, shared_options
from ticketlab.cli.completion import ComponentName, RecipeName
from ticketlab.cli.processes import PROCESSES, ParallelCommand
from ticketlab.core import ranks
from ticketlab.core.errors import UsageError

STAGES = ("finetune", "search", "retrain")
STAGE_SETTINGS = ("loss", "adversary", "task")
"""The stages with options of their own, and the settings that these options set."""
EPILOG = """\b
Examples:
  ticketlab run robust-ticket --task sst2 --model bert-base-uncased --sparsity 0.3 --attack textfooler --seeds 3
  ticketlab run early-robust --task sst2 --model bert-base-uncased --heads 1/6 --neurons 0.3 --seeds 3
  ticketlab run srnet --task mnli --ood hans --model bert-base-uncased --sparsity 0.5 --search-loss poe --seeds 4
  ticketlab run orticket --text articles.txt --task sst2 --model bert-base-uncased --attack textfooler
  ticketlab run --pruner hard-concrete --retrain-adversary freelb --task reviews.csv --model demo --scale small
  ticketlab run robust-ticket --task sst2 --set search.adversary.steps=3 --dry-run > mine.toml
"""


def _stage_options() -> list[shared_options.Decorator]:
    return [
        click.option(f"--{stage}-{kind}", type=ComponentName(kind), help=f"{kind.capitalize()} of the stage `{stage}`.")
        for stage in STAGES
        for kind in ("loss", "adversary")
    ] + [
        click.option(
            f"--{stage}-task", type=ComponentName("task"), metavar="NAME|PATH",
            help=f"Data of the stage `{stage}`, as for --task, if it is not that of the run.",
        )
        for stage in STAGES
    ]  # fmt: skip


@click.command(cls=ParallelCommand, epilog=EPILOG)
@click.argument("recipe", required=False, type=RecipeName())
@shared_options.TASK
@shared_options.OOD
@shared_options.SHORTCUT
@click.option("--model", metavar="NAME|FOLDER", help="Model to start from: a model on the hub (owner/name), a folder, a run, or `demo`.")
@shared_options.MAX_LENGTH
@shared_options.PRECISION
# ticketlab.recipes.overrides turns this option and the following ones into settings of the recipe's stages.
@click.option("--sparsity", metavar="RATIO", help="Fraction of the units that the ticket removes, such as 0.3 or 1/6.")
@click.option("--heads", metavar="RATIO", help="Fraction of attention heads to remove, instead of --sparsity.")
@click.option("--neurons", metavar="RATIO", help="Fraction of feed-forward neurons to remove, instead of --sparsity.")
@click.option(
    "--scope",
    type=click.Choice(["global", "local"]),
    help="Rank all units together (global), or those of each matrix or layer separately (local).",
)
@click.option(
    "--like", metavar="RUN|TICKET", help="Remove as many units of each matrix as this ticket, or as a run's ticket for the same seed."
)
@click.option("--pruner", type=ComponentName("pruner"), help="Pruner of the search: how it scores units.")
@click.option("--stop", type=ComponentName("stop rule"), help="Stop rule of the search, which may end it before its last epoch.")
@click.option("--text", metavar="FILE|FOLDER|NAME", help="Plain text for masked language modelling (`ticketlab show objective mlm`).")
@click.option("--loss", type=ComponentName("loss"), help="Loss of the search.")
@click.option("--adversary", type=ComponentName("adversary"), help="Adversary of the search.")
@click.option(
    "--bias", type=ComponentName("bias model"), metavar="NAME|FILE",
    help="Bias model for the losses that need one (`ticketlab show bias-model`), or a file of probabilities by example id.",
)  # fmt: skip
@shared_options.all_of(*_stage_options())
@click.option("--epochs", type=float, metavar="N", help="Epochs of every training: of fine-tuning, searches and retraining.")
@click.option("--lr", type=float, metavar="RATE", help="Peak learning rate of the weights in every training.")
@click.option("--batch-size", type=click.IntRange(min=1), metavar="N", help="Examples per optimizer step in every training.")
@click.option(
    "--attack", "attacks", multiple=True, type=ComponentName("attack"), help="Attack to run; may be repeated. `none` runs no attack."
)
@shared_options.ATTACKED
@shared_options.METRIC
@shared_options.RESOURCES
@click.option("--scale", metavar="NAME", help="Scale of the recipe; `small` runs in minutes on two cores.")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Run this seed only.")
@click.option(
    "--seeds",
    type=shared_options.SeedCount(),
    metavar="N",
    help="Run the seeds 0 to N-1, and report mean and standard deviation.",
)
@shared_options.SET
@executor_options.EXECUTOR
@PROCESSES
@shared_options.RUN_NAME
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the resolved recipe as TOML, check what it refers to, report which stages are in the lab, and stop.",
)
@shared_options.OUTPUT
def run(
    recipe: str | None,
    tasks: Sequence[str],
    text_columns: Sequence[str],
    label_column: str | None,
    labels: Sequence[str],
    drop_labels: Sequence[str],
    scale: str | None,
    seed: int | None,
    seeds: int | None,
    sets: Sequence[str],
    jobs: int | None,
    executor: str | None,
    executor_sets: Sequence[str],
    name: str | None,
    processes: int,
    dry_run: bool,
    lab: Path,
    as_json: bool,
    csv_file: Path | None,
    **options: Any,
) -> None:
    """Run RECIPE, a name (`ticketlab recipes`) or a TOML file. Without RECIPE: fine-tune, search, draw, retrain, evaluate and attack.

    Stages whose results are in the lab are not computed again. After Ctrl-C or a crash, the same command resumes the run.
    """
    from ticketlab.lab.finished_models import resolve
    from ticketlab.lab.finished_runs import find_run
    from ticketlab.recipes.compose import compose
    from ticketlab.studies.read_definition import is_study_file

    if ranks.follows() and not dry_run:
        sys.exit(run_recipe.follow())
    if seed is not None and seeds is not None:
        raise UsageError("--seed N runs the seed N and --seeds N runs the seeds 0 to N-1: give only one of the two")
    if recipe is not None and is_study_file(recipe):
        raise UsageError(f"{recipe}: a study, not a recipe; `ticketlab ablate {recipe}` runs it")
    named = {stage: shared_options.given(**{kind: options.pop(f"{stage}_{kind}") for kind in STAGE_SETTINGS}) for stage in STAGES}
    if options["model"]:
        options["model"] = resolve(find_run(options["model"], lab, "model"))
    if options["like"]:
        options["like"] = find_run(options["like"], lab, "draw")
    chosen = executor_options.executor_of(executor, executor_sets) if executor or executor_sets else None
    composed = compose(
        recipe,
        tasks=shared_options.tasks_of(tasks, text_columns, label_column, labels, drop_labels),
        scale=scale,
        seeds=[seed] if seed is not None else range(seeds) if seeds is not None else None,
        sets=sets,
        stages={stage: settings for stage, settings in named.items() if settings},
        **shared_options.given(**options),
    )
    if dry_run:
        if as_json or csv_file is not None:
            raise UsageError(f"{'--json' if as_json else '--csv'}: --dry-run computes no numbers, and prints the recipe as TOML")
        run_recipe.print_plan(composed, lab)
        return
    run_recipe.check_csv(csv_file, [composed], lab, name)
    if chosen is None and jobs is None:
        done = run_recipe.lead(composed, lab, name=name)
    else:
        done = run_recipe.run_by_executor(composed, lab, name=name, executor=chosen, jobs=jobs)
    rows = run_recipe.rows_of(done)
    if as_json:
        output.print_json(done.results)
    else:
        run_recipe.print_rows(rows, run_recipe.title_of(done), run_recipe.notes_of([done]))
    run_recipe.finish([done], csv_file)
