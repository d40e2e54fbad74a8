"""Inputs of a plan on a machine that lacks some of them: a data set or model that is not here is identified by its name and settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from attrs import define, field, frozen

from ticketlab.core.errors import ResourceError, Unavailable, UsageError
from ticketlab.core.settings import to_table
from ticketlab.runs import preflight
from ticketlab.runs.input_cache import InputCache
from ticketlab.runs.run_inputs import RunInputs, check_run_inputs
from ticketlab.runs.stage_key import StageFacts, StageKeys
from ticketlab.stages.base import Stage
from ticketlab.tasks.base import Task, TaskData

NAMED = "named:"
"""Prefix of the fingerprint of an input that was not read."""


@define
class PlannedInputs(InputCache):
    """Like :class:`InputCache`, but a missing data set is empty, and a missing model is its name. ``missing`` says what is missing."""

    missing: dict[str, None] = field(factory=dict)

    @property
    def complete(self) -> bool:
        """Whether everything has been found."""
        return not self.missing

    def check(self, loaded: RunInputs) -> RunInputs:
        """Check loaded inputs as a run does, unless some of them are missing. Resources of attacks that are not here are missing, too."""
        try:
            preflight.check_resources(loaded.recipe)
        except ResourceError as problem:
            self.missing[str(problem)] = None
        fingerprints = [data.fingerprint for data in (*loaded.data.values(), *loaded.sets.values(), *loaded.own.values())]
        if any(name.startswith(NAMED) for name in (*fingerprints, loaded.model)):
            return loaded
        loaded = check_run_inputs(loaded)
        loaded.report()
        return loaded

    def _read(self, task: Task, read: Callable[[], TaskData]) -> TaskData:
        try:
            return read()
        except Unavailable as problem:
            self.missing[str(problem)] = None
            identity = f"{NAMED}{json.dumps([task.name, to_table(task)], sort_keys=True)}"
            return TaskData(task.label, (), (), {"train": (), "dev": (), "test": ()}, identity)

    def _resolve(self, name: str) -> str:
        try:
            return super()._resolve(name)
        except UsageError as problem:
            return self._named(name, problem)

    def _fingerprint(self, model: str) -> str:
        try:
            return super()._fingerprint(model)
        except UsageError as problem:
            return self._named(model, problem)

    def _named(self, name: str, problem: UsageError) -> str:
        self.missing[str(problem)] = None
        return name if name.startswith(NAMED) else f"{NAMED}{name}"


@frozen
class PlannedStageKeys(StageKeys):
    """Like :class:`StageKeys`, but a text or another external input that is missing is identified by the settings that name it."""

    inputs: PlannedInputs = field(kw_only=True)

    def facts(self, stage: Stage) -> StageFacts:
        """Return the facts of a stage."""
        if id(stage) not in self._facts:
            try:
                facts = StageFacts.of(stage)
            except Unavailable as problem:
                self.inputs.missing[str(problem)] = None
                named = {path: f"{NAMED}{value}" for path, value in _texts_of_components(stage)}
                facts = StageFacts.of(stage, external_inputs=named)
            self._facts[id(stage)] = stage, facts
        return self._facts[id(stage)][1]


def _texts_of_components(stage: Stage) -> Iterator[tuple[str, str]]:
    """Yield the settings of a stage's components that are texts, such as the name of a data set, by path."""
    for name, component in to_table(stage).items():
        if isinstance(component, Mapping):
            yield from ((f"{name}.{key}", value) for key, value in component.items() if isinstance(value, str))
