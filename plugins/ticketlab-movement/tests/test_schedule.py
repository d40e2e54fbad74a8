"""The schedule of the sparsity, worked out by hand, and that it never falls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ticketlab_movement.schedule import Schedule

FRACTIONS = st.floats(0, 1)


@pytest.mark.parametrize(
    ("step", "value"),
    [(0, 0), (10, 0), (24, 0.9 * (1 - 0.8**3)), (45, 0.9 * (1 - 0.5**3)), (66, 0.9 * (1 - 0.2**3)), (80, 0.9), (99, 0.9)],
)
def test_a_hundred_steps_with_a_warmup_of_ten_and_a_cooldown_of_twenty(step: int, value: float) -> None:
    assert Schedule.of(100, 0.1, 0.2, 0.9).at(step) == pytest.approx(value)


@given(st.integers(1, 60), FRACTIONS, FRACTIONS, FRACTIONS)
def test_it_never_falls_and_reaches_the_final_value_in_the_cooldown(steps: int, warmup: float, share: float, final: float) -> None:
    cooldown = (1 - warmup) * share
    schedule = Schedule.of(steps, warmup, cooldown, final)
    values = [schedule.at(step) for step in range(steps)]
    assert values == sorted(values)
    assert all(0 <= value <= final for value in values)
    assert values[schedule.end :] == [final] * (steps - schedule.end)
    assert not any(values[: min(schedule.start + 1, schedule.end)])


@pytest.mark.parametrize("step", [0, 1])
def test_without_room_for_a_rise_the_final_value_is_there_at_once(step: int) -> None:
    assert Schedule.of(2, 0.0, 1.0, 0.5).at(step) == 0.5
