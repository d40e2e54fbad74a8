"""The expected time until a study is done."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from support.small_study import small_study

from ticketlab.core import progress
from ticketlab.studies.remaining import Remaining
from ticketlab.studies.schedule import StageScheduler
from ticketlab.studies.study import run_study

UNITS = {"a": 100.0, "b": 200.0, "c": 50.0, "d": 1.0}


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A plan of three trainings, and a draw that needs the last of them."""
    kinds = {"a": "train", "b": "train", "c": "train", "d": "draw"}
    monkeypatch.setattr("ticketlab.studies.remaining.parts_of", lambda plan, key: [((kinds[key.key],), UNITS[key.key])])
    return SimpleNamespace(stages={key: SimpleNamespace(key=key, needs=("c",) if key == "d" else (), cells=[]) for key in UNITS})


def computed(remaining: Remaining, schedule: StageScheduler, now: list[float], seconds: float, error: str = "") -> None:
    planned = schedule.next()
    assert planned is not None
    remaining.start(planned.key)
    now[0] += seconds
    remaining.finish(planned.key, error)
    schedule.finish(planned.key, error)


def test_stages_left_are_expected_from_measured_ones_of_their_kind(plan: Any) -> None:
    now = [0.0]
    schedule, remaining = StageScheduler(plan), Remaining(plan, {"a", "b", "c"}, clock=lambda: now[0])
    assert remaining.seconds(schedule) is None
    computed(remaining, schedule, now, 10)  # 0.1 s a unit; b and c have 250
    assert remaining.seconds(schedule) == pytest.approx(25)
    remaining.start("b")
    now[0] += 5
    assert remaining.seconds(schedule) == pytest.approx(20)


def test_two_jobs_take_half_the_time(plan: Any) -> None:
    now = [0.0]
    schedule, remaining = StageScheduler(plan), Remaining(plan, {"a", "b", "c"}, jobs=2, clock=lambda: now[0])
    computed(remaining, schedule, now, 10)
    assert remaining.seconds(schedule) == pytest.approx(12.5)


def test_more_stages_at_a_time_than_known_in_advance_take_less_time(plan: Any) -> None:
    now = [0.0]
    schedule, remaining = StageScheduler(plan), Remaining(plan, {"a", "b", "c"}, clock=lambda: now[0])
    computed(remaining, schedule, now, 10)
    remaining.start("b")
    remaining.start("c")
    assert remaining.seconds(schedule) == pytest.approx(12.5)


def test_a_kind_that_was_not_measured_is_not_guessed_unless_it_is_blocked(plan: Any) -> None:
    now = [0.0]
    schedule, remaining = StageScheduler(plan), Remaining(plan, set(UNITS), clock=lambda: now[0])
    computed(remaining, schedule, now, 10)
    assert remaining.seconds(schedule) is None  # d, a draw
    computed(remaining, schedule, now, 20)
    computed(remaining, schedule, now, 1, error="it failed")
    assert remaining.seconds(schedule) == 0


def test_only_late_stages_of_a_study_say_what_is_left(small_recipe_file: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(progress, "say", lambda message, **_: said.append(message))
    run_study(small_study(small_recipe_file, {"sparsity": [0.3, 0.5]}), tmp_path / "lab")
    lines = [line for line in said if line.startswith("stage ")]
    assert "left" not in lines[0]
    assert lines[-1].endswith("left")
    assert "; about " in lines[-1]
