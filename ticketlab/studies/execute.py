"""Executes the plan of a study: each distinct stage once, in this process or in several, and each cell as soon as its stages are done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import torch
from attrs import define, evolve, field

from ticketlab.backbone.device import be_deterministic, remember_shapes
from ticketlab.core import progress
from ticketlab.core.errors import Interrupted, OutOfSpace, TicketlabError
from ticketlab.core.formatting import counted
from ticketlab.lab.layout import RESULT
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.runs.run import run_loaded
from ticketlab.studies.estimate import duration
from ticketlab.studies.job import Job, run_stage
from ticketlab.studies.job_errors import message_of
from ticketlab.studies.plan import Plan, PlannedStage
from ticketlab.studies.remaining import Remaining
from ticketlab.studies.schedule import Schedule
from ticketlab.studies.workers import Workers

CellDone = Callable[[int, Path | None, str], None]
"""Called with the position of a cell, the directory of its run or None, and its error."""


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_per_job(jobs: int) -> int:
    """Return the number of threads of each job: the threads of this process divided among the jobs, at least one.

    It is part of the keys of stages on a CPU, whose last bits depend on it: set it before planning.
    """
    return max(1, torch.get_num_threads() // jobs)


@define
class Execution:
    """Executes a plan. ``computed`` counts the stages that were not in the lab, and ``seconds`` their time."""

    plan: Plan
    log: Path
    done: CellDone
    jobs: int = 1
    computed: int = 0
    _schedule: Schedule = field(init=False)
    _remaining: Remaining = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._schedule = Schedule(self.plan)
        missing = {planned.key for planned in self.plan.stages.values() if not self.is_in_lab(planned)}
        self._remaining = Remaining(self.plan, missing, self.jobs)

    def run(self) -> None:
        """Compute what the lab lacks, and report every cell.

        :raises Interrupted: Ctrl-C; what is finished is in the lab.
        :raises OutOfSpace: the disk is full.
        """
        be_deterministic()
        remember_shapes()
        with progress.warnings_once(), progress.without_details():
            self._prepare_attacks()
            if self.jobs == 1:
                self._run_here()
            else:
                self._run_in_workers()
        for number, cell in enumerate(self.plan.cells):
            if not self._schedule.is_complete(number):
                self.done(number, None, self._schedule.error_of(number) or cell.error)

    def _prepare_attacks(self) -> None:
        """Load what the attacks need before the first stage is computed: what is missing is missed now, and not after hours of training."""
        missing = [self.plan.stages[key].stage for key in self._remaining.missing]
        attacks = {attack for stage in missing for attack in getattr(stage, "attacks", ())}
        for attack in attacks:
            attack.prepare()
        if attacks:
            import_textattack()

    def _run_here(self) -> None:
        while (planned := self._schedule.next(self._is_locked)) is not None:
            self._announce(planned)
            error = ""
            try:
                self._compute(planned)
            except (Interrupted, OutOfSpace):
                raise
            except Exception as problem:
                error = message_of(problem)
            self._finish(planned, error)

    def _compute(self, planned: PlannedStage) -> None:
        cell = self.plan.cells[planned.cell]
        assert cell.inputs is not None
        inputs = evolve(cell.inputs, recipe=evolve(cell.inputs.recipe.of(planned.task), seeds=(planned.seed,)))
        keep = sorted(planned.keep)
        run_stage(inputs, planned.name, self.plan.lab, key=planned.key, keep=keep, workers=self._attack_workers(), log=self.log)

    def _run_in_workers(self) -> None:
        with Workers(self.jobs, self.plan.lab.root, self.log, threads_per_job(1)) as workers:
            while self._schedule.left:
                while workers.idle and (planned := self._schedule.next(self._is_locked)) is not None:
                    self._announce(planned)
                    workers.start(self._job(planned))
                key, error = workers.wait()
                self._finish(self.plan.stages[key], error)

    def _job(self, planned: PlannedStage) -> Job:
        cell = self.plan.cells[planned.cell]
        assert cell.inputs is not None
        recipe = evolve(cell.inputs.recipe.of(planned.task), seeds=(planned.seed,))
        return Job.of(planned.key, recipe, planned.name, planned.title, sorted(planned.keep), self._attack_workers())

    def _attack_workers(self) -> int | None:
        """Return how many processes an attack may start so that all jobs together use each core once."""
        return None if self.jobs == 1 else max(1, cores() // self.jobs)

    def _finish(self, planned: PlannedStage, error: str) -> None:
        self._remaining.finish(planned.key, error)
        if error:
            progress.warn(f"{planned.title}: {error}")
        for number in self._schedule.finish(planned.key, error):
            self._assemble(number)

    def _assemble(self, number: int) -> None:
        """Write the run of a cell whose stages are all in the lab."""
        cell = self.plan.cells[number]
        assert cell.inputs is not None
        if cell.same_as is not None:
            self.done(number, None, "")
            return
        try:
            with progress.silent():
                finished = run_loaded(cell.inputs, self.plan.lab)
        except TicketlabError as problem:
            self.done(number, None, str(problem))
        else:
            self.done(number, finished.directory, "")

    def _announce(self, planned: PlannedStage) -> None:
        if self.is_in_lab(planned):
            return
        self.computed += 1
        self._remaining.start(planned.key)
        seconds = self._remaining.seconds(self._schedule)
        left = "" if seconds is None else f"; about {duration(seconds)} left"
        first, others = self.plan.cells[planned.cells[0]].cell.label, len(planned.cells) - 1
        of = f"{first} and {counted(others, 'other cell')}" if others else first
        number = len(self._schedule.done) + len(self._schedule.errors) + len(self._schedule.running)
        progress.say(f"stage {number} of {len(self.plan.stages)}: {planned.title} of {of}{left}")

    def is_in_lab(self, planned: PlannedStage) -> bool:
        """Return whether the lab has a stage."""
        return (self.plan.lab.stage(planned.key) / RESULT).is_file()

    def _is_locked(self, key: str) -> bool:
        return self.plan.lab.is_locked(key)
