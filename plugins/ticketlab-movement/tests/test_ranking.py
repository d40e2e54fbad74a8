"""Masks by sorting are those of ``draw``, for ties too, with the exact count."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from ticketlab_movement.ranking import Scope, highest, sorted_masks

from ticketlab.plugin import draw

SCORES = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=12, max_size=12)


@given(SCORES, SCORES, st.floats(0, 1), st.sampled_from(["global", "local"]))
def test_sorting_removes_the_weights_that_draw_removes(first: list[float], second: list[float], sparsity: float, scope: Scope) -> None:
    scores = {"weights/a": torch.tensor(first).view(3, 4), "weights/b": torch.tensor(second)}
    found, expected = sorted_masks(scores, sparsity, scope), draw(scores, sparsity, scope)
    assert {name: mask.shape for name, mask in found.items()} == {name: score.shape for name, score in scores.items()}
    assert all(torch.equal(found[name], expected[name]) for name in scores)
    assert all(torch.equal(mask, found[name]) for name, mask in highest(scores, sparsity, scope).items())


@pytest.mark.parametrize(("scope", "kept"), [("global", [0, 3]), ("local", [1, 1])])
def test_the_scope_decides_where_weights_are_removed(scope: Scope, kept: list[int]) -> None:
    scores = {"weights/a": torch.tensor([1.0, 2.0, 3.0]), "weights/b": torch.tensor([4.0, 5.0, 6.0])}
    assert [int(mask.sum()) for mask in sorted_masks(scores, 0.5, scope).values()] == kept
