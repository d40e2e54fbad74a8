"""``ticketlab demo``: compare three models on built-in text in minutes, under attack or on a challenge set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import frozen

from ticketlab.cli import output, run_recipe, shared_options
from ticketlab.cli.command import Command
from ticketlab.core import progress
from ticketlab.core.errors import SettingError, did_you_mean
from ticketlab.recipes.head import HEAD

if TYPE_CHECKING:
    from ticketlab.recipes.recipe import Recipe


@frozen
class _Comparison:
    """Recipes to compare, with the label of each one's model in the table, and the settings that they share."""

    models: Mapping[str, str]
    introduction: str
    settings: Mapping[str, Any]

    def compose(self, name: str, seed: int, sets: Sequence[str] = ()) -> Recipe:
        """Compose one of the recipes at the scale of the demo. The assignments ``sets`` may replace the settings of the comparison."""
        from ticketlab.recipes import contradictions, ineffective_settings
        from ticketlab.recipes.compose import compose_unchecked

        contradictions.refuse_repetitions(sets)
        composed = compose_unchecked(name, scale="demo", seeds=[seed], model="demo", sets=sets, **self.settings)
        ineffective_settings.refuse_ineffective([composed.of(task) for task in composed.tasks], {}, {}, sets)
        return composed


COMPARISONS = {
    "robust": _Comparison(
        models={"fine-tune": "fine-tuned model", "random-ticket": "random ticket", "robust-ticket": "robust ticket"},
        introduction="Three models learn to tell good reviews from bad ones, then each is attacked with typing errors: the fine-tuned "
        "model, a random ticket and a robust ticket. Nothing is downloaded.",
        settings={"tasks": ["demo"], "attacks": ["deepwordbug"]},
    ),
    "unbiased": _Comparison(
        models={"srnet-dense": "fine-tuned model", "srnet-dense-poe": "debiased model", "srnet-from-poe": "SRNet"},
        introduction="Three models learn whether one sentence follows from another, on data where shared words nearly always give the "
        "answer away; each is then evaluated on a challenge set where they do not: the fine-tuned model, one fine-tuned with a "
        "debiasing loss, and a ticket of half its weights. Nothing is downloaded.",
        settings={"tasks": ["demo_nli"], "ood": ["demo_nli_ood"]},
    ),
}


@click.command(cls=Command, epilog="Examples: ticketlab demo --set search.epochs=4; ticketlab demo unbiased")
@click.argument("which", type=click.Choice(list(COMPARISONS)), default="robust")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", default=0, show_default=True, help="Random seed of the three models.")
@shared_options.SET
@shared_options.OUTPUT
def demo(which: str, seed: int, sets: Sequence[str], lab: Path, as_json: bool, csv_file: Path | None) -> None:
    """Train three models in minutes, offline, and compare them under attack (robust) or on a challenge set (unbiased).

    robust runs the recipes fine-tune, random-ticket and robust-ticket; unbiased runs srnet-dense, srnet-dense-poe and srnet-from-poe.
    They run at the scale `demo`, on built-in text, with the encoder of the extra `ticketlab[demo]`. --set applies to those of the three
    recipes on which it has an effect.
    """
    from ticketlab.recipes import ineffective_settings
    from ticketlab.report.overlap import overlap_notes

    chosen = COMPARISONS[which]
    plain = {name: chosen.compose(name, seed) for name in chosen.models}
    keys = {name: {*composed.stages, *HEAD} for name, composed in plain.items()}
    known_keys = set().union(*keys.values())
    for assignment in sets:
        if _key(assignment) not in known_keys:
            hint = did_you_mean(_key(assignment), known_keys)
            raise SettingError(f"--set {assignment}: no recipe of the demo has a stage or setting `{_key(assignment)}`{hint}")
    applicable = {name: [assignment for assignment in sets if _key(assignment) in keys[name]] for name in plain}
    effective = {
        assignment
        for name, assignments in applicable.items()
        for assignment in assignments
        if ineffective_settings.has_effect(plain[name], assignment)
    }
    recipes = {}
    for name in chosen.models:
        assignments = [
            assignment
            for assignment in applicable[name]
            if assignment not in effective or ineffective_settings.has_effect(plain[name], assignment)
        ]
        recipes[name] = chosen.compose(name, seed, assignments)  # raises SettingError for a setting that has an effect on none of the three
    run_recipe.check_csv(csv_file, list(recipes.values()), lab)
    progress.say(chosen.introduction)
    runs, rows = [], []
    for number, (name, label) in enumerate(chosen.models.items(), start=1):
        composed = recipes[name]
        progress.say(f"{number}/{len(chosen.models)} {label}: {composed.summary} ({', '.join(composed.stages)})")
        runs.append(run_recipe.run_in_lab(composed, lab))
        rows += run_recipe.rows_of(runs[-1], label)
    if as_json:
        output.print_json([run.results for run in runs])
    else:
        run_recipe.print_rows(rows, run_recipe.title_of(runs[0]), [*run_recipe.notes_of(runs), *overlap_notes(rows)])
    run_recipe.finish(runs, csv_file, list(chosen.models.values()))


def _key(assignment: str) -> str:
    return assignment.partition("=")[0].split(".")[0].strip()
