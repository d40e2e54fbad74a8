"""The conformance tests of stop rules."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import attrs
import torch
from torch import Tensor

from ticketlab.core.component import Component
from ticketlab.stop_rules.base import Observation, StopRule
from ticketlab.testing.training_tests import TrainingTests
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.trial import same_state
from ticketlab.testing.trials.workspace import Workspace
from ticketlab.training.plan import TrainingPlan

OBSERVATIONS = 12
PER_EPOCH = 4
"""Observations in an epoch."""


class StopRuleTests(TrainingTests):
    """The tests of a stop rule, with a search whose scores and accuracy settle in the course of 12 observations."""

    component: ClassVar[type[StopRule]]
    setting: ClassVar[str] = "stop"
    stage: ClassVar[Mapping[str, Any]] = {"kind": "search", "start": "pretrained", "pruner": "importance"}
    other_stages: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"kind": "search", "start": "pretrained", "pruner": "hard-concrete", "adversary": {"name": "freelb", "steps": 2}},
    )

    def test_the_same_observations_give_the_same_verdicts(self, made: Component, workspace: Workspace) -> None:
        """Two monitors that observe the same search decide the same, return booleans, and report finite numbers."""
        plan = self._plan(made, workspace)
        first, second = (self._watch(made, plan) for _ in range(2))
        require(first == second, "two monitors that observe the same differ: decide on the observations alone")
        for verdict, metrics, _ in first:
            require(isinstance(verdict, bool), f"observe returned {type(verdict).__name__}: return True to end the search, else False")
            wrong = [name for name, value in metrics.items() if not isinstance(value, (int, float)) or not math.isfinite(value)]
            require(not wrong, f"metrics() has `{next(iter(wrong), '')}`, which is no finite number")

    def test_a_monitor_that_is_restored_decides_the_same(self, made: Component, workspace: Workspace) -> None:
        """A monitor that is restored after any observation goes on to decide and report as the first one."""
        plan = self._plan(made, workspace)
        whole = self._watch(made, plan)
        for index in range(1, len(whole)):
            restored = self._watch(made, plan, restored_at=index)
            require(
                restored == whole,
                f"a monitor that is restored after observation {index} decides or reports otherwise: return all that it remembers between "
                "observations from state_dict",
            )

    def test_observations_are_left_alone(self, made: Component, workspace: Workspace) -> None:
        """The scores that a monitor sees have the same values afterwards."""
        monitor, scores = cast(StopRule, made).begin(self._plan(made, workspace)), scores_at(1)
        before = {name: score.clone() for name, score in scores.items()}
        monitor.observe(Observation(1, 0.25, lambda: scores, lambda: 0.5))
        changed = same_state(before, scores)
        require(not changed, f"observe changes the scores `{changed}`: work on a copy")

    def test_it_evaluates_only_if_it_says_so(self, made: Component, workspace: Workspace) -> None:
        """A rule with ``judges = False`` never evaluates the development examples, and one that draws earlier says so."""
        rule = cast(StopRule, made)
        monitor = rule.begin(self._plan(made, workspace))
        evaluated: list[int] = []

        def development() -> float:
            evaluated.append(1)
            return 0.5

        for index in range(OBSERVATIONS):
            if monitor.observe(attrs.evolve(observation_at(index), development=development)):
                break
        require(rule.judges or not evaluated, "observe calls development(): leave out `judges = False`, so that the key has its sparsity")
        earlier = monitor.draw_from()
        require(rule.draws_earlier or earlier is None, "draw_from names an earlier observation: let `draws_earlier` return True")
        if earlier is not None:
            step, scores = earlier
            known = {observation_at(index).step for index in range(OBSERVATIONS)}
            require(step in known, f"draw_from returned the step {step}, at which nothing was observed")
            require(scores.keys() == scores_at(0).keys(), "draw_from returned scores of other units than were observed")

    def _plan(self, made: Component, workspace: Workspace) -> TrainingPlan:
        """Return the plan of a search."""
        return self._trial(made, workspace).runs.plan("stop rule", 0.3)

    @staticmethod
    def _watch(made: Component, plan: TrainingPlan, *, restored_at: int = 0) -> Sequence[tuple[Any, dict[str, float], int | None]]:
        """Return the verdict, the metrics and the step to draw from after each observation, up to the end of the search."""
        monitor, seen = cast(StopRule, made).begin(plan), []
        for index in range(OBSERVATIONS):
            if index and index == restored_at:
                state = {name: value.clone() for name, value in monitor.state_dict().items()}
                monitor = cast(StopRule, made).begin(plan)
                monitor.load_state_dict(state)
            verdict = monitor.observe(observation_at(index))
            earlier = monitor.draw_from()
            metrics = dict(monitor.metrics())
            require(metrics == monitor.metrics(), "metrics() returns other numbers when it is called again: let it change nothing")
            seen.append((verdict, metrics, None if earlier is None else earlier[0]))
            if verdict:
                break
        return seen


def observation_at(index: int) -> Observation:
    """Return an observation of a search that settles."""
    accuracies = (0.5, 0.6, 0.7, 0.75, 0.75, 0.74, 0.76, 0.76, 0.75, 0.76, 0.76, 0.76)
    step = index + 1
    return Observation(step, step / PER_EPOCH, lambda: scores_at(index), lambda: accuracies[index])


def scores_at(index: int) -> dict[str, Tensor]:
    """Return the scores of two groups of units at an observation; their changes halve each time."""
    generator = torch.Generator().manual_seed(11)
    scores = {}
    for name, size in (("heads/0", 4), ("heads/1", 4), ("neurons/0", 64), ("neurons/1", 64)):
        settled, noise = (
            torch.rand(size, generator=generator),
            torch.randn(size, generator=torch.Generator().manual_seed(100 * index + size)),
        )
        scores[name] = settled + noise * 0.5**index
    return scores
