"""``ticketlab run``: a recipe from beginning to end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ticketlab.cli import run_recipe, shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.completion import ComponentName, RecipeName
from ticketlab.core.errors import UsageError

STAGES = ("finetune", "search", "retrain")
MOST_SEEDS = 1000
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
    ]


@click.command(cls=Command, epilog=EPILOG)
@click.argument("recipe", required=False, type=RecipeName())
@shared_options.TASK
@shared_options.OOD
@click.option("--model", metavar="NAME|FOLDER", help="A model on the hub, a local folder, a run, or `demo`.")
@shared_options.MAX_LENGTH
@shared_options.PRECISION
@click.option("--sparsity", metavar="RATIO", help="Part of the units that a ticket leaves out: 0.3, or 1/6.")
@click.option("--heads", metavar="RATIO", help="The same for attention heads alone, instead of --sparsity.")
@click.option("--neurons", metavar="RATIO", help="The same for feed-forward neurons alone, instead of --sparsity.")
@click.option("--scope", type=click.Choice(["global", "local"]), help="Rank all units together, or those of each matrix or layer apart.")
@click.option(
    "--like", metavar="RUN|TICKET", help="Leave out as many units of each matrix as this ticket does, or a run's ticket for the same seed."
)
@click.option("--pruner", type=ComponentName("pruner"), help="How the search scores units.")
@click.option("--stop", type=ComponentName("stop rule"), help="The rule that may end the search before its last epoch.")
@click.option("--text", metavar="FILE|FOLDER|NAME", help="Plain text for masked language modelling (`ticketlab show objective mlm`).")
@click.option("--loss", type=ComponentName("loss"), help="Loss of the search.")
@click.option("--adversary", type=ComponentName("adversary"), help="Adversary of the search.")
@click.option(
    "--bias", type=ComponentName("bias model"), metavar="NAME|FILE",
    help="Bias model of the losses that need one (`ticketlab show bias-model`), or a file of probabilities by example id.",
)  # fmt: skip
@shared_options.all_of(*_stage_options())
@click.option(
    "--attack", "attacks", multiple=True, type=ComponentName("attack"), help="Attack with this; may be repeated. `none` for no attack."
)
@shared_options.ATTACKED
@shared_options.RESOURCES
@click.option("--scale", metavar="NAME", help="Fit the recipe to less time: `small` is for minutes on two cores.")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Run this seed.")
@click.option(
    "--seeds", type=click.IntRange(min=1, max=MOST_SEEDS), metavar="N", help="Run the seeds 0 to N-1, and show mean and deviation."
)
@shared_options.SET
@click.option("--dry-run", is_flag=True, help="Print the resolved recipe as TOML, check what it names, say what is in the lab, and stop.")
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
    dry_run: bool,
    lab: Path,
    as_json: bool,
    csv_file: Path | None,
    **options: Any,
) -> None:
    """Run RECIPE, a name (`ticketlab recipes`) or a TOML file; without one: fine-tune, search, draw, retrain, evaluate, attack.

    Stages whose results are in the lab are not computed again. After Ctrl-C or a crash the same command goes on where it was.
    """
    from ticketlab.lab.finished_models import resolve
    from ticketlab.recipes.compose import compose

    if seed is not None and seeds is not None:
        raise UsageError("--seed is one seed and --seeds N the seeds 0 to N-1: give one of the two")
    named = {stage: shared_options.given(**{kind: options.pop(f"{stage}_{kind}") for kind in ("loss", "adversary")}) for stage in STAGES}
    if options["model"]:
        options["model"] = resolve(options["model"])
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
        run_recipe.print_plan(composed, lab)
        return
    run_recipe.check_csv(csv_file, [composed])
    done = run_recipe.run_in_lab(composed, lab)
    rows = run_recipe.rows_of(done)
    if as_json:
        run_recipe.print_json(done.results)
    else:
        run_recipe.print_rows(rows, run_recipe.title_of(done), run_recipe.notes_of([done]))
    run_recipe.finish([done], rows, csv_file)
