"""``ticketlab attack MODEL``: a finished model under text attacks."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
from attrs import evolve

from ticketlab.attacks.results.records import file_name, is_records, path_in, read
from ticketlab.cli import run_recipe, shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.completion import ComponentName
from ticketlab.cli.default_command import SameName
from ticketlab.cli.path_types import Place
from ticketlab.core import files
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from ticketlab.recipes.recipe import Recipe
    from ticketlab.runs.run import Run
    from ticketlab.stages.attack import AttackStage


class _Attack(Command):
    context_class = SameName


@click.command(cls=_Attack, epilog="Example: ticketlab attack ./my-model --task sst2 --attack deepwordbug --n 100 --out records.jsonl")
@click.argument("model")
@shared_options.TASK
@click.option("--attack", "attacks", multiple=True, required=True, type=ComponentName("attack"), help="The attack; may be repeated.")
@shared_options.ATTACKED
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Picks the examples, and seeds the attack of each.",
)
@shared_options.SPLIT
@shared_options.LABEL_MAP
@shared_options.RESOURCES
@click.option("--query-budget", type=click.IntRange(min=1), metavar="N", help="Give up on an example after so many queries.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Give up on an example after so long.")
@click.option("--in-flight", type=click.IntRange(min=1), metavar="N", help="Examples attacked at once in one process.  [default: 64]")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes; on GPUs they take them in turn.  [default: one a core, or one on a GPU]",
)
@click.option(
    "--precision",
    type=click.Choice(["fp32", "bf16"]),
    help="Number format of the model under attack and of those that the attack needs.  [default: fp32]",
)
@shared_options.MAX_LENGTH
@click.option("--out", type=Place(dir_okay=False), help="Copy the records here, one JSON line per example.")
@shared_options.SET
@shared_options.OUTPUT
def run(
    model: str,
    tasks: Sequence[str],
    text_columns: Sequence[str],
    label_column: str | None,
    labels: Sequence[str],
    drop_labels: Sequence[str],
    attacks: Sequence[str],
    examples: int | None,
    seed: int,
    split: str | None,
    label_map: Sequence[str],
    word_vectors: str | None,
    encoder: str | None,
    mlm: str | None,
    query_budget: int | None,
    timeout: float | None,
    in_flight: int | None,
    workers: int | None,
    precision: str | None,
    max_length: int | None,
    out: Path | None,
    sets: Sequence[str],
    lab: Path,
    as_json: bool,
    csv_file: Path | None,
) -> None:
    """Attack MODEL, a classifier: a folder, a model on the hub (owner/name), or a stage or run of a lab.

    The name of a recipe means its latest run in --lab, and `latest` the latest of all.

    Records are written to the lab as they come: after an interruption the same command continues with the examples that are left. They do
    not depend on --in-flight and --workers. In the end they are copied to --out, which replaces no file that holds others; several
    attacks or tasks go to several files beside it, with their names in the file's. A folder that is called like a command below is
    written ./show.
    """
    from ticketlab.lab.finished_models import display_name
    from ticketlab.lab.finished_runs import find_run
    from ticketlab.recipes.compose import attack_tables
    from ticketlab.recipes.single_stage import one_stage

    model = find_run(model, lab, "model")
    asked = shared_options.given(word_vectors=word_vectors, encoder=encoder, mlm=mlm, query_budget=query_budget)
    settings = {"attacks": attack_tables([{"name": name} for name in attacks], asked), "sample_seed": seed}
    settings |= shared_options.given(examples=examples, split=split, label_map=list(label_map) or None)
    settings |= shared_options.given(timeout=timeout, in_flight=in_flight, workers=workers, precision=precision)
    chosen = shared_options.tasks_of(tasks, text_columns, label_column, labels, drop_labels)
    recipe = _each_alone(one_stage("attack", model, chosen, settings, sets, max_length=max_length))
    targets = _targets(recipe, out) if out is not None else {}
    for target in targets.values():
        _check_place(target)
    run_recipe.check_csv(csv_file, [recipe])
    done = run_recipe.run_in_lab(recipe, lab, starting=lambda task, stage, key: _check_free(targets.get((task, stage)), key))
    shown = display_name(model)
    rows = run_recipe.rows_of(done, label=shown)
    if as_json:
        run_recipe.print_json(done.results)
    else:
        run_recipe.print_rows(rows, run_recipe.title_of(done, shown), run_recipe.notes_of([done]))
    for (task, stage), target in targets.items():
        files.write_atomic(target, functools.partial(shutil.copyfile, _records(done, lab, task, stage)))
    run_recipe.finish([done], rows, csv_file)


def _each_alone(recipe: Recipe) -> Recipe:
    """Return the recipe with a stage for each attack: what is in the lab of one stays valid when another is added."""
    stage = cast("AttackStage", recipe.stages["attack"])
    if len(stage.attacks) == 1:
        return recipe
    return evolve(recipe, stages={f"attack-{file_name(attack.label)}": evolve(stage, attacks=(attack,)) for attack in stage.attacks})


def _targets(recipe: Recipe, out: Path) -> dict[tuple[str, str], Path]:
    """Return where the records of each task and stage are copied to.

    :raises UsageError: ``out`` has no name.
    """
    if not out.name:
        raise UsageError("--out: give a file")
    attacks = {name: cast("AttackStage", stage).attacks[0].label for name, stage in recipe.stages.items()}
    several_tasks, several_attacks = len(recipe.tasks) > 1, len(attacks) > 1
    return {
        (task.label, stage): out.with_name(
            "-".join([out.stem, *[file_name(task.label)] * several_tasks, *[file_name(attack)] * several_attacks]) + out.suffix
        )
        for task in recipe.tasks
        for stage, attack in attacks.items()
    }


def _check_place(target: Path) -> None:
    """Refuse before the work a file that could not be written, or that is something else than records."""
    folder = next(place for place in target.absolute().parents if place.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"--out {target}: no file can be written in {folder}")
    if target.exists() and not is_records(target):
        raise UsageError(f"{target}: there is such a file already, and it holds no attack records; name another one, or remove it")


def _check_free(target: Path | None, key: str) -> None:
    """Refuse before the work a file with the records of another one; of the same, it has no more than are copied in the end."""
    if target is not None and target.exists() and (config := read(target)[0].get("config")) != key:
        raise UsageError(
            f"{target}: there is such a file already, with the records of another attack, model, sample or setting "
            f"({str(config)[:12]}, now {key[:12]}); "
            "name another one, or remove it"
        )


def _records(run: Run, lab: Path, task: str, stage: str) -> Path:
    """Return the file of records of a stage.

    :raises UsageError: it is not whole any more.
    """
    from ticketlab.lab.lab import Lab

    result = next(iter(run.results["tasks"][task].values()))[stage]
    ((attack, _),) = result["attacks"].items()
    folder = Lab(lab).stage(result["key"])
    path = path_in(folder, attack)
    if not path.is_file() or len(read(path)[1]) < result["sample"]["size"]:
        raise UsageError(
            f"{path}: records are missing that were there when the attack ended; remove {folder}, and the command attacks again"
        )
    return path
