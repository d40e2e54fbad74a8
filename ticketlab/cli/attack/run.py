"""``ticketlab attack MODEL``: attack a finished model with changed texts."""

from __future__ import annotations

import contextlib
import functools
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from ticketlab.attacks.results.record_file import file_name, is_records, path_in, read
from ticketlab.cli import executor_options, output, run_recipe, shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.completion import ComponentName
from ticketlab.cli.default_command import DefaultCommandContext
from ticketlab.cli.path_types import PathType
from ticketlab.core import disk_and_memory, files
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from ticketlab.attacks.engine.executor import AttackExecution
    from ticketlab.executors.base import Executor
    from ticketlab.recipes.recipe import Recipe
    from ticketlab.runs.run import Run
    from ticketlab.stages.attack import AttackStage


class _AttackCommand(Command):
    context_class = DefaultCommandContext


@click.command(
    cls=_AttackCommand, epilog="Example: ticketlab attack ./my-model --task sst2 --attack deepwordbug --n 100 --out records.jsonl"
)
@click.argument("model")
@shared_options.OF_RUN
@shared_options.TASK
@click.option("--attack", "attacks", multiple=True, required=True, type=ComponentName("attack"), help="Attack to run; may be repeated.")
@shared_options.ATTACKED
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Seed of the sample of examples and of the attacks.  [default: 0]",
)
@shared_options.SPLIT
@shared_options.LABEL_MAP
@shared_options.RESOURCES
@click.option("--query-budget", type=click.IntRange(min=1), metavar="N", help="Give up on an example after this many queries.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Give up on an example after this time.")
@click.option("--in-flight", type=click.IntRange(min=1), metavar="N", help="Examples attacked at once in each process.  [default: 64]")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of processes; they are distributed over the GPUs.  [default: one per core, or one on a GPU]",
)
@executor_options.PLACE
@click.option(
    "--precision",
    type=click.Choice(["fp32", "bf16"]),
    help="Number format of the attacked model and of the attack's own models.  [default: fp32]",
)
@shared_options.MAX_LENGTH
@click.option("--out", type=PathType(dir_okay=False), help="Also write the records to this file, one JSON line per example.")
@shared_options.SET
@shared_options.RUN_NAME
@shared_options.OUTPUT
def run(
    model: str,
    run_seed: int | None,
    run_task: str | None,
    tasks: Sequence[str],
    text_columns: Sequence[str],
    label_column: str | None,
    labels: Sequence[str],
    drop_labels: Sequence[str],
    attacks: Sequence[str],
    examples: int | None,
    seed: int | None,
    split: str | None,
    label_map: Sequence[str],
    word_vectors: str | None,
    encoder: str | None,
    mlm: str | None,
    query_budget: int | None,
    timeout: float | None,
    in_flight: int | None,
    workers: int | None,
    executor: str | None,
    executor_sets: Sequence[str],
    precision: str | None,
    max_length: int | None,
    out: Path | None,
    sets: Sequence[str],
    name: str | None,
    lab: Path,
    as_json: bool,
    csv_file: Path | None,
) -> None:
    """Attack MODEL, a classifier: a folder, a model on the hub (owner/name), or a stage or run of a lab.

    A run is given by its name or directory, by the beginning of its name or digest, or by the name of its recipe for the latest run in
    --lab; `latest` is the latest of all. Without --task, its model is attacked on the run's own task, read as in the run.

    Each record is written to the lab as soon as its example is finished; after an interruption the same command resumes with the
    remaining examples. Records do not depend on --in-flight, --workers and --executor, which shares the examples out to the machines of a
    cluster. At the end they are copied to --out, which never overwrites other records; several attacks or tasks get one file each, with
    the attack or task added to the name. If a model's folder has the name of a command below, write ./show.
    """
    from ticketlab.lab.finished_runs import find_run
    from ticketlab.recipes.measured_model import choose_data, find_model
    from ticketlab.recipes.overrides import attack_tables
    from ticketlab.recipes.single_stage import one_stage, one_stage_per_attack

    chosen_executor = executor_options.executor_of(executor, executor_sets)
    measured = find_model(find_run(model, lab, "model"), seed=run_seed, task=run_task)
    attack_settings = shared_options.given(word_vectors=word_vectors, encoder=encoder, mlm=mlm, query_budget=query_budget)
    settings = {"attacks": attack_tables([{"name": name} for name in attacks], attack_settings)}
    settings |= shared_options.given(sample_seed=seed, examples=examples, split=split, label_map=list(label_map) or None)
    settings |= shared_options.given(timeout=timeout, in_flight=in_flight, workers=workers, precision=precision)
    chosen = shared_options.tasks_of(tasks, text_columns, label_column, labels, drop_labels)
    data = choose_data(measured, chosen)
    recipe = one_stage_per_attack(one_stage("attack", measured, data.tasks, settings, sets, max_length=max_length))
    targets = _output_files(recipe, out) if out is not None else {}
    for target in targets.values():
        _check_writable(target)
    run_recipe.check_csv(csv_file, [recipe], lab, name)
    with _execution(chosen_executor, lab, workers) as execution:
        done = run_recipe.run_in_lab(
            recipe,
            lab,
            name=name,
            starting=lambda task, stage, key: _check_same_records(targets.get((task, stage)), key),
            attack_execution=execution,
        )
    data.warn_if_changed(done.results)
    rows = run_recipe.rows_of(done, label=measured.shown)
    if as_json:
        output.print_json(done.results)
    else:
        run_recipe.print_rows(rows, run_recipe.title_of(done, measured.shown), run_recipe.notes_of([done]))
    for (task, stage), target in targets.items():
        files.write_atomic(target, functools.partial(shutil.copyfile, _records_file(done, lab, task, stage)))
    run_recipe.finish([done], csv_file, [measured.shown])


def _execution(executor: Executor, lab: Path, workers: int | None) -> contextlib.AbstractContextManager[AttackExecution | None]:
    """Return the execution that shares the examples out; None for `local` at its defaults, whose processes the attack starts itself."""
    if executor.name == executor_options.DEFAULT and executor == type(executor)():
        return contextlib.nullcontext()
    disk_and_memory.check_limit()
    from ticketlab.attacks.engine.executor import AttackExecution
    from ticketlab.lab.open_lab import open_lab

    return AttackExecution(executor, open_lab(lab), workers)


def _output_files(recipe: Recipe, out: Path) -> dict[tuple[str, str], Path]:
    """Return the file that the records of each task and stage are copied to.

    :raises UsageError: ``out`` has no file name.
    """
    if not out.name:
        raise UsageError("--out: give the name of a file")
    attacks = {name: cast("AttackStage", stage).attacks[0].label for name, stage in recipe.stages.items()}
    several_tasks, several_attacks = len(recipe.tasks) > 1, len(attacks) > 1
    return {
        (task.label, stage): out.with_name(
            "-".join([out.stem, *[file_name(task.label)] * several_tasks, *[file_name(attack)] * several_attacks]) + out.suffix
        )
        for task in recipe.tasks
        for stage, attack in attacks.items()
    }


def _check_writable(target: Path) -> None:
    """Check, before any work, that the file can be written and, if it exists, holds records.

    :raises UsageError: it cannot be written, or holds something else.
    """
    files.check_writable(target, f"--out {target}")
    if target.exists() and not is_records(target):
        raise UsageError(f"--out {target}: the file exists and does not hold attack records; name another file, or remove it")


def _check_same_records(target: Path | None, key: str) -> None:
    """Check, before any work, that an existing file holds records of the same stage, which may be replaced.

    :raises UsageError: it holds other records.
    """
    if target is not None and target.exists() and (config := read(target)[0].get("config")) != key:
        raise UsageError(
            f"--out {target}: the file exists and holds the records of another attack, model, sample or setting "
            f"({str(config)[:12]}, now {key[:12]}); name another file, or remove it"
        )


def _records_file(run: Run, lab: Path, task: str, stage: str) -> Path:
    """Return the file of records of a stage.

    :raises UsageError: it has lost records since the attack ended.
    """
    from ticketlab.lab.open_lab import open_lab

    result = next(iter(run.results["tasks"][task].values()))[stage]
    ((attack, _),) = result["attacks"].items()
    place = open_lab(lab)
    place.fetch(result["key"])
    folder = place.stage(result["key"])
    path = path_in(folder, attack)
    if not path.is_file() or len(read(path)[1]) < result["sample"]["size"]:
        raise UsageError(f"{path}: records are missing that were there when the attack ended; remove {folder} and run the command again")
    return path
