"""``ticketlab plot``: draw a figure of a study or of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ticketlab.cli import shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.path_types import PathType
from ticketlab.core import progress
from ticketlab.figures.kinds import FIGURES, LEAST_WIDTH, MOST_WIDTH

KINDS = "\n".join(f"  {kind:<14} {about.summary}" for kind, about in FIGURES.items())
EPILOG = f"""\b
Kinds of figures:
{KINDS}

\b
Examples:
  ticketlab plot metric my-study --x sparsity --y attack.textfooler.aua --color method --out aua.svg
  ticketlab plot id-ood my-study --color method --line sparsity --out ood.pdf
  ticketlab plot survival robust-ticket --out survival.png
  ticketlab plot time-aua fine-tune freelb early-robust --out time.html
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("kind", metavar="KIND")
@click.argument("names", nargs=-1, required=True, metavar="STUDY|RUN...")
@click.option("--out", type=PathType(dir_okay=False), required=True, help="File to write; its suffix is svg, pdf, png or html.")
@click.option("--x", metavar="FACTOR|METRIC", help="Horizontal axis: a factor of the study, a setting in which runs differ, or a metric.")
@click.option("--y", multiple=True, metavar="METRIC", help="Vertical axis: a metric such as attack.textfooler.aua; may be repeated.")
@click.option("--color", metavar="FACTOR", help="Factor of the lines or points; several are separated by commas.")
@click.option("--facet", metavar="FACTOR", help="Factor of the panels, or `none` for one panel.  [default: the task if there are several]")
@click.option("--line", metavar="FACTOR", help="Factor along which the points of id-ood are joined.")
@click.option("--band", metavar="BAND", help="Band over seeds: deviation, interval (95 % of the mean, Student) or none.")
@click.option("--axis", metavar="SCALE", help="Horizontal axis: linear, log or auto.")
@click.option("--by", metavar="WHAT", help="Tiles or bars of overlap and classes: seed, cell or auto.")
@click.option("--group", metavar="UNITS", help="Group of units: weights, heads or neurons.")
@click.option("--stage", metavar="NAME", help="Stage whose ticket or search is shown, if a run has several.")
@click.option("--title", metavar="TEXT", help="Title of the figure.")
@click.option(
    "--width", type=click.IntRange(min=LEAST_WIDTH, max=MOST_WIDTH), metavar="PIXELS", help="Width of the figure.  [default: 640]"
)
@shared_options.LAB
def plot(kind: str, names: Sequence[str], out: Path, lab: Path, y: Sequence[str], **options: Any) -> None:
    """Draw a figure of a study, or of one or more runs, and write it to a file.

    Each kind takes some of the options only: `ticketlab plot metric` needs --x and --y, and most others none. What a factor is called,
    and which metrics there are, is in the error if a name is wrong.
    """
    from ticketlab.figures.kinds import check_arguments, draw
    from ticketlab.figures.output import format_of, write
    from ticketlab.studies.find import find_comparison

    format_of(out)
    arguments = shared_options.given(**options) | ({"y": y[0] if len(y) == 1 else list(y)} if y else {})
    check_arguments(kind, arguments)
    chart = draw(kind, find_comparison(names, lab), **arguments)
    progress.say(f"{write(chart, out)}: written")
