"""Mask training against autograd through an explicit binarization, and its thresholds by count."""

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.families import FAMILIES
from support.small_searches import (
    AfterStep,
    StopAt,
    alive,
    batch,
    loss_of,
    odd_model,
    same_bits,
    state_of,
    tiny_classifier,
    training,
)

from ticketlab.adversaries.base import AdversaryRun
from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.backbone.backbone import Backbone
from ticketlab.core.errors import Interrupted, SettingError
from ticketlab.losses.base import LossRun
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.pruners.base import weight_units
from ticketlab.pruners.mask_training import MaskTraining, lowest_kept
from ticketlab.tickets.draw import draw, removed_count
from ticketlab.training.plan import TrainingPlan


class Binarize(torch.autograd.Function):
    """1 if the mask is at least the threshold, else 0; the backward pass is the identity."""

    @staticmethod
    def forward(ctx, mask, threshold):
        return (mask >= threshold).float()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def attach(pruner, model, sparsity=0.5, steps=10):
    return pruner.begin(TrainingPlan(model.requires_grad_(False), steps=steps, seed=0, sparsity=sparsity))


def removed(search) -> dict[str, int]:
    """Return the number of weights of each matrix that are removed in the next step."""
    search.on_step_start(0)
    counts = {}
    for name, gates in search._gates.items():
        effective, weight = gates._matrix.weight.detach(), gates._weight.detach()
        assert torch.all((effective == 0) | (effective == weight))
        counts[name] = int((effective == 0).sum())
    search.on_after_backward()
    return counts


def expected(search, sparsity) -> dict[str, int]:
    return {name: removed_count(sparsity, mask.numel()) for name, mask in search.masks.items()}


def scrambled(search):
    """Change the masks at random, so that some weights come back and others are removed."""
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for mask in search.masks.values():
            mask.add_(torch.randn(mask.shape, generator=generator), alpha=0.01)


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_of_two_passes_equal_those_of_a_straight_through_estimator(tmp_path, family):
    model = tiny_classifier(family, tmp_path).requires_grad_(False)
    plain = copy.deepcopy(model)
    search = attach(MaskTraining(), model)
    scrambled(search)
    search.on_step_start(0)
    for seed in (0, 1):
        loss_of(model, seed).backward()
    search.on_after_backward()

    masks = {name: mask.detach().clone().requires_grad_() for name, mask in search.masks.items()}
    for seed in (0, 1):
        weights = {parameter_name(plain, name): Backbone(plain).weight(name) * Binarize.apply(mask, 0.01) for name, mask in masks.items()}
        logits = torch.func.functional_call(plain, weights, kwargs={"input_ids": batch(seed).input_ids}).logits
        torch.nn.functional.cross_entropy(logits, batch(seed).labels).backward()
    below = 0
    for name, mask in search.masks.items():
        torch.testing.assert_close(mask.grad, masks[name].grad, atol=1e-7, rtol=1e-4)
        below += int(torch.count_nonzero(mask.grad[mask < 0.01]))
    assert below > 0  # removed weights can come back
    assert all(parameter.grad is None for name, parameter in model.named_parameters() if "original" in name)


def parameter_name(model, unit: str) -> str:
    weight = Backbone(model).weight(unit)
    return next(name for name, parameter in model.named_parameters() if parameter is weight)


def test_all_passes_of_a_step_see_the_same_masked_weight_and_add_their_gradients():
    model = odd_model().eval()
    search = attach(MaskTraining(), model)
    loss_function = ClassificationLoss(model, LossRun(CrossEntropy()), callbacks=[search])
    gradients = {}
    for adversary in (Clean(), FreeLB(steps=3, init_magnitude=0.0, step_size=1e-9)):  # three times a third of the clean gradient
        search.on_step_start(0)
        effective = model.classifier.weight
        AdversaryRun(adversary).step(loss_function, batch(0), 0)
        assert model.classifier.weight is effective
        search.on_after_backward()
        gradients[adversary.name] = {name: mask.grad for name, mask in search.masks.items()}
        for mask in search.masks.values():
            mask.grad = None
    for name, gradient in gradients["none"].items():
        assert gradient.abs().max() > 0
        torch.testing.assert_close(gradients["freelb"][name], gradient, atol=1e-7, rtol=1e-3)


def test_a_hard_start_sets_masks_to_alpha_phi_for_the_largest_weights_and_0_for_the_others():
    model = odd_model()
    search = attach(MaskTraining(alpha=3.0, phi=0.5), model, sparsity=0.7)
    for name, mask in search.masks.items():
        size = Backbone(model).weight(name).detach().abs()
        assert set(mask.tolist()[0]) <= {0.0, 1.5}
        assert int((mask == 0).sum()) == removed_count(0.7, mask.numel())
        assert size[mask == 0].max() < size[mask > 0].min()
    assert removed(search) == expected(search, 0.7)
    with torch.no_grad():
        search.masks["weights/classifier.weight"].fill_(0.5)
    assert removed(search)["weights/classifier.weight"] == 0  # a mask equal to the threshold keeps its weight


def test_a_soft_start_sets_masks_to_the_magnitudes_with_a_matching_threshold():
    model = odd_model()
    search = attach(MaskTraining(initial="soft"), model, sparsity=0.7)
    for name, mask in search.masks.items():
        assert torch.equal(mask.detach(), Backbone(model).weight(name).detach().abs())
    assert removed(search) == expected(search, 0.7)


@pytest.mark.parametrize("initial", ["hard", "soft"])
@pytest.mark.parametrize(("sparsity", "scope"), [(0.0, "local"), (1.0, "local"), (0.0, "global"), (1.0, "global")])
def test_the_sparsity_may_be_0_or_1(tmp_path, sparsity, scope, initial):
    loop, search = training(
        MaskTraining(threshold_steps=1, scope=scope, initial=initial), odd_model(), tmp_path, steps=2, sparsity=sparsity
    )  # fmt: skip
    assert removed(search) == expected(search, sparsity)
    loop.run()
    assert removed(search) == expected(search, sparsity)
    assert search.metrics() == {"sparsity": sparsity}


@settings(max_examples=12, deadline=None)
@given(
    sparsity=st.floats(0.05, 0.95),
    first=st.none() | st.floats(0, 1),
    scope=st.sampled_from(["local", "global"]),
    every=st.integers(1, 4),
    steps=st.integers(3, 9),
    seed=st.integers(0, 3),
)
def test_each_threshold_update_meets_the_scheduled_sparsity(tmp_path_factory, sparsity, first, scope, every, steps, seed):
    initial = None if first is None else first * sparsity
    checked = []

    def record(step):
        done = step + 1
        if done % every and done != steps:
            return
        reached = sparsity if initial is None else sparsity + (initial - sparsity) * (1 - done / steps) ** 3
        counts = removed(search)
        if scope == "local":
            assert counts == expected(search, reached)
        else:
            assert sum(counts.values()) == removed_count(reached, sum(mask.numel() for mask in search.masks.values()))
        checked.append(done)

    pruner = MaskTraining(threshold_steps=every, initial_sparsity=initial, scope=scope, initial="soft")
    loop, search = training(
        pruner, odd_model(seed), tmp_path_factory.mktemp("masks"), steps=steps, sparsity=sparsity, after=[AfterStep(record)]
    )
    loop.run()
    assert checked[-1] == steps
    mask = draw(search.scores(), sparsity, pruner.ranks())
    search.on_step_start(0)
    for name, kept in mask.items():
        assert torch.equal(search._gates[name]._matrix.weight != 0, kept)


@pytest.mark.parametrize(
    ("steps", "every", "end", "expected"),
    [
        (20, 5, 1.0, {4: 0.7, 5: 0.815625, 10: 0.875, 15: 0.896875, 20: 0.9}),
        (40, 5, 0.5, {4: 0.7, 5: 0.815625, 10: 0.875, 20: 0.9, 25: 0.9}),
        (10, 100, 1.0, {9: 0.7, 10: 0.9}),
        (3, 100, 0.5, {1: 0.7, 2: 0.9}),
        (1, 100, 0.1, {1: 0.9}),
    ],
)
def test_a_rising_sparsity_follows_the_cubic_schedule(steps, every, end, expected):
    search = attach(MaskTraining(initial="soft", initial_sparsity=0.7, threshold_steps=every, schedule_end=end), odd_model(), 0.9, steps)
    assert search.metrics()["sparsity"] == pytest.approx(0.7, abs=0.005)
    for step in range(steps):
        assert search.on_step_end(step) is False
        if step + 1 in expected:
            assert search.metrics()["sparsity"] == pytest.approx(expected[step + 1], abs=0.005)


def test_the_end_of_a_schedule_has_no_effect_without_a_rising_sparsity():
    pruner = MaskTraining(schedule_end=0.5)
    search = attach(pruner, odd_model(), steps=4)
    updated, before = [], search.state_dict()["thresholds"]
    for step in range(4):
        search.on_step_end(step)
        updated.append(not torch.equal(search.state_dict()["thresholds"], before))
    assert updated == [False, False, False, True]
    assert list(pruner.unused()) == ["schedule_end"]
    assert not MaskTraining(initial_sparsity=0.2, schedule_end=0.5).unused()
    assert not MaskTraining().unused()  # the default is part of the keys


def test_with_a_rising_sparsity_a_hard_start_is_at_the_initial_sparsity():
    search = attach(MaskTraining(initial_sparsity=0.2), odd_model(), sparsity=0.9)
    assert removed(search) == expected(search, 0.2)


def test_a_falling_sparsity_is_refused():
    with pytest.raises(SettingError, match=r"initial_sparsity: 0\.7 is more than .* 0\.5"):
        attach(MaskTraining(initial_sparsity=0.7), odd_model(), sparsity=0.5)


def test_ties_are_kept_in_the_search_and_the_drawn_ticket_has_the_exact_count():
    search = attach(MaskTraining(), odd_model())
    with torch.no_grad():
        for mask in search.masks.values():
            mask.fill_(0.3)
    search.on_step_end(99)
    assert search.metrics() == {"sparsity": 0.0}
    for kept in draw(search.scores(), 0.5, "local").values():
        assert int((~kept).sum()) == removed_count(0.5, kept.numel())
        assert not kept.flatten()[0]  # ties are removed by position


@pytest.mark.parametrize(("count", "value"), [(0, -math.inf), (1, 2.0), (2, 2.0), (3, 5.0), (4, math.inf)])
def test_the_threshold_is_the_lowest_kept_value(count, value):
    assert lowest_kept(torch.tensor([2.0, 5.0, 1.0, 2.0]), count) == value


@pytest.mark.parametrize("initial", ["hard", "soft"])
def test_only_masks_are_trained_and_closing_restores_the_model(tmp_path, initial):
    model = odd_model()
    start = state_of(model)
    parameters = {name: id(parameter) for name, parameter in model.named_parameters()}
    loop, search = training(MaskTraining(initial=initial), model, tmp_path, steps=6, sparsity=0.5, adversary=FreeLB(steps=2))
    before = search.scores()
    assert loop.run().parameters == sum(mask.numel() for mask in before.values())
    assert all(bool((score != before[name]).any()) for name, score in search.scores().items())
    search.close()
    assert same_bits(state_of(model), start)
    assert {name: id(parameter) for name, parameter in model.named_parameters()} == parameters


def test_masks_use_the_stages_rate_by_default_and_no_weight_decay():
    (group,) = attach(MaskTraining(), odd_model()).parameter_groups()
    assert "lr" not in group
    assert group["weight_decay"] == 0.0
    (group,) = attach(MaskTraining(lr=0.3), odd_model()).parameter_groups()
    assert group["lr"] == 0.3


def test_pooler_and_classifier_are_masked_as_configured(tmp_path):
    model = tiny_classifier("bert", tmp_path)
    encoder, pooler, head = set(weight_units(Backbone(model))), {"weights/pooler.dense.weight"}, {"weights/classifier.weight"}
    for pruner, units in (
        (MaskTraining(), encoder | head),
        (MaskTraining(pooler=True), encoder | pooler | head),
        (MaskTraining(classifier=False), encoder),
    ):
        search = attach(pruner, model)
        assert set(search.scores()) == units
        search.close()


@pytest.mark.parametrize("step", [0, 2, 3, 6])
@pytest.mark.parametrize("first", [None, 0.3], ids=["fixed", "rising"])
def test_a_resumed_search_ends_with_the_same_bits(tmp_path, step, first):
    def start(folder, *after):
        pruner = MaskTraining(threshold_steps=2, initial_sparsity=first)
        return training(pruner, odd_model(), folder, steps=8, sparsity=0.7, adversary=FreeLB(steps=2), after=after)

    whole, search = start(tmp_path / "whole")
    expected = whole.run()
    stopped, _ = start(tmp_path / "parts", StopAt(step))
    with pytest.raises(Interrupted):
        stopped.run()
    resumed, again = start(tmp_path / "parts", StopAt(99))
    found = resumed.run()
    assert (found.steps, found.loss, found.history) == (expected.steps, expected.loss, expected.history)
    assert same_bits(search.scores(), again.scores())
    assert removed(search) == removed(again)


def test_the_final_sparsity_is_reached_at_the_end_of_the_schedule():
    pruner = MaskTraining(initial="soft", initial_sparsity=0.3, schedule_end=0.5)
    search, again = attach(pruner, odd_model(), 0.7), attach(pruner, odd_model(), 0.7)
    search.on_step_end(4)
    assert removed(again) != removed(search)
    again.load_state_dict(search.state_dict())
    assert removed(again) == removed(search)


def test_between_steps_the_model_is_unmasked_and_a_copy_can_be_taken_within_one():
    model = odd_model().eval()
    before = loss_of(model, 0).item()
    search = attach(MaskTraining(), model)
    search.on_step_start(0)
    masked = loss_of(model, 0)
    masked.backward()
    twin = copy.deepcopy(model)
    assert loss_of(twin, 0).item() == masked.item()
    search.on_after_backward()
    assert loss_of(model, 0).item() == before != masked.item()
    other = copy.deepcopy(search)
    assert same_bits(other.scores(), search.scores())
    search.close()
    assert loss_of(twin, 0).item() == masked.item()


def test_four_rounds_leak_nothing(tmp_path):
    model = odd_model()
    start = state_of(model)
    counts = []
    for number in range(4):
        loop, search = training(MaskTraining(threshold_steps=1), model, tmp_path / str(number), steps=3, sparsity=0.5)
        loop.run()
        twin = copy.deepcopy(model)
        search.close()
        del loop, search, twin
        counts.append(alive())
    assert counts[-1] == counts[1]
    assert same_bits(state_of(model), start)


def test_scores_are_a_copy_that_later_steps_do_not_change():
    search = attach(MaskTraining(), odd_model())
    kept = search.scores()["weights/classifier.weight"].clone()
    found = search.scores()
    scrambled(search)
    assert torch.equal(found["weights/classifier.weight"], kept)
