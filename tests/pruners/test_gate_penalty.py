"""The Lagrangian of a target share of open gates: its values by hand, and searches that reach their targets."""

import pytest
import torch
from support.small_searches import StopAt, loss_of, odd_model, training

from ticketlab.core.errors import Interrupted
from ticketlab.pruners.gate_penalty import TOLERANCE, Lagrangian
from ticketlab.pruners.hard_concrete import HardConcrete, HardConcretePruner
from ticketlab.pruners.structured_hard_concrete import StructuredHardConcrete
from ticketlab.training.plan import TrainingPlan

SLOPE, OPEN = 0.037354, 0.961136
"""The derivative of P(m != 0) at ln 5, and its value: those of all gates at the start."""


def lagrangian(**changed: float) -> Lagrangian:
    return Lagrangian(**{"start": 0.9, "target": 0.5, "warmup": 4, "rate": 0.3, "lambda2": 1000.0, **changed})


def test_the_weight_is_the_derivative_of_the_lagrangian_in_units_of_the_gradient_and_the_multipliers_ascend():
    """t is .8 in step 0: 2 x 1000 (.9 - .8) = 200, times 3. Adam's first step is its rate. Then t is .7, and the running mean 4.00503."""
    penalty = lagrangian()
    assert penalty.weight(0, lambda: (0.9, 3.0)) == pytest.approx(600)
    assert penalty.metrics() == {"target": pytest.approx(0.8), "lambda1": pytest.approx(0.3), "lambda2": pytest.approx(1000.3)}
    mean = (0.99 * 3 + 5) / 1.99
    assert penalty.weight(1, lambda: (0.6, 5.0)) == pytest.approx(mean * (0.3 - 2 * 1000.3 * 0.1))


@pytest.mark.parametrize(("share", "direction"), [(0.7, 1), (0.3, -1)])
def test_lambda1_rises_while_too_many_gates_are_open_and_falls_while_too_few_are(share, direction):
    penalty = lagrangian(warmup=0)
    for step in range(3):
        penalty.weight(step, lambda: (share, 1.0))
    found = penalty.metrics()
    assert found["lambda1"] == pytest.approx(direction * 0.9, rel=1e-4)
    assert found["lambda2"] == pytest.approx(1000.9)


@pytest.mark.parametrize(("warmup", "targets"), [(4, [0.8, 0.7, 0.6, 0.5, 0.5]), (2.5, [0.74, 0.58, 0.5]), (0, [0.5, 0.5])])
def test_the_target_falls_linearly_during_the_warm_up(warmup, targets):
    assert [lagrangian(warmup=warmup).target_at(step) for step in range(len(targets))] == pytest.approx(targets)


@pytest.mark.parametrize("reduction", ["elements", "matrices"])
def test_a_gate_gets_the_mean_gradient_of_the_loss_times_its_slope_and_the_multipliers(reduction):
    model = odd_model().eval().requires_grad_(False)
    settings = HardConcrete(target=0.5, target_warmup=0, multiplier_start=10, penalty=7.0, reduction=reduction)
    search = settings.begin(TrainingPlan(model, steps=4, seed=5))
    search.on_step_start(0)
    loss_of(model, 0).backward()
    search.on_after_backward()
    before = {name: location.grad.clone() for name, location in search.log_alpha.items()}
    search.add_penalty()
    total = sum(float(gradient.abs().sum()) for gradient in before.values())
    count = sum(gradient.numel() for gradient in before.values())
    for name, gradient in before.items():
        share = 1 / count if reduction == "elements" else 1 / (len(before) * gradient.numel())
        expected = 2 * 10 * (OPEN - 0.5) * SLOPE * total * share
        torch.testing.assert_close(
            search.log_alpha[name].grad - gradient, torch.full_like(gradient, expected), rtol=1e-3, atol=expected / 100
        )


def searched(pruner: HardConcretePruner, folder, steps: int, *, interrupted_at: int | None = None):
    """Return a search after its last step, interrupted and resumed if a step is given."""
    if interrupted_at is not None:
        loop, _ = training(pruner, odd_model(), folder, steps=steps, after=[StopAt(interrupted_at)])
        with pytest.raises(Interrupted):
            loop.run()
    loop, search = training(pruner, odd_model(), folder, steps=steps)
    loop.run()
    return search


@pytest.mark.parametrize("steps", [126, 252])
@pytest.mark.parametrize("pruner", [HardConcrete(target=0.6), StructuredHardConcrete(target=0.6)], ids=lambda pruner: pruner.name)
def test_a_search_of_any_length_reaches_its_target(pruner, steps, tmp_path):
    search = searched(pruner, tmp_path, steps)
    found = search.metrics()
    shares = [found[name] for name in ("penalty", "heads_open", "neurons_open") if name in found]
    assert shares == pytest.approx([0.6] * len(shares), abs=TOLERANCE)
    assert all(value == 0.6 for name, value in found.items() if name.endswith("target"))
    assert search.unmet() is None


def test_a_search_that_is_too_short_for_its_target_says_so(tmp_path):
    said = searched(StructuredHardConcrete(target=0.3), tmp_path, 5).unmet()
    assert "of the gates of heads are open, and the target is 0.3; " in said
    assert "of the gates of neurons are open" in said
    assert searched(HardConcrete(), tmp_path / "fixed", 5).unmet() is None


def test_an_interrupted_search_with_a_target_ends_with_the_same_bits(tmp_path):
    whole = searched(StructuredHardConcrete(target=0.6), tmp_path / "whole", 12)
    resumed = searched(StructuredHardConcrete(target=0.6), tmp_path / "resumed", 12, interrupted_at=5)
    assert all(torch.equal(score, resumed.scores()[name]) for name, score in whole.scores().items())
    assert whole.metrics() == resumed.metrics()
    assert all(torch.equal(value, resumed.state_dict()[name]) for name, value in whole.state_dict().items())


@pytest.mark.parametrize("target", [None, 0.6])
def test_only_gates_with_a_target_have_an_epsilon_of_their_own(target):
    (group,) = HardConcrete(target=target).begin(TrainingPlan(odd_model(), steps=4, seed=0)).parameter_groups()
    assert group.get("eps") == (None if target is None else 1e-15)
