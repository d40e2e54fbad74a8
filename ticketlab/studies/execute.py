"""Executes the plan of a study: an executor computes each distinct stage once, and each cell is written when its stages are done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from attrs import define, evolve, field

from ticketlab.backbone.device import be_deterministic, pick_device, remember_shapes
from ticketlab.core import progress, registry
from ticketlab.core.errors import Damaged, OutOfSpace, TicketlabError
from ticketlab.core.formatting import counted, duration
from ticketlab.core.live import LiveLines
from ticketlab.executors.base import Executor, ExecutorRun, Outcome, Session, Work, WorkResources
from ticketlab.executors.local import Local
from ticketlab.executors.worker import Worker, call
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.runs.log import LogFile
from ticketlab.runs.run_inputs import RunInputs
from ticketlab.runs.stage_cache import has_checkpoints
from ticketlab.studies.gather import assemble
from ticketlab.studies.job import loaded_inputs, stage_work
from ticketlab.studies.memory import memory_of
from ticketlab.studies.monitor import MessageMonitor
from ticketlab.studies.plan import Plan, PlannedStage
from ticketlab.studies.remaining import Remaining
from ticketlab.studies.schedule import StageScheduler

CellDone = Callable[[int, Path | None, str], None]
"""Called with the position of a cell, the directory of its run or None, and its error."""
SECONDS_BETWEEN_LOOKS = 0.5
"""How often messages of workers are handled, and stages started for which there was no room, while none ends."""


@define
class Execution:
    """Executes a plan. ``jobs`` is that of :class:`ticketlab.executors.base.Session`.

    ``writes_runs`` tells whether the run of each cell is written when its stages are done. ``computed`` counts the stages that were not in
    the lab.
    """

    plan: Plan
    log: Path
    done: CellDone
    executor: Executor = field(factory=Local)
    jobs: int | None = None
    writes_runs: bool = True
    computed: int = 0
    _schedule: StageScheduler = field(init=False)
    _remaining: Remaining = field(init=False)
    _session: Session = field(init=False)
    _attempts: dict[str, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._schedule = StageScheduler(self.plan, self._resources)
        missing = {planned.key for planned in self.plan.stages.values() if not self.plan.lab.has(planned.key)}
        self._remaining = Remaining(self.plan, missing, self.executor.slots(self.jobs))
        place, selection = self.plan.lab.place, registry.current().selection
        self._session = Session(place, self.log, self.jobs, torch.get_num_threads(), selection)

    def run(self) -> None:
        """Compute what the lab lacks, and report every cell.

        :raises Interrupted: Ctrl-C; what is finished is in the lab.
        :raises OutOfSpace: the disk is full.
        """
        be_deterministic()
        remember_shapes()
        with progress.warnings_once(), progress.without_details(), loaded_inputs(self._inputs), LiveLines() as lines:
            self._prepare_attacks()
            monitor = MessageMonitor(LogFile(self.log), lambda key: self.plan.stages[key].title, lines)
            try:
                with self.executor.open(self._session, monitor.receive) as running:
                    self._run(running, monitor)
            finally:
                monitor.handle()  # what workers said before they stopped
        for number in range(len(self.plan.cells)):
            if not self._schedule.is_complete(number):
                self.done(number, None, self._schedule.error_of(number))

    def _prepare_attacks(self) -> None:
        """Load what the attacks need before the first stage is computed: what is missing is missed now, and not after hours of training."""
        missing = [self.plan.stages[key].stage for key in self._remaining.missing]
        attacks = {attack for stage in missing for attack in getattr(stage, "attacks", ())}
        for attack in attacks:
            attack.prepare()
        if attacks:
            import_textattack()

    def _run(self, running: ExecutorRun, monitor: MessageMonitor) -> None:
        here = Worker(self._session, monitor.receive)
        while self._schedule.left:
            while (planned := self._schedule.next(self._is_locked, lambda needed: self._accepts(running, needed))) is not None:
                if self._is_finished(planned):
                    self._end(planned, call(self._work(planned), here))
                else:
                    self._start(planned, running)
            if not self._schedule.left:
                return
            outcome = running.wait(SECONDS_BETWEEN_LOOKS)
            monitor.handle()
            if outcome is not None:
                monitor.lines.remove(outcome.key)
                self._end(self.plan.stages[outcome.key], outcome)

    def _accepts(self, running: ExecutorRun, needed: WorkResources) -> bool:
        try:
            return running.accepts(needed)
        except TicketlabError:
            return True  # never: starting it reports why

    def _start(self, planned: PlannedStage, running: ExecutorRun) -> None:
        self._announce(planned)
        work = self._work(planned)
        try:
            running.accepts(work.resources)
            running.start(work)
        except TicketlabError as problem:
            self._end(planned, Outcome(planned.key, error=str(problem)))

    def _work(self, planned: PlannedStage) -> Work:
        workers = self.executor.cpus(self.jobs) if self.executor.shares_machines(self.jobs) else None
        return stage_work(
            planned.key,
            planned.title,
            self._inputs(planned.key),
            planned.name,
            keep=sorted(planned.keep),
            workers=workers,
            resources=self._resources(planned),
        )

    def _inputs(self, key: str) -> RunInputs:
        """Return the inputs of a stage's first use, with the recipe of its task and seed alone."""
        planned = self.plan.stages[key]
        inputs = self.plan.cells[planned.cell].inputs
        assert inputs is not None
        return evolve(inputs, recipe=evolve(inputs.recipe.of(planned.task), seeds=(planned.seed,)))

    def _resources(self, planned: PlannedStage) -> WorkResources:
        inputs = self.plan.cells[planned.cell].inputs
        assert inputs is not None
        gpus = 0 if pick_device().type == "cpu" else 1
        return WorkResources(self.executor.cpus(self.jobs), gpus, memory_of(planned.stage, inputs))

    def _end(self, planned: PlannedStage, outcome: Outcome) -> None:
        """Note what became of a stage, and write the cells that are complete with it. Lost stages are started again.

        :raises OutOfSpace: the disk is full.
        """
        if outcome.out_of_space:
            raise OutOfSpace(outcome.error)
        if outcome.lost and self._may_retry(planned, outcome):
            return
        error = outcome.error
        if outcome.lost and self.executor.retries:
            error += f" ({counted(self.executor.retries + 1, 'time')})"
        self._remaining.finish(planned.key, error)
        if error:
            progress.warn(f"{planned.title}: {error}")
        for number in self._schedule.finish(planned.key, error):
            self._assemble(number)

    def _may_retry(self, planned: PlannedStage, outcome: Outcome) -> bool:
        lost = self._attempts[planned.key] = self._attempts.get(planned.key, 0) + 1
        if lost > self.executor.retries:
            return False
        progress.say(f"{planned.title}: {outcome.error}; it is started again from its last checkpoint ({lost} of {self.executor.retries})")
        self._schedule.retry(planned.key)
        return True

    def _assemble(self, number: int) -> None:
        """Write the run of a cell whose stages are all in the lab."""
        nothing = not self.writes_runs or self.plan.cells[number].same_as is not None
        self.done(number, *((None, "") if nothing else assemble(self.plan, number)))

    def _announce(self, planned: PlannedStage) -> None:
        if planned.key in self._attempts:
            return
        self.computed += 1
        self._remaining.start(planned.key)
        seconds = self._remaining.seconds(self._schedule)
        left = "" if seconds is None else f"; about {duration(seconds)} left"
        first, others = self.plan.cells[planned.cells[0]].cell.label, len(planned.cells) - 1
        of = f"{first} and {counted(others, 'other cell')}" if others else first
        number = len(self._schedule.done) + len(self._schedule.errors) + len(self._schedule.running)
        progress.say(f"stage {number} of {len(self.plan.stages)}: {planned.title} of {of}{left}")

    def _is_finished(self, planned: PlannedStage) -> bool:
        """Return whether the lab has a stage whole, with the checkpoints that others start from."""
        try:
            result = self.plan.lab.result(planned.key)
        except Damaged:
            return False
        return result is not None and has_checkpoints(self.plan.lab, planned.key, sorted(planned.keep), result)

    def _is_locked(self, key: str) -> bool:
        return self.plan.lab.is_locked(key)
