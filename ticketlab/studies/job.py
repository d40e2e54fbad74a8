"""A stage of a study as work for an executor: plain values, from which a worker on any machine computes it without the study."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from attrs import evolve

from ticketlab.backbone.device import pick_precision
from ticketlab.core.errors import TicketlabError
from ticketlab.executors.base import Work, WorkResources
from ticketlab.executors.messages import LOG
from ticketlab.executors.worker import Worker, place
from ticketlab.lab.open_lab import open_lab
from ticketlab.recipes.recipe import build_recipe
from ticketlab.runs import listeners
from ticketlab.runs.input_cache import InputCache
from ticketlab.runs.log import Log
from ticketlab.runs.run_inputs import RunInputs, load_run_inputs
from ticketlab.runs.stage_runner import FinishedStage, StageRunner, TaskOfRun
from ticketlab.runs.stages_of_run import stages_of_run
from ticketlab.studies.key_facts import differing, key_facts

FUNCTION = "ticketlab.studies.job:compute"
INPUTS = "inputs of stages"
"""What a worker keeps them under."""

_loaded: ContextVar[Callable[[str], RunInputs | None]] = ContextVar("_loaded", default=lambda key: None)


def stage_work(
    key: str, title: str, inputs: RunInputs, stage: str, keep: Sequence[str], workers: int | None, resources: WorkResources
) -> Work:
    """Return the work of a stage of a recipe of one task and seed, with its inputs. ``keep`` are the checkpoints that it must save.

    ``workers`` is the number of processes of an attack that names none.
    """
    recipe = inputs.recipe
    arguments = {
        "key": key,
        "recipe": recipe.to_table(),
        "recipe_name": recipe.name,
        "recipe_source": recipe.source,
        "stage": stage,
        "keep": list(keep),
        "workers": workers,
        "facts": key_facts(inputs),
    }
    return Work(key, title, FUNCTION, arguments, resources)


@contextlib.contextmanager
def loaded_inputs(find: Callable[[str], RunInputs | None]) -> Iterator[None]:
    """While the block runs, stages that are computed in this process take their inputs, by key, from ``find`` instead of loading them."""
    token = _loaded.set(find)
    try:
        yield
    finally:
        _loaded.reset(token)


def compute(arguments: Mapping[str, Any], worker: Worker) -> None:
    """Compute a stage, unless it is in the lab. The stages that it needs must be there.

    :raises TicketlabError: it fails; or the data, models or plugins here give it another key than where it was planned.
    """
    key, name, workers = str(arguments["key"]), str(arguments["stage"]), arguments["workers"]
    inputs = _loaded.get()(key) or _load(arguments, worker)
    recipe = inputs.recipe
    (task,), (seed,) = recipe.tasks, recipe.seeds
    if workers is not None and getattr(recipe.stages[name], "workers", workers) is None:
        recipe = evolve(recipe, stages={**recipe.stages, name: evolve(recipe.stages[name], workers=workers)})  # type: ignore[call-arg]
    lab, precision = open_lab(worker.session.lab), pick_precision(recipe.precision)
    stage = next(stage for stage in stages_of_run(evolve(inputs, recipe=recipe), lab.stage, precision) if stage.name == name)
    finished = {earlier: FinishedStage(of_key, folder, {}) for earlier, (of_key, folder) in stage.earlier.items()}
    log = Log(lambda record: worker.say(LOG, record), listeners.describe_run(recipe, worker.session.log.parent, precision))
    runner = StageRunner(inputs, lab, precision, log, _check_key(key, arguments["facts"], inputs), {key: arguments["keep"]})
    runner.resources_checked = True  # those of all cells were checked before the first stage
    runner.run(name, recipe.stages[name], TaskOfRun(task.label, recipe, inputs.data[task.label], seed), finished)


def _load(arguments: Mapping[str, Any], worker: Worker) -> RunInputs:
    cache, name = worker.kept.setdefault(INPUTS, InputCache()), str(arguments["recipe_name"])
    return load_run_inputs(build_recipe(name, dict(arguments["recipe"]), source=arguments["recipe_source"]), cache)


def _check_key(expected: str, planned: Mapping[str, str], inputs: RunInputs) -> Callable[[str, str, str], None]:
    def check(task: str, stage: str, key: str) -> None:
        if key != expected:
            differs = differing(planned, key_facts(inputs))
            raise TicketlabError(f"{task} {stage}: its key is {key[:12]} on {place()}, and {expected[:12]} in the plan: {differs}")

    return check
