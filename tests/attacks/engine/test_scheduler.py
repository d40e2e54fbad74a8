"""Many at once, and each as if it were alone."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
import torch
from torch import nn

pytest.importorskip("greenlet", reason="greenlet is not installed")

from ticketlab.attacks.engine.deadline import OutOfTime
from ticketlab.attacks.engine.scheduler import Scheduler
from ticketlab.inference import random_state
from ticketlab.inference.batch_invariant import BatchInvariantModel, merging


class Adder(nn.Module):
    """Adds up a row's numbers, and remembers what it was given together."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(()))
        self.batches = []
        self.pause = 0.0

    def forward(self, input_ids):
        self.batches.append(input_ids.tolist())
        time.sleep(self.pause * len(input_ids))
        if (input_ids == 13).any():
            raise IndexError("13 is out of range")
        return input_ids.sum(1)


def adder():
    model = Adder()
    ask = BatchInvariantModel(model, lambda batch, rows: model(**batch).tolist())
    ask._linears.complete = True  # sums are exact
    ask._is_steady = lambda row: True
    return ask


def row(*numbers):
    return {"input_ids": list(numbers)}


def fly(work, items, in_flight=64, **more):
    return list(Scheduler(work, in_flight=in_flight, **more).run(items))


def test_what_many_ask_is_answered_together():
    ask = adder()
    found = fly(lambda item: ask([row(item, 1)])[0] + ask([row(item, 2)])[0], range(20, 30))
    assert sorted(found) == [2 * item + 3 for item in range(20, 30)]
    assert [len(batch) for batch in ask.model.batches] == [10, 10]
    assert ask.rows == 20


def test_equal_rows_of_several_are_computed_once_and_each_row_goes_where_it_belongs():
    ask = adder()
    found = fly(lambda item: (item, ask([row(5, 5), row(item, 1), row(5, 5), row(1, 1, 1)])), range(3))
    assert sorted(found) == [(item, [10, item + 1, 10, 3]) for item in range(3)]
    assert ask.rows == 5


def test_no_more_are_in_flight_than_asked_for():
    ask = adder()
    now, most = set(), []

    def work(item):
        now.add(item)
        most.append(len(now))
        ask([row(item)])
        now.discard(item)
        return item

    assert sorted(fly(work, range(10), in_flight=3)) == list(range(10))
    assert max(most) == 3


def test_each_has_its_own_random_states_and_the_callers_are_left_alone():
    ask = adder()

    def work(item):
        random_state.seed_all(item)
        drawn = []
        for turn in range(3):
            drawn += [random.random(), float(np.random.rand()), float(torch.rand(()))]
            ask([row(item, turn)])
        return item, drawn

    before = random_state.RandomState.now()
    together = dict(fly(work, range(8)))
    assert random.getstate() == before.python
    assert torch.equal(torch.random.get_rng_state(), before.tensors)
    assert together == {item: work(item)[1] for item in range(8)}


def test_a_row_that_the_model_cannot_take_is_the_problem_of_who_asked():
    ask = adder()

    def work(item):
        try:
            return item, ask([row(item)])[0]
        except IndexError as problem:
            return item, str(problem)

    assert dict(fly(work, [12, 13, 14])) == {12: 12, 13: "13 is out of range", 14: 14}


def test_an_error_in_one_ends_the_run_and_the_others_cleanly():
    ask = adder()
    ended = []

    def work(item):
        try:
            ask([row(item)])
            if item == 2:
                raise KeyboardInterrupt
            ask([row(item, 1)])
        finally:
            ended.append(item)

    with pytest.raises(KeyboardInterrupt):
        fly(work, range(4))
    assert sorted(ended) == [0, 1, 2, 3]
    assert merging.get() is None


def test_the_time_of_waiting_does_not_count():
    ask = adder()
    ask.model.pause = 0.05

    def work(item):
        for turn in range(2):
            ask([row(item, turn)])
        return item

    # 12 rows a turn take 0.6 seconds together, and 0.05 are each one's share
    assert sorted(fly(work, range(12), timeout=0.5, late=lambda item: -1)) == list(range(12))


def test_models_time_counts_for_who_asked():
    ask = adder()
    ask.model.pause = 0.02

    def work(item):
        ask([row(item, 20 + turn) for turn in range(100 if item == 1 else 1)])
        ask([row(item, 0, 0)])
        return item

    begin = time.monotonic()
    assert sorted(fly(work, range(3), timeout=0.3, late=lambda item: -item)) == [-1, 0, 2]
    assert time.monotonic() - begin < 20


def test_a_long_row_costs_its_example_more_than_a_short_one_beside_it():
    ask = adder()
    ask.packing = type("Packing", (), {"works": lambda self, row: True, "inputs": None, "apart": None})()
    ask.batch = lambda rows: time.sleep(0.4) or [sum(row["input_ids"]) for row in rows]

    def work(item):
        ask([row(*[1] * item)])
        return item

    assert sorted(fly(work, [1, 19], timeout=0.3, late=lambda item: -item)) == [-19, 1]


def test_own_time_counts_even_in_a_loop_that_never_asks():
    def work(item):
        while item == 1:
            pass
        return item

    assert sorted(fly(work, range(3), timeout=0.3, late=lambda item: -item)) == [-1, 0, 2]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_finalizer_that_swallows_the_interruption_is_not_the_end_of_it():
    class Slow:
        def __del__(self):
            time.sleep(0.5)

    def work(item):
        Slow()
        while True:
            pass

    assert fly(work, [1], timeout=0.2, late=lambda item: "late") == ["late"]


def test_who_catches_everything_is_stopped_all_the_same():
    ask = adder()
    caught = []

    def work(item):
        for turn in range(10**6):
            try:
                time.sleep(0.4)
            except BaseException as problem:
                caught.append(type(problem))
            ask([row(item, turn)])

    assert fly(work, [1], timeout=0.2, late=lambda item: "late") == ["late"]
    assert caught == [OutOfTime]


def test_gradients_switched_off_in_one_stay_on_in_others():
    ask = adder()

    def work(item):
        if item:
            ask([row(1)])
            return torch.is_grad_enabled()
        with torch.no_grad():
            ask([row(2)])
            return torch.is_grad_enabled()

    assert fly(work, [0, 1], in_flight=2) in ([False, True], [True, False])
    assert torch.is_grad_enabled()


def test_nothing_to_do_is_done():
    assert fly(lambda item: item, []) == []
    assert fly(lambda item: adder()([]), [1]) == [[]]
