"""Writes the HTML report of a comparison: one file that needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from markupsafe import Markup

from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.core.version import __version__
from ticketlab.pages import comparison_tables, run_details, shared_details, summary
from ticketlab.pages.attack_examples import SHOWN, attacked_texts
from ticketlab.pages.cell_names import CellNames
from ticketlab.pages.pictures import Picture, draw_pictures
from ticketlab.pages.published_table import published_table
from ticketlab.pages.score_table import score_table
from ticketlab.pages.template import asset, policy_hash, render
from ticketlab.pages.verdicts_table import verdicts_table
from ticketlab.report.cells import Comparison
from ticketlab.report.compared_metrics import compared_metrics, compared_with_baseline
from ticketlab.report.numbers import all_numbers
from ticketlab.report.summaries import summarise_numbers
from ticketlab.report.verdicts import verdicts


def write_report(comparison: Comparison, path: str | Path, *, figures: Sequence[Picture] | None = None) -> Path:
    """Write the page of a comparison to a file, atomically, and return its path.

    ``figures`` are the pictures to show instead of those that :func:`ticketlab.pages.pictures.draw_pictures` draws.

    :raises UsageError: the comparison is empty, or the file cannot be written.
    """
    target = files.expand(path)
    content = page(comparison, figures=figures)
    try:
        files.write_text(target, content)
    except OSError as problem:
        raise UsageError(f"{target}: cannot be written ({problem.strerror or problem})") from None
    return target


def page(comparison: Comparison, *, figures: Sequence[Picture] | None = None) -> str:
    """Return the page as HTML.

    :raises UsageError: the comparison has no cells.
    """
    if not comparison.cells:
        raise UsageError(f"{comparison.title}: no runs to report")
    names = CellNames(comparison)
    summaries = summarise_numbers(all_numbers(comparison))
    tests, speed_ups, problem = compared_with_baseline(comparison)
    scripts = [asset("theme.js"), asset("page.js")]
    return render(
        "page.html",
        comparison=comparison,
        title=summary.title(comparison),
        version=__version__,
        style=Markup(asset("page.css")),
        theme_script=Markup(scripts[0]),
        page_script=Markup(scripts[1]),
        script_hashes=Markup(" ".join(map(policy_hash, scripts))),
        facts=summary.facts(comparison),
        problems=summary.problems(comparison, summaries, names),
        warnings=summary.warnings(comparison, names),
        scores=score_table(comparison, summaries, names, speed_ups),
        hypotheses=verdicts_table(verdicts(comparison)),
        differences=comparison_tables.baseline_table(comparison, tests, names),
        not_compared=problem,
        effects=comparison_tables.effects_table(comparison, compared_metrics(comparison)),
        published=published_table(comparison, summaries, names),
        pictures=[(picture, Markup(picture.svg)) for picture in (draw_pictures(comparison) if figures is None else figures)],
        texts=[(cell, list(attacks)) for cell, attacks in groupby(attacked_texts(comparison), lambda texts: texts.cell)],
        most=SHOWN,
        data_sets=list(shared_details.data_sets(comparison)),
        environments=list(shared_details.environments(comparison)),
        details=list(run_details.cell_details(comparison, summaries, names)),
    )
