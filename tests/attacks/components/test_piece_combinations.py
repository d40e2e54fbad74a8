from __future__ import annotations

import itertools
import math
import random
import time

import pytest

from ticketlab.attacks.components.piece_combinations import first, likeliest


def falling(generator: random.Random, *lengths: int) -> list[list[float]]:
    return [sorted((math.log(generator.random()) for _ in range(length)), reverse=True) for length in lengths]


@pytest.mark.parametrize("lengths", [(5,), (4, 4), (3, 5, 2), (1, 4, 1, 3), (2, 2, 2, 2, 2), (1, 1), (6, 1, 6)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_likeliest_come_first_and_each_once(lengths, seed):
    scores = falling(random.Random(seed), *lengths)

    def total(choice):
        return sum(found[number] for found, number in zip(scores, choice, strict=True))

    found = list(likeliest(scores))
    assert sorted(found) == sorted(itertools.product(*map(range, lengths)))
    assert [total(choice) for choice in found] == pytest.approx(sorted(map(total, found), reverse=True), abs=1e-9)


def test_equal_scores_yield_every_combination():
    found = list(likeliest([[0.0, 0.0, -1.0], [0.0, 0.0], [0.0]]))
    assert len(found) == len(set(found)) == 6
    assert {choice[0] for choice in found[:4]} == {0, 1}
    assert list(likeliest([[0.0, 0.0, -1.0], [0.0, 0.0], [0.0]])) == found


def test_a_hundred_positions_of_a_thousand_choices_are_fast():
    scores = falling(random.Random(0), *[1000] * 100)
    start = time.process_time()
    found = list(itertools.islice(likeliest(scores), 1000))
    assert len(set(found)) == 1000
    assert time.process_time() - start < 5


def test_a_position_without_choices_gives_no_combinations():
    assert list(likeliest([[0.0], []])) == []
    assert list(first([2, 0])) == []


def test_the_first_combinations_change_the_last_position_fastest():
    assert list(itertools.islice(first([48] * 100), 50))[47:] == [(0,) * 99 + (47,), (0,) * 98 + (1, 0), (0,) * 98 + (1, 1)]
