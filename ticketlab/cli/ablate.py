"""``ticketlab ablate``: run a study of every combination of settings, and compare them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ticketlab.cli import executor_options, run_study, shared_options
from ticketlab.cli.completion import RecipeName
from ticketlab.cli.single_values import SingleValuesCommand
from ticketlab.cli.study_settings import recipe_options, study_settings
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from ticketlab.studies.definition import Study
    from ticketlab.studies.part import Part

READING_TASKS = ("tasks", "text_columns", "label_column", "labels", "drop_labels")
EPILOG = """\b
Examples:
  ticketlab ablate --vary pruner=hard-concrete,magnitude,random --vary sparsity=0.1:0.9:0.1 --task sst2 --seeds 5
  ticketlab ablate robust-ticket fine-tune --attack textfooler --task sst2 --task ag_news --baseline fine-tune
  ticketlab ablate early-robust --vary heads+neurons=1/6+0.3,1/3+0.4 --vary search.stop.threshold=0.05,0.1,0.2 --task sst2
  ticketlab ablate study.toml --jobs 2
"""


@recipe_options
@click.command(cls=SingleValuesCommand, epilog=EPILOG)
@click.argument("recipes", nargs=-1, type=RecipeName(), metavar="[RECIPE|STUDY.toml]...")
@click.option(
    "--vary", "varied", multiple=True, metavar="KEY=VALUE,...",
    help="What to vary, and its values: a flag of `run` (pruner, sparsity, model, scale, ...), a path as in --set, `recipe` or `task`. "
    "0.1:0.9:0.1 is a range; KEY+KEY=V+W,V+W varies two together. May be repeated.",
)  # fmt: skip
@click.option(
    "--design",
    type=click.Choice(["grid", "one-at-a-time"]),
    help="All combinations, or one factor at a time while the others have their first value.  [default: grid]",
)
@click.option(
    "--exclude", "excluded", multiple=True, metavar="KEY=VALUE&...", help="Leave out the cells with these values; may be repeated."
)
@click.option("--baseline", metavar="VALUE|CELL", help="What the others are compared with: a value of a factor, or the label of a cell.")
@click.option("--seeds", type=shared_options.SeedCount(), metavar="N", help="Run every cell with the seeds 0 to N-1.  [default: 1]")
@executor_options.EXECUTOR
@shared_options.PART
@click.option("--name", metavar="NAME", help="Name of the study and of its folder in the lab.")
@shared_options.CSV
@click.option("--dry-run", is_flag=True, help="Print the cells, the distinct stages and what they will cost, and stop.")
def ablate(
    recipes: Sequence[str],
    varied: Sequence[str],
    design: str | None,
    excluded: Sequence[str],
    baseline: str | None,
    seeds: int | None,
    jobs: int | None,
    executor: str | None,
    executor_sets: Sequence[str],
    part: Part | None,
    name: str | None,
    dry_run: bool,
    lab: Path,
    as_json: bool,
    csv_file: Path | None,
    **options: Any,
) -> None:
    """Run every combination of the varied settings, each with several seeds, and compare the results in a table.

    All options of `ticketlab run` set a value for every cell whose recipe has the setting. Stages that cells share are computed once, and
    cells that a setting cannot affect are computed once and marked. A cell that fails stops no other; the same command tries it again, and
    resumes after an interruption. `ticketlab report` makes a page of the results, and `ticketlab plot` figures.
    """
    chosen = executor_options.executor_of(executor, executor_sets)
    study = _study(recipes, varied, design, excluded, baseline, seeds, options, lab)
    if dry_run:
        run_study.print_plan(study, lab, jobs=jobs, executor=chosen, part=part, as_json=as_json)
        return
    run_study.run(study, lab, jobs=jobs, executor=chosen, part=part, name=name, as_json=as_json, csv_file=csv_file)


def _study(
    recipes: Sequence[str],
    varied: Sequence[str],
    design: str | None,
    excluded: Sequence[str],
    baseline: str | None,
    seeds: int | None,
    options: dict[str, Any],
    lab: Path,
) -> Study:
    """Return the study that the command line describes, with its file if one is named.

    :raises UsageError: it is not a valid study.
    """
    from ticketlab.studies.factor_tables import parse_exclude
    from ticketlab.studies.keys import check_key, check_set_or_varied
    from ticketlab.studies.levels import parse_vary
    from ticketlab.studies.read_definition import is_study_file, read_study, study_of
    from ticketlab.studies.study import default_name

    tasks = shared_options.tasks_of(*(options.pop(key) for key in READING_TASKS))
    scale = options.pop("scale")
    settings = study_settings(options, options.pop("sets"), lab)
    factors = [parse_vary(text) for text in varied]
    for factor in factors:
        for key in factor.keys:
            check_key(key, where=f"--vary {factor.name}: ")
    names = [factor.name for factor in factors]
    check_set_or_varied(settings, [key for factor in factors for key in factor.keys])
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--vary {twice} is given twice; write all values in one: --vary {twice}=VALUE,VALUE")
    changes: dict[str, Any] = {"tasks": tasks or None, "design": design, "baseline": baseline, "seeds": seeds}
    changes |= {"exclude": [parse_exclude(text) for text in excluded] or None, "set": settings or None}
    changes = {key: value for key, value in changes.items() if value is not None}
    file = recipes[0] if len(recipes) == 1 and is_study_file(recipes[0]) else None
    if file is not None:
        return read_study(file, scale=scale, factors_added=factors, **changes)
    name = default_name(list(recipes), {factor.name: None for factor in factors})
    return study_of(name, {"recipes": list(recipes)} if recipes else {}, scale=scale, factors_added=factors, **changes)
