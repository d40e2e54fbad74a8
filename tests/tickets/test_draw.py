import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ticketlab.core.errors import UsageError
from ticketlab.tickets.draw import draw, draw_like, removed_count

VALUES = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 1e-30, 0.5, 1.0, 2.0, math.inf])
"""Few distinct values, so that ties are common."""
MATRICES = st.lists(
    arrays.arrays(np.float32, arrays.array_shapes(max_dims=2, max_side=6, min_side=0), elements=VALUES), min_size=1, max_size=5
)
RATIOS = st.one_of(st.sampled_from([0.0, 1 / 6, 0.5, 0.999, 1.0]), st.floats(0, 1))


def by_argsort(tensors, ratio):
    flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
    kept = torch.ones(flat.numel(), dtype=torch.bool)
    kept[torch.argsort(flat, stable=True)[: removed_count(ratio, flat.numel())]] = False
    sizes = [tensor.numel() for tensor in tensors]
    return [part.reshape(tensor.shape) for part, tensor in zip(kept.split(sizes), tensors, strict=True)]


def by_removing_one_at_a_time(rows, count):
    """Remove the lowest score that is not the last of its row, ``count`` times."""
    left = {(row, column) for row, scores in enumerate(rows) for column in range(len(scores))}
    for _ in range(count):
        free = [(rows[row][column], row, column) for row, column in left if sum(unit[0] == row for unit in left) > 1]
        left.remove(min(free)[1:])
    return [[(row, column) in left for column in range(len(scores))] for row, scores in enumerate(rows)]


def removed(masks):
    return sum(int((~mask).sum()) for mask in masks.values())


@settings(deadline=None)
@given(MATRICES, RATIOS)
def test_a_global_draw_is_a_stable_sort(matrices, ratio):
    tensors = [torch.from_numpy(matrix) for matrix in matrices]
    masks = draw({f"weights/{index}": tensor for index, tensor in enumerate(tensors)}, ratio)
    assert all(torch.equal(mask, expected) for mask, expected in zip(masks.values(), by_argsort(tensors, ratio), strict=True))


@settings(deadline=None)
@given(MATRICES, RATIOS)
def test_a_local_draw_is_a_stable_sort_of_each_tensor(matrices, ratio):
    tensors = [torch.from_numpy(matrix) for matrix in matrices]
    masks = draw({f"neurons/{index}": tensor for index, tensor in enumerate(tensors)}, ratio, "local")
    assert all(torch.equal(mask, by_argsort([tensor], ratio)[0]) for mask, tensor in zip(masks.values(), tensors, strict=True))


@settings(deadline=None)
@given(MATRICES, RATIOS, RATIOS, st.sampled_from(["global", "local"]))
def test_a_larger_sparsity_removes_a_superset(matrices, one, other, scope):
    scores = {f"weights/{index}": torch.from_numpy(matrix) for index, matrix in enumerate(matrices)}
    light, heavy = draw(scores, min(one, other), scope), draw(scores, max(one, other), scope)
    assert all(not (heavy[name] & ~light[name]).any() for name in scores)


@settings(deadline=None)
@given(st.lists(st.lists(VALUES, min_size=1, max_size=4), min_size=1, max_size=4), RATIOS)
def test_heads_are_removed_by_score_but_never_the_last_of_a_layer(rows, ratio):
    scores = {f"heads/{index}": torch.tensor(row) for index, row in enumerate(rows)}
    count = removed_count(ratio, sum(map(len, rows)))
    if count > sum(len(row) - 1 for row in rows):
        with pytest.raises(UsageError, match="each layer keeps one"):
            draw(scores, ratio)
    else:
        assert [mask.tolist() for mask in draw(scores, ratio).values()] == by_removing_one_at_a_time(rows, count)


@pytest.mark.parametrize(
    ("group", "layers", "size", "ratio", "count"),
    [
        ("heads", 12, 12, 1 / 6, 24),
        ("neurons", 12, 3072, 0.2, 7_373),
        ("neurons", 12, 3072, 0.3, 11_059),
        ("neurons", 12, 3072, 0.4, 14_746),
        ("weights", 3, 1000, 0.0, 0),
        ("weights", 3, 1000, 0.999, 2_997),
        ("weights", 3, 1000, 1.0, 3_000),
        ("weights", 3, 1, 0.5, 2),
    ],
)
@pytest.mark.parametrize("equal", [True, False], ids=["all equal", "random"])
def test_exactly_the_requested_fraction_is_removed(group, layers, size, ratio, count, equal):
    torch.manual_seed(0)
    scores = {f"{group}/{index}": torch.ones(size) if equal else torch.rand(size) for index in range(layers)}
    assert removed(draw(scores, ratio)) == count


def test_ties_are_removed_in_the_order_of_their_positions():
    masks = draw({"weights/0": torch.ones(2, 2), "weights/1": torch.ones(3)}, 5 / 7)
    assert (masks["weights/0"].tolist(), masks["weights/1"].tolist()) == ([[False, False], [False, False]], [False, True, True])


def test_the_best_head_of_a_layer_is_kept():
    scores = {"heads/0": torch.tensor([0.9, 0.8, 0.7]), "heads/1": torch.tensor([0.1, 0.2, 0.3])}
    assert [mask.int().tolist() for mask in draw(scores, 0.5).values()] == [[1, 1, 0], [0, 0, 1]]
    assert [mask.int().tolist() for mask in draw(scores, 0.5, keep_a_head=False).values()] == [[1, 1, 1], [0, 0, 0]]


def test_groups_are_ranked_separately_with_their_own_sparsity():
    scores = {"heads/0": torch.tensor([1.0, 2.0, 3.0, 4.0]), "neurons/0": torch.tensor([0.1, 0.2])}
    masks = draw(scores, {"heads": 0.5, "neurons": 0})
    assert (masks["heads/0"].tolist(), masks["neurons/0"].tolist()) == ([False, False, True, True], [True, True])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool])
def test_every_number_type_can_be_ranked(dtype):
    scores = torch.tensor([3, 1, 0, 2]).to(dtype)
    assert torch.equal(draw({"weights/0": scores}, 0.5)["weights/0"], by_argsort([scores], 0.5)[0])


def test_close_doubles_are_distinguished():
    masks = draw({"weights/0": torch.tensor([1 + 1e-12, 1.0], dtype=torch.float64), "weights/1": torch.tensor([2.0])}, 1 / 3)
    assert masks["weights/0"].tolist() == [True, False]


def test_drawing_does_not_change_the_scores():
    scores = torch.rand(50, requires_grad=True)
    before = scores.detach().clone()
    draw({"weights/0": scores}, 0.5)
    assert torch.equal(scores, before)


@pytest.mark.parametrize(
    ("scores", "sparsity", "message"),
    [
        ({"weights/a": [1.0, math.nan]}, 0.5, "`weights/a` have 1 NaN"),
        ({"weights/a": [1.0]}, 1.5, "between 0 and 1, not 1.5"),
        ({"weights/a": [1.0]}, -0.1, "between 0 and 1"),
        ({"weights/a": [1.0]}, math.nan, "between 0 and 1, not nan"),
        ({"heads/0": [1.0], "neurons/0": [1.0]}, {"heads": 0.0}, "given for heads, but the scores are of heads, neurons"),
        ({"weights/a": [1.0]}, {"weights": 0.0, "heads": 0.5}, "given for heads, weights, but the scores are of weights"),
        ({"heads/0": [1.0, 2.0], "heads/1": [1.0, 2.0]}, 1.0, "4 of 4 heads are to be removed.*at most 2"),
    ],
)
def test_an_impossible_draw_is_an_error(scores, sparsity, message):
    with pytest.raises(UsageError, match=message):
        draw({name: torch.tensor(values) for name, values in scores.items()}, sparsity)


def test_drawing_like_a_ticket_removes_as_many_units_of_each_tensor():
    torch.manual_seed(0)
    shapes = {"weights/a": (20, 10), "weights/b": (30,), "heads/0": (4,)}
    first = draw({name: torch.rand(shape) for name, shape in shapes.items()}, {"weights": 0.37, "heads": 1.0}, keep_a_head=False)
    again = draw_like({name: torch.rand(shape) for name, shape in shapes.items()}, first)
    assert {name: int(mask.sum()) for name, mask in again.items()} == {name: int(mask.sum()) for name, mask in first.items()}
    assert not torch.equal(again["weights/a"], first["weights/a"])
    with pytest.raises(UsageError, match="different units or shapes"):
        draw_like({"weights/a": torch.rand(20, 10)}, first)
