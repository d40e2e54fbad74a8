"""Masks of heads and neurons, against a straight-through estimator on explicit gates, and their thresholds by count."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.explicit_gates import explicit_gates
from support.small_searches import AfterStep, loss_of, odd_model, training

from ticketlab.core.errors import SettingError
from ticketlab.pruners.mask_training import head_thresholds
from ticketlab.pruners.sizes import unit_sizes
from ticketlab.pruners.structured_mask_training import StructuredMaskTraining
from ticketlab.tickets.draw import draw, removed_count
from ticketlab.training.plan import TrainingPlan


class Binarize(torch.autograd.Function):
    """1 if the mask is at least the threshold, else 0; the backward pass is the identity."""

    @staticmethod
    def forward(ctx, mask):
        return (mask >= 0.01).float()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def begin(pruner, model, **sparsities):
    return pruner.begin(TrainingPlan(model.requires_grad_(False), steps=10, seed=0, sparsities=sparsities))


def removed(search) -> dict[str, int]:
    """Return the number of heads and of neurons whose gates are closed in the next step."""
    counts = {"heads": 0, "neurons": 0}
    for name, mask in search.masks.items():
        counts[name.partition("/")[0]] += int((mask < search._thresholds[name]).sum())
    return counts


def test_gradients_of_two_passes_equal_those_of_a_straight_through_estimator():
    model = odd_model().eval()
    explicit = copy.deepcopy(model)
    search = begin(StructuredMaskTraining(), model, heads=1 / 3, neurons=0.5)
    masks = {name: mask.detach().clone().requires_grad_() for name, mask in search.masks.items()}
    explicit_gates(explicit, {name: Binarize.apply(mask) for name, mask in masks.items()})
    search.on_step_start(0)
    for seed in (0, 1):
        loss_of(model, seed).backward()
    search.on_after_backward()
    (loss_of(explicit, 0) + loss_of(explicit, 1)).backward()
    for name, mask in search.masks.items():
        torch.testing.assert_close(mask.grad, masks[name].grad, atol=1e-6, rtol=1e-4)
    assert any(bool(torch.any(mask.grad[mask < 0.01])) for mask in search.masks.values())  # a removed unit can come back


@pytest.mark.parametrize(("initial", "scope"), [("hard", "global"), ("hard", "local"), ("soft", "global"), ("soft", "local")])
def test_masks_start_from_the_sizes_at_the_sparsity_of_each_group(initial, scope):
    model = odd_model()
    sizes = unit_sizes(TrainingPlan(model, steps=1, seed=0).backbone)
    search = begin(StructuredMaskTraining(initial=initial, scope=scope, alpha=3.0, phi=0.5), model, heads=1 / 3, neurons=0.4)
    kept = draw(sizes, {"heads": 1 / 3, "neurons": 0.4}, scope)
    for name, mask in search.masks.items():
        assert torch.equal(mask >= search._thresholds[name], kept[name])
        assert torch.equal(mask.detach(), 1.5 * kept[name] if initial == "hard" else sizes[name])
    assert removed(search) == {"heads": 2, "neurons": removed_count(0.4, 29) * 2 if scope == "local" else removed_count(0.4, 58)}


@pytest.mark.parametrize(
    ("count", "thresholds"),
    [(0, (-float("inf"), -float("inf"))), (1, (2.0, 2.0)), (2, (6.0, 3.0)), (3, (7.0, 3.0)), (4, (9.0, 3.0))],
)
def test_the_best_head_of_a_layer_is_at_its_threshold(count, thresholds):
    """Without the best ones, 9 and 3, the heads are 1, 2, 6 and 7; the fourth of them has no next one."""
    part = {"heads/0": torch.tensor([7.0, 9.0, 6.0]), "heads/1": torch.tensor([3.0, 1.0, 2.0])}
    found = head_thresholds(part, count)
    assert sum(int((part[name] < threshold).sum()) for name, threshold in found.items()) == count
    assert tuple(found.values()) == thresholds


@settings(max_examples=10, deadline=None)
@given(
    heads=st.floats(0, 0.7),
    neurons=st.floats(0, 1),
    rising=st.booleans(),
    scope=st.sampled_from(["local", "global"]),
    seed=st.integers(0, 3),
)
def test_each_update_of_the_thresholds_meets_both_sparsities_and_leaves_a_head(tmp_path_factory, heads, neurons, rising, scope, seed):
    checked = []

    def record(step):
        reached = {group: target * (1 - (0 if not rising else (1 - (step + 1) / 4) ** 3)) for group, target in search._target.items()}
        factor = 1 if scope == "global" else 2
        expected = {"heads": removed_count(reached["heads"], 6 // factor) * factor}
        expected["neurons"] = removed_count(reached["neurons"], 58 // factor) * factor
        assert removed(search) == expected
        assert all(bool(torch.any(mask >= search._thresholds[name])) for name, mask in search.masks.items() if name.startswith("heads"))
        checked.append(step)

    pruner = StructuredMaskTraining(threshold_steps=1, initial="soft", initial_sparsity=0.0 if rising else None, scope=scope)
    sparsities = {"heads": heads, "neurons": neurons}
    loop, search = training(
        pruner, odd_model(seed), tmp_path_factory.mktemp("masks"), steps=4, sparsities=sparsities, after=[AfterStep(record)]
    )
    loop.run()
    assert checked == [0, 1, 2, 3]
    mask = draw(search.scores(), sparsities, pruner.ranks())
    assert all(torch.equal(kept, search.masks[name] >= search._thresholds[name]) for name, kept in mask.items())


def test_impossible_sparsities_are_refused():
    with pytest.raises(SettingError, match=r"sparsity: 5 of 6 heads would be removed, .* at most 4 can be"):
        begin(StructuredMaskTraining(), odd_model(), heads=0.8)
    with pytest.raises(SettingError, match=r"sparsity: 3 of 3 heads would be removed, .* at most 2 can be"):
        begin(StructuredMaskTraining(scope="local"), odd_model(), heads=0.9)
    with pytest.raises(SettingError, match=r"initial_sparsity: 0\.3 is more than the requested sparsity, 0\.2"):
        begin(StructuredMaskTraining(initial_sparsity=0.3), odd_model(), heads=0.2, neurons=0.5)


def test_metrics_are_the_removed_fractions():
    search = begin(StructuredMaskTraining(), odd_model(), heads=0.5, neurons=0.0)
    assert search.metrics() == {"heads_sparsity": 0.5, "neurons_sparsity": 0.0}
