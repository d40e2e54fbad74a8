"""``ticketlab papers``: list the tables and figures of the papers, and make one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ticketlab.cli import ablate, executor_options, output, run_study, shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.run import run as run_command
from ticketlab.cli.study_settings import study_settings
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from ticketlab.papers.catalogue import PaperStudy
    from ticketlab.studies.part import Part

CHANGES = (*ablate.READING_TASKS, "ood", "ood_map", "model", "max_length", "precision", "text", "attacks", "examples")
RESOURCES = ("word_vectors", "encoder", "mlm")
"""Options of ``ticketlab run`` that replace what a study sets."""
EPILOG = """\b
Examples:
  ticketlab papers
  ticketlab papers robust-tickets/table-1 --scale small --model demo
  ticketlab papers robust-tickets/table-1 --dry-run
  ticketlab papers orticket/table-1 --seeds 1 --attack textfooler --task sst2 --jobs 2
"""


class StudyName(click.ParamType):  # type: ignore[type-arg]
    """The name of a paper's study, or of a paper."""

    name = "name"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names of studies, with what they show."""
        from ticketlab.papers.catalogue import paper_studies

        return [CompletionItem(name, help=found.summary) for name, found in paper_studies().items() if name.startswith(incomplete)]


def _run_options(command: Any) -> Any:
    """Add the options of ``ticketlab run`` that change a study."""
    named = {param.name: param for param in run_command.params}
    command.params += [named[name] for name in (*CHANGES, *RESOURCES, "scale", "sets", "lab", "as_json", "csv_file")]
    return command


@_run_options
@click.command(cls=Command, epilog=EPILOG)
@click.argument("name", required=False, type=StudyName(), metavar="[PAPER | PAPER/ITEM]")
@click.option("--show", is_flag=True, help="Print the study file, to read it or to change a copy, and stop.")
@click.option("--dry-run", is_flag=True, help="Print the cells, the distinct stages and what they will cost, and stop.")
@click.option("--seeds", type=shared_options.SeedCount(), metavar="N", help="Run the seeds 0 to N-1.  [default: as in the paper]")
@executor_options.EXECUTOR
@shared_options.PART
def papers(
    name: str | None,
    show: bool,
    dry_run: bool,
    seeds: int | None,
    jobs: int | None,
    executor: str | None,
    executor_sets: Sequence[str],
    part: Part | None,
    lab: Path,
    as_json: bool,
    csv_file: Path | None,
    **options: Any,
) -> None:
    """Make a table or figure of one of the papers, such as robust-tickets/table-1. Without a name, list them with what they cost.

    Each is a study with the recipes, settings, tasks, attacks and seeds of its paper; the other options replace some of them. `--scale
    small --model demo` runs a small part on built-in data. The report of the study has the printed numbers next to ours.
    """
    from ticketlab.papers import catalogue

    studies = catalogue.paper_studies()
    if name is None or name in catalogue.PAPERS:
        if show or dry_run:
            raise UsageError(f"name a table or figure for {'--show' if show else '--dry-run'}, such as robust-tickets/table-1")
        own = {"seeds": seeds, "jobs": jobs, "executor": executor, "executor_sets": executor_sets, "part": part, "csv_file": csv_file}
        if given := next((key for key, value in (options | own).items() if value not in (None, (), False)), None):
            option = next(max(param.opts, key=len) for param in papers.params if param.name == given)
            raise UsageError(f"name a table or figure for {option}, such as robust-tickets/table-1")
        _list([found for key, found in studies.items() if name is None or key.startswith(f"{name}/")], as_json)
        return
    if show:
        if as_json:
            raise UsageError("--json: --show prints the study file as it is")
        click.echo(catalogue.find(name).text(), nl=False)
        return
    tasks = shared_options.tasks_of(*(options.pop(key) for key in ablate.READING_TASKS))
    scale = options.pop("scale")
    settings = study_settings(options, options.pop("sets"), lab)
    chosen = executor_options.executor_of(executor, executor_sets)
    study = catalogue.read(name, scale=scale, tasks=tasks, model=settings.pop("model", None), seeds=seeds, settings=settings)
    if dry_run:
        run_study.print_plan(study, lab, jobs=jobs, executor=chosen, part=part, as_json=as_json)
    else:
        run_study.run(study, lab, jobs=jobs, executor=chosen, part=part, name=None, as_json=as_json, csv_file=csv_file)


def _list(studies: list[PaperStudy], as_json: bool) -> None:
    """Print studies with what they show and what they cost at full scale."""
    from ticketlab.papers.costs import cost_here

    stages = {found.name: cost_here(found).stages for found in studies}
    if as_json:
        output.print_json([_facts(found, stages[found.name]) for found in studies])
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    table.add_column("Study", no_wrap=True)
    table.add_column("What it shows", overflow="fold")
    for column in ("Cells", "Seeds", "Stages"):
        table.add_column(column, justify="right")
    for found in studies:
        table.add_row(found.name, found.summary, str(found.cells), str(found.seeds), f"{stages[found.name]:,}")
    output.print_table(table)
    missing: dict[str, list[str]] = {}
    for found in studies:
        for label, reason in found.unavailable.items():
            missing.setdefault(f"{label} {reason}", []).append(found.name)
    for reason, names in missing.items():
        click.echo(f"{reason} ({', '.join(names)})")


def _facts(found: PaperStudy, stages: int) -> Mapping[str, Any]:
    """Return the facts of a study for ``--json``."""
    return {
        "name": found.name,
        "title": found.title,
        "summary": found.summary,
        "paper": found.paper,
        "cells": found.cells,
        "seeds": found.seeds,
        "stages": stages,
        "published": found.published,
        "plugins": dict(found.plugins),
        "unavailable": dict(found.unavailable),
        "file": str(found.path),
    }
