"""Stop rules that silently break their contract fail in the conformance test that is about it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from attrs import frozen
from support.suite_outcomes import failures_of
from torch import Tensor

from ticketlab.plugin import Monitor, Observation, StopRule, TrainingPlan
from ticketlab.testing import StopRuleTests


class Base(StopRule):
    """Stops by the monitor that a subclass names."""

    name: ClassVar[str] = "broken"
    summary: ClassVar[str] = "stops after a while"
    monitor: ClassVar[type[Monitor]]

    def begin(self, plan: TrainingPlan) -> Monitor:
        return self.monitor()


def broken(monitor: type[Monitor], **facts: Any) -> type[StopRule]:
    return frozen(type(f"Of{monitor.__name__}", (Base,), {"monitor": monitor, "__module__": __name__, **facts}))


class Counting(Monitor):
    """Ends the search after five observations."""

    def __init__(self) -> None:
        self.count = 0
        self.last = 0.0

    def observe(self, observation: Observation) -> bool:
        self.count += 1
        self.last = self.last / 2 + self.count
        return self.count >= 5


class Saved(Counting):
    def state_dict(self) -> dict[str, Tensor]:
        return {"count": torch.tensor(self.count), "last": torch.tensor(self.last, dtype=torch.float64)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.count, self.last = int(state["count"]), float(state["last"])

    def metrics(self) -> dict[str, float]:
        return {"last": self.last}


class ChangesWhenRead(Saved):
    def metrics(self) -> dict[str, float]:
        self.count += 1
        return {"count": float(self.count)}


class SavesHalf(Saved):
    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.count = int(state["count"])


class Guesses(Monitor):
    guess = 0.0

    def observe(self, observation: Observation) -> bool:
        self.guess = random.random()
        return self.guess < 0.5

    def metrics(self) -> dict[str, float]:
        return {"guess": self.guess}


class ReturnsATensor(Monitor):
    def observe(self, observation: Observation) -> Any:
        return torch.tensor(observation.step > 3)


class Sorts(Monitor):
    def observe(self, observation: Observation) -> bool:
        for score in observation.scores().values():
            score.copy_(score.sort().values)
        return False


class Judges(Monitor):
    def observe(self, observation: Observation) -> bool:
        return observation.development() > 0.7


class DrawsEarlier(Saved):
    def draw_from(self) -> tuple[int, Mapping[str, Tensor]] | None:
        return 1, {"heads/0": torch.zeros(4)}


class Divides(Monitor):
    def observe(self, observation: Observation) -> bool:
        return False

    def metrics(self) -> dict[str, float]:
        return {"ratio": float("inf")}


SAME = "test_the_same_observations_give_the_same_verdicts"
RESTORED = "test_a_monitor_that_is_restored_decides_the_same"
KILLED = "test_a_run_that_is_killed_in_steps_ends_with_the_same_bits"
SAYS = "test_it_evaluates_only_if_it_says_so"


@pytest.mark.parametrize(
    ("component", "test", "message"),
    [
        pytest.param(broken(Counting), RESTORED, "return all that it remembers", id="forgotten state"),
        pytest.param(broken(Counting), KILLED, "killed and resumed differs", id="forgotten state, in a run"),
        pytest.param(broken(SavesHalf), RESTORED, "return all that it remembers", id="half restored"),
        pytest.param(broken(SavesHalf), "test_the_state_that_was_saved_is_restored", "does not restore", id="half restored, in a run"),
        pytest.param(broken(Guesses), SAME, "decide on the observations alone", id="random verdict"),
        pytest.param(broken(ReturnsATensor), SAME, "observe returned Tensor", id="no boolean"),
        pytest.param(broken(ChangesWhenRead), SAME, "let it change nothing", id="metrics with effects"),
        pytest.param(broken(Divides), SAME, "no finite number", id="metrics"),
        pytest.param(broken(Sorts), "test_observations_are_left_alone", "work on a copy", id="scores in place"),
        pytest.param(broken(Judges, judges=False), SAYS, "leave out `judges = False`", id="judges"),
        pytest.param(broken(DrawsEarlier), SAYS, "let `draws_earlier` return True", id="draws earlier"),
    ],
)
def test_a_breach_is_found(component: type[StopRule], test: str, message: str, tmp_path: Path) -> None:
    failures = failures_of(StopRuleTests, test, tmp_path, component=component)
    assert any(message in failure for failure in failures.values()), "\n".join(failures.values())


@pytest.mark.parametrize("test", [SAME, RESTORED, SAYS])
def test_a_rule_that_keeps_the_contract_passes(test: str, tmp_path: Path) -> None:
    assert not failures_of(StopRuleTests, test, tmp_path, component=broken(Saved, judges=False))
