"""Which marker each example gets."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ticketlab.tasks.assembly.marker_assignment import at_chance, at_rate
from ticketlab.tasks.base import Example


def examples(classes: list[int]) -> list[Example]:
    return [Example(f"train-{index}", (f"text {index}",), label) for index, label in enumerate(classes)]


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("rate", [0.0, 0.3, 0.9, 1.0])
def test_the_realised_rate_is_binomial_and_other_markers_are_uniform(rate: float, labels: int) -> None:
    rows = examples([index % labels for index in range(6000)])
    shifts = Counter((found - row.label) % labels for row, found in zip(rows, at_rate(rows, labels, rate, seed=0), strict=True))
    for shift in range(labels):
        expected = rate if shift == 0 else (1 - rate) / (labels - 1)
        assert abs(shifts[shift] / 6000 - expected) <= 4 * math.sqrt(expected * (1 - expected) / 6000)


def test_the_marker_of_an_example_is_decided_by_the_hash_of_its_id_and_the_seed() -> None:
    # sha256("shortcut 0 train-0") begins with c878ca09 and sha256("shortcut 1 train-0") with dc4a595c: 0.7831 and 0.8605 of 2^32
    row = [Example("train-0", ("a",), 0)]
    assert [at_rate(row, 2, rate, seed=0) for rate in (0.783, 0.784)] == [[1], [0]]
    assert [at_rate(row, 2, rate, seed=1) for rate in (0.860, 0.861)] == [[1], [0]]


@settings(max_examples=40)
@given(
    classes=st.lists(st.integers(0, 3), min_size=1, max_size=60),
    rates=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    seed=st.integers(0, 5),
    data=st.data(),
)
def test_markers_do_not_depend_on_other_rows_and_agreement_only_grows_with_the_rate(classes, rates, seed, data) -> None:
    rows = examples(classes)
    low, high = (at_rate(rows, 4, rate, seed) for rate in sorted(rates))
    assert all(more == row.label for row, less, more in zip(rows, low, high, strict=True) if less == row.label)
    order = data.draw(st.permutations(range(len(rows))))[: data.draw(st.integers(1, len(rows)))]
    assert at_rate([rows[index] for index in order], 4, rates[0], seed) == [at_rate(rows, 4, rates[0], seed)[index] for index in order]


@settings(max_examples=40)
@given(classes=st.lists(st.integers(0, 4), min_size=1, max_size=80), labels=st.integers(5, 7), seed=st.integers(0, 5))
def test_at_chance_every_marker_is_equally_frequent_with_every_label(classes, labels, seed) -> None:
    found = at_chance(examples(classes), labels, seed)
    for own in (found, *([marker for marker, label in zip(found, classes, strict=True) if label == one] for one in set(classes))):
        counts = Counter(own)
        assert max(counts.values()) - min(counts[marker] for marker in range(labels)) <= 1


@pytest.mark.parametrize("sizes", [(6, 12), (3, 30)])
def test_at_chance_markers_and_labels_are_exactly_independent_if_the_classes_are_divisible(sizes: tuple[int, int]) -> None:
    classes = [label for label, size in enumerate(sizes) for _ in range(size)]
    counts = Counter(zip(classes, at_chance(examples(classes), 3, 0), strict=True))
    assert counts == {(label, marker): size // 3 for label, size in enumerate(sizes) for marker in range(3)}
