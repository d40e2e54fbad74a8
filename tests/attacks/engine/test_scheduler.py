"""The scheduler runs many examples at once, and each gives the same result as if it ran alone."""

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
from ticketlab.inference.batch_invariant import BatchInvariantModel, submit_request


class Adder(nn.Module):
    """Sums the numbers of a row, and records its batches."""

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
    ask._is_batch_invariant = lambda row: True
    return ask


def row(*numbers):
    return {"input_ids": list(numbers)}


def schedule(work, items, in_flight=64, **more):
    return list(Scheduler(work, in_flight=in_flight, **more).run(items))


def test_requests_of_many_examples_are_merged_into_one_batch():
    ask = adder()
    found = schedule(lambda item: ask([row(item, 1)])[0] + ask([row(item, 2)])[0], range(20, 30))
    assert sorted(found) == [2 * item + 3 for item in range(20, 30)]
    assert [len(batch) for batch in ask.model.batches] == [10, 10]
    assert ask.rows == 20


def test_equal_rows_are_computed_once_and_every_request_gets_its_own_results():
    ask = adder()
    found = schedule(lambda item: (item, ask([row(5, 5), row(item, 1), row(5, 5), row(1, 1, 1)])), range(3))
    assert sorted(found) == [(item, [10, item + 1, 10, 3]) for item in range(3)]
    assert ask.rows == 5


def test_at_most_the_configured_number_is_in_flight():
    ask = adder()
    now, most = set(), []

    def work(item):
        now.add(item)
        most.append(len(now))
        ask([row(item)])
        now.discard(item)
        return item

    assert sorted(schedule(work, range(10), in_flight=3)) == list(range(10))
    assert max(most) == 3


def test_each_example_has_its_own_random_states_and_the_callers_are_unchanged():
    ask = adder()

    def work(item):
        random_state.seed_all(item)
        drawn = []
        for turn in range(3):
            drawn += [random.random(), float(np.random.rand()), float(torch.rand(()))]
            ask([row(item, turn)])
        return item, drawn

    before = random_state.RandomState.now()
    together = dict(schedule(work, range(8)))
    assert random.getstate() == before.python
    assert torch.equal(torch.random.get_rng_state(), before.tensors)
    assert together == {item: work(item)[1] for item in range(8)}


def test_a_row_that_the_model_cannot_process_fails_only_its_own_request():
    ask = adder()

    def work(item):
        try:
            return item, ask([row(item)])[0]
        except IndexError as problem:
            return item, str(problem)

    assert dict(schedule(work, [12, 13, 14])) == {12: 12, 13: "13 is out of range", 14: 14}


def test_an_uncaught_error_ends_the_run_and_cancels_the_other_examples():
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
        schedule(work, range(4))
    assert sorted(ended) == [0, 1, 2, 3]
    assert submit_request.get() is None


def test_waiting_for_other_examples_does_not_count_as_time():
    ask = adder()
    ask.model.pause = 0.05

    def work(item):
        for turn in range(2):
            ask([row(item, turn)])
        return item

    # 12 rows take 0.6 seconds per turn, of which each example's share is 0.05
    assert sorted(schedule(work, range(12), timeout=0.5, on_timeout=lambda item: -1)) == list(range(12))


def test_a_models_time_counts_for_the_examples_that_sent_the_rows():
    ask = adder()
    ask.model.pause = 0.02

    def work(item):
        ask([row(item, 20 + turn) for turn in range(100 if item == 1 else 1)])
        ask([row(item, 0, 0)])
        return item

    begin = time.monotonic()
    assert sorted(schedule(work, range(3), timeout=0.3, on_timeout=lambda item: -item)) == [-1, 0, 2]
    assert time.monotonic() - begin < 20


def test_a_models_time_is_shared_in_proportion_to_tokens():
    ask = adder()
    ask.packing = type("Packing", (), {"works": lambda self, row: True, "inputs": None, "separated": None})()
    ask.run_batch = lambda rows: time.sleep(0.4) or [sum(row["input_ids"]) for row in rows]

    def work(item):
        ask([row(*[1] * item)])
        return item

    assert sorted(schedule(work, [1, 19], timeout=0.3, on_timeout=lambda item: -item)) == [-19, 1]


def test_a_loop_that_sends_no_requests_is_interrupted():
    def work(item):
        while item == 1:
            pass
        return item

    assert sorted(schedule(work, range(3), timeout=0.3, on_timeout=lambda item: -item)) == [-1, 0, 2]


def test_an_empty_request_does_not_end_the_time_limit():
    ask = adder()

    def work(item):
        assert ask([]) == []
        while item == 1:
            pass
        return item

    assert sorted(schedule(work, range(3), timeout=0.3, on_timeout=lambda item: -item)) == [-1, 0, 2]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_interruption_is_repeated_if_a_finalizer_swallows_it():
    class Slow:
        def __del__(self):
            time.sleep(0.5)

    def work(item):
        Slow()
        while True:
            pass

    assert schedule(work, [1], timeout=0.2, on_timeout=lambda item: "late") == ["late"]


def test_code_that_catches_every_exception_is_stopped_too():
    ask = adder()
    caught = []

    def work(item):
        for turn in range(10**6):
            try:
                time.sleep(0.4)
            except BaseException as problem:
                caught.append(type(problem))
            ask([row(item, turn)])

    assert schedule(work, [1], timeout=0.2, on_timeout=lambda item: "late") == ["late"]
    assert caught == [OutOfTime]


def test_disabling_gradients_in_one_example_does_not_affect_others():
    ask = adder()

    def work(item):
        if item:
            ask([row(1)])
            return torch.is_grad_enabled()
        with torch.no_grad():
            ask([row(2)])
            return torch.is_grad_enabled()

    assert schedule(work, [0, 1], in_flight=2) in ([False, True], [True, False])
    assert torch.is_grad_enabled()


def test_no_items_and_empty_requests_give_empty_results():
    assert schedule(lambda item: item, []) == []
    assert schedule(lambda item: adder()([]), [1]) == [[]]
