from collections import Counter
from fractions import Fraction

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from ticketlab.tasks.reading.splits import hold_out, make_splits, proportional_quotas, stratified_sample


@frozen
class Item:
    id: str
    label: int


def items(labels: list[int], prefix: str = "train") -> list[Item]:
    return [Item(f"{prefix}-{number}", label) for number, label in enumerate(labels)]


classes = st.lists(st.integers(0, 4), min_size=1, max_size=80)


@given(classes, st.integers(1, 100))
def test_a_sample_has_the_requested_size_and_is_stratified(labels, count):
    examples = items(labels)
    taken, rest = stratified_sample(examples, count)
    assert len(taken) == min(count, len(examples))
    assert sorted([*taken, *rest], key=examples.index) == examples
    sizes, found = Counter(labels), Counter(item.label for item in taken)
    for label, size in sizes.items():
        assert abs(found[label] - min(count, len(examples)) * size / len(examples)) < 1


@given(classes, st.integers(1, 100), st.randoms())
def test_a_sample_does_not_depend_on_the_order_of_the_rows(labels, count, order):
    examples = items(labels)
    shuffled = examples[:]
    order.shuffle(shuffled)
    assert set(stratified_sample(examples, count)[0]) == set(stratified_sample(shuffled, count)[0])


def test_a_smaller_sample_is_part_of_a_larger_one():
    examples = items([number % 2 for number in range(400)])
    assert set(stratified_sample(examples, 100)[0]) < set(stratified_sample(examples, 200)[0])


def test_quotas_are_rounded_by_largest_remainder():
    assert proportional_quotas({"a": 5, "b": 3, "c": 2}, 4) == {"a": 2, "b": 1, "c": 1}


def test_a_tenth_but_at_least_one_example_is_held_out():
    assert [len(part) for part in hold_out(items([0, 1] * 50), {})] == [90, 10]
    assert [len(part) for part in hold_out(items([0, 1]), {})] == [1, 1]


@pytest.mark.parametrize(
    ("sizes", "rarest"),
    [
        pytest.param({0: 149, 1: 148, 2: 3}, [1, 1, 1], id="three"),
        pytest.param({0: 150, 1: 148, 2: 2}, [1, 0, 1], id="two"),
        pytest.param({0: 280, **dict.fromkeys(range(1, 21), 1)}, [1, 0, 0], id="twenty of one text each"),
        pytest.param({0: 290, 1: 10}, [8, 1, 1], id="none is rare"),
        pytest.param(dict.fromkeys(range(60), 5), [4, 0, 1], id="more classes than places"),
    ],
)
def test_rare_classes_are_on_both_sides_where_possible(sizes, rarest):
    arranged = make_splits({"train": items([label for label, size in sizes.items() for _ in range(size)])}, {})
    assert [len(arranged[split]) for split in ("train", "dev", "test")] == [240, 30, 30]
    assert [sum(item.label == max(sizes) for item in arranged[split]) for split in ("train", "dev", "test")] == rarest


@given(classes, st.fractions(0, 1))
def test_spreading_rare_classes_keeps_the_sizes_of_a_split(labels, ratio):
    examples = items(labels)
    taken, rest = stratified_sample(examples, max(1, int(ratio * len(examples) + Fraction(1, 2))))
    kept, held = hold_out(examples, {}, ratio)
    assert (len(kept), len(held)) == (len(rest), len(taken))
    sizes, known, out = Counter(labels), Counter(item.label for item in kept), Counter(item.label for item in held)
    if set(sizes) == {item.label for item in taken} == {item.label for item in rest}:
        assert (kept, held) == (rest, taken)
    if len(sizes) <= min(len(kept), len(held)):
        assert all(known[label] and out[label] for label, size in sizes.items() if size > 1)
        assert all(known[label] for label in sizes)


TRAIN, VALIDATION, TEST = items([0, 1] * 50), items([0, 1] * 5, "validation"), items([0, 1] * 3, "test")


@pytest.mark.parametrize(
    ("splits", "sizes", "test"),
    [
        pytest.param({"train": TRAIN, "validation": VALIDATION, "test": TEST}, (100, 10, 6), TEST, id="all three are kept"),
        pytest.param({"train": TRAIN, "validation": VALIDATION}, (90, 10, 10), VALIDATION, id="validation becomes the test split"),
        pytest.param({"train": TRAIN, "test": TEST}, (90, 10, 6), TEST, id="dev is held out of train"),
        pytest.param({"train": TRAIN}, (80, 10, 10), None, id="a single train split is divided"),
        pytest.param({"validation": VALIDATION}, (0, 0, 10), VALIDATION, id="a single validation split is the test split"),
        pytest.param({"test": TEST}, (0, 0, 6), TEST, id="a single test split"),
    ],
)
def test_splits_are_made_as_in_the_papers(splits, sizes, test):
    arranged = make_splits(splits, {})
    assert tuple(len(arranged[split]) for split in ("train", "dev", "test")) == sizes
    assert test is None or arranged["test"] == test
    ids = [item.id for part in arranged.values() for item in part]
    assert len(set(ids)) == len(ids)
