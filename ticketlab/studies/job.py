"""A job: one stage of a study as plain values, which a worker process or another machine can run without the study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, frozen

from ticketlab.backbone.device import pick_precision
from ticketlab.core.errors import TicketlabError
from ticketlab.lab.lab import Lab
from ticketlab.recipes.recipe import Recipe, build_recipe
from ticketlab.runs import listeners
from ticketlab.runs.input_cache import InputCache
from ticketlab.runs.log import Log
from ticketlab.runs.run_inputs import RunInputs, load_run_inputs
from ticketlab.runs.stage_runner import FinishedStage, StageRunner, TaskOfRun
from ticketlab.runs.stages_of_run import stages_of_run


@frozen
class Job:
    """A stage to compute. ``recipe`` is the table of a recipe of one task and seed, and ``keep`` the checkpoints that it must save.

    ``workers`` is the number of processes of an attack that names none.
    """

    key: str
    name: str
    recipe: Mapping[str, Any]
    recipe_name: str
    stage: str
    keep: Sequence[str] = ()
    workers: int | None = None

    @classmethod
    def of(cls, key: str, recipe: Recipe, stage: str, title: str, keep: Sequence[str], workers: int | None) -> Job:
        """Return the job of a stage of a recipe for one task and seed."""
        return cls(key, title, recipe.to_table(), recipe.name, stage, tuple(keep), workers)

    def to_table(self) -> dict[str, Any]:
        """Return the job as JSON values: the arguments of :class:`Job`."""
        return asdict(self, recurse=False)


def run_job(job: Job, lab: Lab, inputs: InputCache, log: Path | None) -> None:
    """Compute a stage, unless it is in the lab. The stages that it needs must be there.

    :raises TicketlabError: it fails; or the data, models or plugins here give it another key than where the job was made.
    """
    recipe = build_recipe(job.recipe_name, dict(job.recipe))
    run_stage(load_run_inputs(recipe, inputs), job.stage, lab, key=job.key, keep=job.keep, workers=job.workers, log=log)


def run_stage(
    inputs: RunInputs,
    name: str,
    lab: Lab,
    *,
    key: str,
    keep: Sequence[str],
    workers: int | None,
    log: Path | None,
) -> None:
    """Run the stage ``name`` of a recipe of one task and seed whose earlier stages are in the lab. Raises the errors of :func:`run_job`."""
    recipe = inputs.recipe
    (task,), (seed,) = recipe.tasks, recipe.seeds
    if workers is not None and getattr(recipe.stages[name], "workers", workers) is None:
        recipe = evolve(recipe, stages={**recipe.stages, name: evolve(recipe.stages[name], workers=workers)})  # type: ignore[call-arg]
    precision = pick_precision(recipe.precision)
    stage = next(stage for stage in stages_of_run(evolve(inputs, recipe=recipe), lab.stage, precision) if stage.name == name)
    finished = {earlier: FinishedStage(of_key, folder, {}) for earlier, (of_key, folder) in stage.earlier.items()}
    info = listeners.describe_run(recipe, lab.root if log is None else log.parent, precision)
    runner = StageRunner(inputs, lab, precision, Log(log, info), _check_key(key), {key: keep})
    runner.resources_checked = True  # those of all cells were checked before the first stage
    runner.run(name, recipe.stages[name], TaskOfRun(task.label, recipe, inputs.data[task.label], seed), finished)


def _check_key(expected: str) -> Callable[[str, str, str], None]:
    def check(task: str, stage: str, key: str) -> None:
        if key != expected:
            raise TicketlabError(
                f"{task} {stage}: here its key is {key[:12]}, and {expected[:12]} in the plan: the data, the model, a plugin or the number "
                "of threads is another one"
            )

    return check
