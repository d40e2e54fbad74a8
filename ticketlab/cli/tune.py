"""``ticketlab tune``: search settings of a recipe on development data."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ticketlab.cli import output, shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.completion import RecipeName
from ticketlab.cli.study_settings import recipe_options, study_settings
from ticketlab.core import progress
from ticketlab.core.errors import EXIT_PARTIAL, UsageError
from ticketlab.core.formatting import counted

if TYPE_CHECKING:
    from ticketlab.tuning.trials import Trial, Tuning

SHORTEST_ERROR = 60
"""The number of letters of an error that a table shows; `--json` has all of it."""
EPILOG = """\b
Examples:
  ticketlab tune robust-ticket --over search.pruner.penalty=1:1000:log --trials 12 --metric dev.attack.deepwordbug.aua \\
      --attack deepwordbug --task sst2 --model bert-base-uncased
  ticketlab tune early-robust --over retrain.lr=1e-5:1e-4:log --over sparsity=0.1,0.3,0.5 --trials 20 --metric dev.clean.accuracy \\
      --task sst2
"""


@recipe_options
@click.command(cls=Command, epilog=EPILOG)
@click.argument("recipe", required=False, type=RecipeName())
@click.option(
    "--over", "over", multiple=True, required=True, metavar="KEY=VALUES",
    help="A setting to search, and its values: LOW:HIGH, LOW:HIGH:log for orders of magnitude, or V1,V2,... KEY is a path as in --set, or "
    "a flag of `run` without dashes. May be repeated.",
)  # fmt: skip
@click.option("--trials", type=click.IntRange(min=1), required=True, metavar="N", help="Number of runs in all, failed ones included.")
@click.option(
    "--metric", required=True, metavar="METRIC", help="What to optimise, on development data: dev.clean.accuracy, dev.attack.NAME.aua, ..."
)
@click.option("--seeds", type=shared_options.SeedCount(), metavar="N", help="Run every trial with the seeds 0 to N-1.  [default: 1]")
@click.option("--sampler-seed", type=click.IntRange(min=0), metavar="N", default=0, show_default=True, help="Seed of what is tried.")
@click.option("--name", metavar="NAME", help="Name of the tuning, instead of one made from the recipe and what is searched.")
def tune(
    recipe: str | None,
    over: Sequence[str],
    trials: int,
    metric: str,
    seeds: int | None,
    sampler_seed: int,
    name: str | None,
    tasks: Sequence[str],
    text_columns: Sequence[str],
    label_column: str | None,
    labels: Sequence[str],
    drop_labels: Sequence[str],
    scale: str | None,
    sets: Sequence[str],
    lab: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Search settings of RECIPE: run it with different values, measure each run on development data, and print the best.

    Values are random at first, and then suggested by Optuna from the earlier trials. All other options are those of `ticketlab run`. What
    trials share is computed once. The trials are kept in the lab: the same command resumes after an interruption, and continues with more
    --trials. A trial that fails is listed with its error.
    """
    from ticketlab.tuning.space import parse_over

    found: dict[str, str] = {}
    for text in over:
        key, values = parse_over(text)
        if key in found:
            raise UsageError(f"--over {key} is given twice; remove one")
        found[key] = values
    done = _tune(
        recipe,
        over=found,
        trials=trials,
        metric=metric,
        tasks=shared_options.tasks_of(tasks, text_columns, label_column, labels, drop_labels),
        scale=scale,
        seeds=seeds,
        settings=study_settings(options, sets, lab),
        sampler_seed=sampler_seed,
        lab=lab,
        name=name,
    )
    if as_json:
        output.print_json(_table(done))
    else:
        _print(done)
    failed = sum(trial.value is None for trial in done.trials)
    progress.say(f"trials: {done.path}")
    if done.best is not None and done.best.one_class:
        progress.warn("the model of every trial predicts one class, which nothing can fool: train longer, or tune dev.clean.accuracy first")
    if failed:
        progress.warn(f"{counted(failed, 'trial')} of {len(done.trials)} failed")
        click.get_current_context().exit(EXIT_PARTIAL)


def _tune(recipe: str | None, **arguments: Any) -> Tuning:
    """Tune. Torch is imported here, not earlier."""
    from ticketlab.core import disk_and_memory

    disk_and_memory.check_limit()
    from ticketlab.tuning.tune import tune

    return tune(recipe, **arguments)


def _print(done: Tuning) -> None:
    """Print the trials, and the best values as options of ``ticketlab run``."""
    from rich.table import Table

    from ticketlab.report.layout import cell_text
    from ticketlab.report.metric_text import metric_text
    from ticketlab.tuning.trials import as_setting

    text, best = metric_text(done.metric), done.best
    assert best is not None
    keys = list(dict.fromkeys(key for trial in done.trials for key in trial.values))
    remarks = [trial.error or trial.one_class for trial in done.trials]
    table = Table(title=f"{done.name}: {done.metric}, {'lower' if done.lower_is_better else 'higher'} is better")
    for head in ("Trial", *keys, text.heading, "Seconds", *(["Remark"] if any(remarks) else [])):
        table.add_column(cell_text(head), justify="left" if head == "Remark" else "right")
    for trial, remark in zip(done.trials, remarks, strict=True):
        values = [cell_text(as_setting(trial.values[key])) for key in keys]
        value = "" if trial.value is None else text.number(trial.value) + (" *" if trial is best else "")
        table.add_row(str(trial.number + 1), *values, value, _seconds(trial), *([cell_text(_short(remark))] if any(remarks) else []))
    output.print_table(table)
    output.print_line(f"best: trial {best.number + 1}, {text.heading} {text.number(best.value or 0.0)} on development data, {best.run}")
    output.print_line(shlex.join(done.flags))


def _seconds(trial: Trial) -> str:
    return "" if trial.seconds is None else f"{trial.seconds:.0f}"


def _short(error: str) -> str:
    return error if len(error) <= SHORTEST_ERROR else f"{error[:SHORTEST_ERROR]}..."


def _table(done: Tuning) -> dict[str, Any]:
    """Return the trials as plain values."""
    import attrs

    best = done.best
    return {
        "name": done.name,
        "file": str(done.path),
        "metric": done.metric,
        "lower_is_better": done.lower_is_better,
        "trials": [attrs.asdict(trial) for trial in done.trials],
        "best": None if best is None else {"trial": best.number, "value": best.value, "run": best.run, "options": done.flags},
    }
