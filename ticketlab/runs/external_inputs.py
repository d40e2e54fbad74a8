"""References of a recipe to external inputs: a file, a folder, a model, or the tickets of another run."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from pathlib import Path

import attrs

from ticketlab.backbone import fingerprint, loading
from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab import mirror
from ticketlab.lab.layout import RESULTS, TICKET, TICKETS, is_run, is_stage, lab_of_run, model_inside, stage_folder
from ticketlab.lab.results import read_results, stage_results, works_as
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs import copied_outputs
from ticketlab.stages.base import Input, Stage
from ticketlab.tasks import trained_on

MODELS, TICKETS_OF = ("train", "export"), ("draw",)
"""The kinds of stages that stand for their model or their ticket: a setting that accepts one refers to a model or a ticket."""


def resolve_reference(field: str, value: str, accepts: Collection[str], task: str = "", seed: int = 0) -> tuple[Input, str]:
    """Return the input that an external reference refers to for a task and seed, and its fingerprint.

    ``field`` is the setting with the reference, and ``accepts`` the kinds of stages that it accepts.

    A reference to a ticket may be the directory of a run, whose ticket for this task and seed is used, or a path with ``{task}`` and
    ``{seed}``.

    :raises UsageError: there is no such file, model or ticket.
    """
    names_ticket = not _names_model(accepts) and not set(accepts).isdisjoint(TICKETS_OF)
    if names_ticket:
        path = _ticket_of_run(files.expand(value.replace("{task}", task).replace("{seed}", str(seed))), task, seed)
    else:
        path = files.expand(value)
    mirror.fetch(path)
    if _names_model(accepts):
        inside = model_inside(path)
        resolved = loading.resolve_model(value if inside is None else str(inside))
        return Input(resolved, is_stage=False), fingerprint.of_model(resolved)
    if not path.exists():
        raise UsageError(f"{path if names_ticket else value}: there is no such file")
    made_in = stage_folder_of_ticket(path) if field == "ticket" else ""
    if made_in and (Path(made_in) / trained_on.FILE).is_file():
        parts = (path, Path(made_in) / trained_on.FILE)
        return Input(str(path), is_stage=False, made_in=made_in), " ".join(fingerprint.of_path(str(part)) for part in parts)
    return Input(str(path), is_stage=is_stage(path)), fingerprint.of_path(str(path))


def accepted_kinds(stage: Stage, field: str) -> tuple[str, ...]:
    """Return the kinds of stages that a setting of a stage accepts."""
    accepts: tuple[str, ...] = attrs.fields_dict(type(stage))[field].metadata["reference"]
    return accepts


def _names_model(accepts: Collection[str]) -> bool:
    return not set(accepts).isdisjoint(MODELS)


def stage_folder_of_ticket(ticket: Path) -> str:
    """Return the folder of the stage that drew a ticket; empty if it is unknown.

    ``ticket`` is the file in that folder, or the copy of it in a run's directory.
    """
    if ticket.name == TICKET:
        return str(ticket.parent)
    run = ticket.absolute().parent.parent
    if ticket.parent.name != TICKETS or not is_run(run):
        return ""
    for stage in stage_results(read_results(run / RESULTS)):
        if stage.works_as("draw") and ticket.name == copied_outputs.ticket_copy(run, stage.task, stage.name, stage.seed).name:
            return str(stage_folder(lab_of_run(run), stage.key))
    return ""


def resolve_for_tasks_and_seeds(field: str, value: str, recipe: Recipe, stage: Stage) -> Iterator[tuple[Input, str]]:
    """Yield what :func:`resolve_reference` returns for a stage's task, or each task of its recipe, and each seed.

    It is yielded once if it does not depend on them.
    """
    own = getattr(stage, "own_task", None)
    tasks = recipe.tasks if own is None else (own,)
    accepts = accepted_kinds(stage, field)
    cases = [(tasks[0], 0)] if set(accepts).isdisjoint(TICKETS_OF) else itertools.product(tasks, recipe.seeds)
    yield from (resolve_reference(field, value, accepts, task.label, seed) for task, seed in cases)


def _ticket_of_run(path: Path, task: str, seed: int) -> Path:
    """Return the ticket for a task and seed if ``path`` is the directory of a run, otherwise ``path``.

    :raises UsageError: the run has no such ticket, or several.
    """
    if not is_run(path):
        return path
    try:
        tasks = files.read_json(path / RESULTS)["tasks"]
        stages = tasks.get(task, {}).get(str(seed), {})
        draws = [name for name, stage in stages.items() if works_as(stage, "draw")]
        available = "; ".join(f"{name}: seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}" for name, seeds in tasks.items())
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{path / RESULTS}: not the results of a run, or damaged") from None
    if len(draws) > 1:
        raise UsageError(
            f"{path}: the run drew several tickets for each seed ({', '.join(draws)}); name one: "
            f"{copied_outputs.ticket_copy(path, task, draws[0], '{seed}')}"
        )
    if not draws:
        raise UsageError(f"{path}: the run drew no ticket for `{task}`, seed {seed} (it has {available})")
    return copied_outputs.ticket_copy(path, task, draws[0], seed)
