"""Stop rules on artificial scores: when they observe, when they stop, and that a resumed search does the same."""

import math

import pytest
import torch

from ticketlab.core.settings import build_component
from ticketlab.stop_rules.base import Monitor, Observation
from ticketlab.stop_rules.callback import StopRuleCallback
from ticketlab.stop_rules.mask_distance import MaskDistance, distances
from ticketlab.training.plan import TrainingPlan

PLAN = TrainingPlan(torch.nn.Linear(1, 1), steps=1000, seed=0)


def observation(scores=None, *, step=1, epoch=0.05, development=0.0) -> Observation:
    return Observation(step, epoch, lambda: scores, lambda: development)


def four(*heads: float) -> dict:
    """Scores of two layers of two heads, and of neurons that never change."""
    values = torch.tensor(heads)
    return {"heads/0": values[:2], "heads/1": values[2:], "neurons/0": torch.arange(10.0)}


def test_distance_is_the_fraction_of_units_that_differ_in_each_group():
    before = {"heads/0": torch.tensor([True, False]), "heads/1": torch.tensor([True, True]), "neurons/0": torch.ones(5, dtype=torch.bool)}
    after = {"heads/0": torch.tensor([False, True]), "heads/1": torch.tensor([True, True]), "neurons/0": torch.arange(5) > 0}
    assert distances(before, after) == {"heads": 0.5, "neurons": 0.2}


def test_mask_distance_stops_after_enough_consecutive_observations_below_the_threshold():
    monitor = MaskDistance(heads=0.25, neurons=0.3, times=2).begin(PLAN)
    first, other = four(0.1, 2, 3, 4), four(1, 2, 0.1, 4)
    assert [monitor.observe(observation(scores)) for scores in (first, first, other, other, other)] == [False, False, False, False, True]


def test_mask_distance_needs_both_heads_and_neurons_to_settle():
    monitor = MaskDistance(heads=0.25, neurons=0.5, times=1).begin(PLAN)
    moved = {**four(0.1, 2, 3, 4), "neurons/0": torch.arange(10.0).flip(0)}
    assert not monitor.observe(observation(four(0.1, 2, 3, 4)))
    assert not monitor.observe(observation(moved))
    assert dict(monitor.metrics()) == {"heads": 0.0, "neurons": 1.0, "under": 0}
    assert monitor.observe(observation(moved))


@pytest.mark.parametrize(
    ("compare", "draw_at", "ends", "drawn"),
    [("consecutive", "last", 4, None), ("consecutive", "first", 4, 1), ("first", "last", 5, None), ("first", "first", 5, 2)],
)
def test_observations_are_compared_and_drawn_as_in_the_paper_or_as_in_its_code(compare, draw_at, ends, drawn):
    """Five of ten neurons are removed. Up to observation 3 each mask differs from the one before by 0.2 (below 0.3); then none changes.

    Observations 2, 3 and 4 agree with the one before. Observations 1 and 3 differ by 0.4, so the first one that agrees with the three
    after it is observation 2.
    """

    def neurons(moved: int) -> dict:
        order = [*range(5 - moved), *range(5, 5 + moved), *range(5 - moved, 5), *range(5 + moved, 10)]
        values = torch.empty(10)
        values[order] = torch.arange(10.0)
        return {"neurons/0": values}

    monitor = MaskDistance(neurons=0.5, threshold=0.3, times=3, compare=compare, draw_at=draw_at).begin(PLAN)
    moves = [0, 1, 2, 2, 2, 2, 2]
    stops = [monitor.observe(observation(neurons(moved), step=step)) for step, moved in enumerate(moves, start=1)]
    assert stops.index(True) + 1 == ends
    found = MaskDistance(neurons=0.5, threshold=0.3, times=3, compare=compare, draw_at=draw_at).begin(PLAN)
    for step, moved in enumerate(moves[:ends], start=1):
        found.observe(observation(neurons(moved), step=step))
    step, scores = found.draw_from() or (None, {})
    assert step == drawn
    assert all(torch.equal(score, neurons(moves[step - 1])[name]) for name, score in scores.items())


def test_equal_scores_are_never_compared():
    monitor = MaskDistance(heads=0.25, times=1).begin(PLAN)
    equal = four(1, 1, 1, 1)
    assert not any(monitor.observe(observation(equal)) for _ in range(5))
    assert "heads" not in monitor.metrics()


def test_the_first_observation_compares_nothing():
    monitor = MaskDistance(heads=0.25, times=1).begin(PLAN)
    assert not monitor.observe(observation(four(0.1, 2, 3, 4)))
    assert monitor.observe(observation(four(0.1, 2, 3, 4)))


def test_each_layer_may_be_ranked_separately():
    rule = MaskDistance(heads=0.5, neurons=0.0, heads_scope="local")
    masks = rule.masks(four(1, 2, 30, 40))
    assert masks["heads/0"].tolist() == [False, True]
    assert masks["heads/1"].tolist() == [False, True]


def test_fixed_stops_at_its_time_and_not_before():
    monitor = build_component("stop rule", {"name": "fixed", "at": 0.2}, "").begin(PLAN)
    assert [monitor.observe(observation(epoch=epoch)) for epoch in (0.05, 0.1, 0.15000000000000002, 0.2)] == [False, False, False, True]


def test_patience_counts_observations_without_a_new_best():
    monitor = build_component("stop rule", {"name": "patience", "looks": 2}, "").begin(PLAN)
    assert [monitor.observe(observation(development=accuracy)) for accuracy in (0.5, 0.6, 0.55, 0.7, 0.7, 0.69)] == [*[False] * 5, True]


def stopping(rule, scores, log=None, steps_per_epoch=40) -> StopRuleCallback:
    return StopRuleCallback(
        rule,
        rule.begin(PLAN),
        steps_per_epoch=steps_per_epoch,
        scores=scores,
        development=lambda: 0.5,
        log=(log if log is not None else []).append,
    )


@pytest.mark.parametrize(("steps_per_epoch", "expected"), [(40, [2, 4, 6, 8, 10]), (50, [3, 5, 8, 10]), (7, list(range(1, 11)))])
def test_a_mini_epoch_is_a_twentieth_of_an_epoch_and_at_least_a_step(steps_per_epoch, expected):
    seen = []

    def scores():
        seen.append(len(taken))
        return four(0.1, 2, 3, 4)

    taken: list[int] = []
    callback = stopping(MaskDistance(times=100), scores, steps_per_epoch=steps_per_epoch)
    for step in range(10):
        taken.append(step)
        callback.on_step_end(step)
    assert seen == expected


class Walk:
    """Scores that change less and less."""

    def __init__(self):
        self.step = 0

    def __call__(self):
        noise = torch.Generator().manual_seed(self.step)
        spread = 1 / (1 + self.step)
        return {
            "heads/0": torch.arange(12.0) + 20 * spread * torch.rand(12, generator=noise),
            "neurons/0": torch.arange(64.0) + 90 * spread * torch.rand(64, generator=noise),
        }


def run(walk, callback, start: int, stop: int) -> int | None:
    for step in range(start, stop):
        walk.step = step
        if callback.on_step_end(step):
            return step
    return None


@pytest.mark.parametrize("rule", [MaskDistance(), MaskDistance(compare="first", draw_at="first")], ids=["paper", "code"])
def test_a_resumed_search_stops_at_the_same_step_with_the_same_observations(rule):
    walk = Walk()
    whole = stopping(rule, walk)
    end = run(walk, whole, 0, 400)
    assert end is not None
    for cut in (1, 5, end // 2, end - 1):
        walk = Walk()
        before = stopping(rule, walk)
        assert run(walk, before, 0, cut) is None
        after = stopping(rule, walk)
        after.load_state_dict({name: value.clone() for name, value in before.state_dict().items()})
        assert run(walk, after, cut, 400) == end
        assert after.report() == whole.report()


def test_a_search_that_never_settles_is_reported_with_its_distances():
    flip = iter(range(1000))
    callback = stopping(MaskDistance(heads=0.25), lambda: four(0.1, 2, 3, 4) if next(flip) % 2 else four(1, 2, 3, 0.1))
    assert run(Walk(), callback, 0, 40) is None
    words = callback.unmet("search", 40)
    assert words is not None
    assert "mask-distance" in words
    assert "heads 0.5" in words
    assert callback.report()["stopped"] is False
    assert len(callback.report()["looks"]) == 20


def test_observations_are_logged():
    log: list = []
    callback = stopping(MaskDistance(heads=0.25), lambda: four(0.1, 2, 3, 4), log)
    run(Walk(), callback, 0, 4)
    assert log[-1] == {"event": "look", "rule": "mask-distance", "epoch": 0.1, "step": 4, "heads": 0, "neurons": 0, "under": 1}


def test_without_a_stop_rule_there_is_no_warning():
    callback = stopping(build_component("stop rule", "none", ""), lambda: {})
    assert run(Walk(), callback, 0, 100) is None
    assert callback.unmet("search", 100) is None
    assert callback.observations == []


def test_a_whole_search_shorter_than_a_mini_epoch_has_nothing_to_compare():
    callback = stopping(MaskDistance(), lambda: four(0.1, 2, 3, 4), steps_per_epoch=1000)
    assert run(Walk(), callback, 0, 10) is None
    assert "never had anything to compare" in (callback.unmet("search", 10) or "")
    assert math.isclose(MaskDistance().heads, 1 / 6)


def test_a_monitor_gets_the_events_of_a_callback_and_may_end_the_search_at_any_step():
    class Counting(Monitor):
        def __init__(self) -> None:
            self.events: list[str] = []

        def on_train_start(self, optimizer):
            self.events.append("start")

        def on_step_start(self, step):
            self.events.append(f"step {step}")

        def on_pass_start(self, index):
            self.events.append("pass")

        def on_after_backward(self):
            self.events.append("backward")

        def on_step_end(self, step):
            return step == 1

        def observe(self, observation):
            return False

    monitor = Counting()
    rule = MaskDistance()
    callback = StopRuleCallback(rule, monitor, steps_per_epoch=1000, scores=dict, development=float, log=lambda record: None)
    callback.on_train_start(None)
    ends = []
    for step in range(2):
        callback.on_step_start(step)
        callback.on_pass_start(0)
        callback.on_after_backward()
        ends.append(callback.on_step_end(step))
    assert monitor.events == ["start", *("step 0", "pass", "backward"), *("step 1", "pass", "backward")]
    assert (ends, callback.stopped) == ([False, True], True)
