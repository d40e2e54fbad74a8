"""Runs a recipe whose stages an executor computes: several tasks, seeds and branches of the recipe at a time."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core.errors import TicketlabError
from ticketlab.executors.base import Executor
from ticketlab.executors.local import Local
from ticketlab.lab.open_lab import lab_folder, open_lab
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs.run import Run, inputs_of_run, run_loaded
from ticketlab.studies.execute import Execution
from ticketlab.studies.plan import plan_run
from ticketlab.studies.threads import threads_of_a_stage


def run(
    recipe: Recipe, lab: str | Path = "lab", *, executor: Executor | None = None, jobs: int | None = None, name: str | None = None
) -> Run:
    """Run a recipe as :func:`ticketlab.runs.run.run` does, by default with the executor ``local``. The results are the same.

    All stages that can be computed are, also if others fail.

    :raises TicketlabError: a stage has failed, or any error of :func:`ticketlab.runs.run.run`.
    """
    executor, place = executor or Local(), open_lab(lab_folder(lab))
    with threads_of_a_stage(executor, jobs):
        inputs = inputs_of_run(recipe, name)

        def compute(log: Path) -> None:
            errors: list[str] = []
            plan = plan_run(inputs, place)
            Execution(plan, log, lambda number, run, error: errors.append(error), executor, jobs, writes_runs=False).run()
            if errors[0]:
                raise TicketlabError(errors[0])

        return run_loaded(inputs, place, name=name, compute=compute)
