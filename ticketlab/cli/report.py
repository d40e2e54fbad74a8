"""``ticketlab report``: a table or a page of a study or of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ticketlab.cli import output, shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.path_types import PathType
from ticketlab.core import progress
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from ticketlab.report.cells import Comparison
    from ticketlab.report.comparison_table import ComparisonTable

FORMATS = {"text": ".txt", "markdown": ".md", "latex": ".tex", "csv": ".csv", "html": ".html"}
"""The formats, and how the names of their files end."""
EPILOG = """\b
Examples:
  ticketlab report mine --out report.html
  ticketlab report mine --format latex --metrics clean.accuracy,attack.*.aua > table.tex
  ticketlab report fine-tune robust-ticket --baseline fine-tune --csv numbers.parquet
"""


def _names(_: click.Context, __: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Return the names in values such as ``a,b``."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


@click.command(cls=Command, epilog=EPILOG)
@click.argument("names", metavar="STUDY|RUN...", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(list(FORMATS)), help="Format of the output.  [default: by the name of --out, or text]")
@click.option("--out", type=PathType(dir_okay=False), help="File to write instead of stdout, such as report.html, table.tex or table.md.")
@click.option(
    "--metrics", multiple=True, callback=_names, metavar="NAME,...",
    help="Metrics to show, such as clean.accuracy, attack.*.aua, cost.training_seconds or speed_up; may be repeated.",
)  # fmt: skip
@click.option("--rows", multiple=True, callback=_names, metavar="FACTOR,...", help="Factors to show as rows.")
@click.option("--columns", multiple=True, callback=_names, metavar="FACTOR,...", help="Factors to show as columns.")
@click.option("--baseline", metavar="LABEL", help="Run, cell or level to compare the others with, with tests and speed-ups.")
@click.option("--select", metavar="FACTOR", help="Show only the best level of this factor, selected on development data.")
@click.option(
    "--select-on", metavar="METRIC", help="Metric of the development split by which --select selects, such as dev.clean.accuracy."
)
@shared_options.OUTPUT
def report(
    names: Sequence[str],
    form: str | None,
    out: Path | None,
    metrics: Sequence[str],
    rows: Sequence[str],
    columns: Sequence[str],
    baseline: str | None,
    select: str | None,
    select_on: str | None,
    lab: Path,
    as_json: bool,
    csv_file: Path | None,
) -> None:
    """Show a study, or finished runs, in a table for the terminal or a paper, or on a page.

    Name a study of --lab or its folder, or one or more runs: by the name or folder of a run, by the name of a recipe for its latest run,
    or `latest`.

    The table has the mean and deviation over seeds, and marks the best number of each column. Its default metrics are the accuracy on the
    task and on each challenge set, the accuracy under each attack, the sparsity, and the seconds of searches and trainings.
    """
    if as_json and out is None and form not in (None, "html"):
        raise UsageError(f"--format {form}: with --json the table is printed as JSON; leave one of them out, or name a file with --out")
    form = _format(form, out)
    comparison = _comparison(names, lab, baseline, select, select_on, metrics)
    if form == "html":
        if as_json:
            raise UsageError("--json: a page is written to its file, and nothing is printed; leave out --json")
        if rows or columns:
            raise UsageError("--rows and --columns: the page has a row for each cell, to sort and filter; use them with another --format")
        _write_page(comparison, metrics, out)
    else:
        _print(_table(comparison, metrics, rows, columns), form, out, as_json)
    if csv_file is not None:
        from ticketlab.report.numbers_file import write_numbers

        write_numbers(comparison, csv_file)


def _write_page(comparison: Comparison, metrics: Sequence[str], out: Path | None) -> None:
    """Write the page, whose main table has the given metrics, or those of the study."""
    from attrs import evolve

    from ticketlab.pages.report_page import write_report
    from ticketlab.report.numbers import all_numbers
    from ticketlab.report.table_spec import check_metrics

    assert out is not None
    check_metrics(metrics, comparison, all_numbers(comparison))
    write_report(evolve(comparison, table={**comparison.table, "metrics": list(metrics)}) if metrics else comparison, out)
    progress.say(f"{out}: written")


def _format(form: str | None, out: Path | None) -> str:
    """Return the format, by default that of the file's name.

    :raises UsageError: the file's name has the ending of no format or of another one, or there is no file for a page.
    """
    if form is None and out is not None:
        form = next((name for name, ending in FORMATS.items() if out.suffix.lower() == ending), None)
        if form is None:
            raise UsageError(
                f"--out {out}: the format is not clear from the name; end it in {', '.join(FORMATS.values())}, or give --format"
            )
    of_name = next((name for name, ending in FORMATS.items() if out is not None and out.suffix.lower() == ending), form)
    if of_name not in (form, "text"):  # any format may be in a .txt file
        raise UsageError(f"--out {out}: the name is that of a file in the format {of_name}, and --format is {form}; change one of them")
    if form == "html" and out is None:
        raise UsageError("--format html: name the file with --out, such as --out report.html")
    return form or "text"


def _comparison(
    names: Sequence[str], lab: Path, baseline: str | None, select: str | None, select_on: str | None, metrics: Sequence[str]
) -> Comparison:
    """Return the named study or runs, with the given baseline.

    If the level of a factor is to be selected, by the first of the ``metrics``, only the cells with the best one are left.
    """
    from attrs import evolve

    from ticketlab.report.selected_cells import select_cells
    from ticketlab.studies.find import find_comparison, find_study

    study = find_study(names[0], lab)
    if study is not None:
        from ticketlab.studies.gather import gather_study

        gather_study(study)
    comparison = find_comparison(names, lab)
    comparison = evolve(comparison, baseline=baseline) if baseline else comparison
    if select_on is not None and select is None:
        raise UsageError("--select-on names the metric by which --select selects: give both")
    if select is None:
        return comparison
    return select_cells(comparison, select, next((metric for metric in metrics if "*" not in metric), ""), select_on or "")


def _table(comparison: Comparison, metrics: Sequence[str], rows: Sequence[str], columns: Sequence[str]) -> ComparisonTable:
    from ticketlab.report.compared_table import compared_table
    from ticketlab.report.numbers import all_numbers
    from ticketlab.report.table_spec import check_metrics, spec_of

    check_metrics(metrics, comparison, all_numbers(comparison))
    return compared_table(comparison, spec_of(comparison, rows=rows, columns=columns, metrics=metrics))


def _print(table: ComparisonTable, form: str, out: Path | None, as_json: bool) -> None:
    """Write the table to the file, or print it on stdout."""
    from ticketlab.core import files

    if as_json:
        from ticketlab.report.table_json import json_table

        output.print_json(json_table(table))
    if out is not None:
        files.write_text(out, _rendered(table, form))
        progress.say(f"{out}: written")
    elif form == "text" and not as_json:
        from ticketlab.report.table_text import print_table

        print_table(table, output.open_console())
    elif not as_json:
        click.echo(_rendered(table, form), nl=False)


def _rendered(table: ComparisonTable, form: str) -> str:
    from ticketlab.report import table_csv, table_latex, table_markdown, table_text

    render = {
        "text": table_text.plain_table,
        "markdown": table_markdown.markdown_table,
        "latex": table_latex.latex_table,
        "csv": table_csv.csv_table,
    }
    return render[form](table)
