"""The cubic schedule, and the steps and amounts of iterative pruning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticketlab.core.errors import SettingError
from ticketlab.pruners.schedule import cubic, prunings, step_at


@pytest.mark.parametrize(
    ("initial", "final", "time", "sparsity"),
    [
        (0.7, 0.9, 0, 0.7),
        (0.7, 0.9, 0.5, 0.7542),
        (0.7, 0.9, 1, 0.7976),
        (0.7, 0.9, 1.25, 0.815625),
        (0.7, 0.9, 2.5, 0.875),
        (0.7, 0.9, 3.5, 0.8946),
        (0.7, 0.9, 5, 0.9),
        (0.2, 0.9, 2.5, 0.8125),
        (0.7, 0.9, 6, 0.9),
    ],
)
def test_the_cubic_schedule_over_five_epochs(initial, final, time, sparsity):
    assert cubic(initial, final, time / 5) == pytest.approx(sparsity, abs=1e-12)


def test_a_cubic_schedule_ends_exactly_at_its_final_value():
    assert cubic(0.7, 0.9, 1.0) == 0.9
    assert cubic(0.1, 0.3, 1.5) == 0.3


def test_amounts_of_the_original_are_growing_amounts_of_the_remainder():
    reached = [pruning.sparsity for pruning in prunings(0.9, 0.1, 0.1, 100)]
    assert reached == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    amounts = [(after - before) / (1 - before) for before, after in zip([0.0, *reached], reached, strict=False)]
    assert amounts == pytest.approx([0.1, 0.1111, 0.125, 0.1429, 0.1667, 0.2, 0.25, 0.3333, 0.5], abs=5e-5)


@pytest.mark.parametrize(
    ("target", "amount", "interval", "steps", "expected"),
    [
        (0.3, 0.1, 0.1, 100, [(0, 0.1), (10, 0.2), (20, 0.3)]),
        (0.25, 0.1, 0.1, 100, [(0, 0.1), (10, 0.2), (20, 0.25)]),
        (0.05, 0.1, 0.1, 100, [(0, 0.05)]),
        (0.3, 0.3, 1.0, 7, [(0, 0.3)]),
        (0.0, 0.1, 0.1, 100, []),
        (0.5, 0.25, 1.0, 7, [(0, 0.25), (7, 0.5)]),
        (0.5, 0.1, 0.1, 5, [(0, 0.1), (1, 0.2), (1, 0.3), (2, 0.4), (2, 0.5)]),
        (0.9, 0.3, 1 / 3, 3, [(0, 0.3), (1, 0.6), (2, 0.9)]),
        (1.0, 0.5, 0.5, 1, [(0, 0.5), (1, 1.0)]),
    ],
    ids=["whole", "a smaller last one", "less than one", "one", "none", "last at the end", "few steps", "thirds", "everything"],
)
def test_times_and_sparsities_of_prunings(target, amount, interval, steps, expected):
    assert [(pruning.step, pruning.sparsity) for pruning in prunings(target, amount, interval, steps)] == expected


def test_half_steps_are_rounded_up():
    assert [step_at(k * 0.1, 5) for k in range(11)] == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_prunings_that_take_longer_than_the_training_are_refused():
    with pytest.raises(SettingError, match=r"interval: the sparsity 0\.9 takes 9 prunings of 0\.1 .*; with 0\.2 .* at 1\.6 of it"):
        prunings(0.9, 0.1, 0.2, 1000)


@given(
    target=st.floats(0, 1), amount=st.floats(0.004, 1), share=st.floats(0.001, 1), steps=st.integers(1, 10_000)
)  # fmt: skip
def test_prunings_rise_to_the_target_within_the_training(target, amount, share, steps):
    found = prunings(target, amount, share * min(1, amount / max(target, 1e-9)), steps)
    reached = [pruning.sparsity for pruning in found]
    assert len(found) <= 250
    assert reached == sorted(set(reached))
    assert all(0 <= pruning.step <= steps for pruning in found)
    assert [pruning.step for pruning in found] == sorted(pruning.step for pruning in found)
    assert (reached[-1] if reached else 0) == pytest.approx(target, abs=1e-8)
    if found:
        assert found[0].step == 0
        assert reached[-1] == target
        assert max(after - before for before, after in zip([0, *reached], reached, strict=False)) <= amount + 1e-8
