"""Hard-concrete gates on heads and neurons, against autograd through explicit gates, and the penalties by hand."""

import copy
import math

import pytest
import torch
from support.explicit_gates import explicit_gates
from support.small_searches import loss_of, odd_model

from ticketlab.pruners.hard_concrete import open_probability
from ticketlab.pruners.structured_hard_concrete import StructuredHardConcrete
from ticketlab.training.plan import TrainingPlan

BETA = 2 / 3


def test_gradients_of_two_passes_equal_those_through_explicit_stochastic_gates():
    model = odd_model().eval().requires_grad_(False)
    explicit = copy.deepcopy(model)
    search = StructuredHardConcrete(heads_penalty=0.7, neurons_penalty=0.2).begin(TrainingPlan(model, steps=4, seed=5))
    generator = torch.Generator().manual_seed(5)
    locations, factors = {}, {}
    for name, location in search.log_alpha.items():
        with torch.no_grad():
            location.add_(torch.randn(location.shape, generator=torch.Generator().manual_seed(1)))
        locations[name] = location.detach().clone().requires_grad_()
        noise = torch.rand(location.shape, generator=generator)
        concrete = torch.sigmoid((torch.logit(noise, eps=1e-4) + locations[name]) / BETA)
        factors[name] = (concrete * 1.2 - 0.1).clamp(0, 1)
    explicit_gates(explicit, factors)
    search.on_step_start(0)
    objective = 0.0
    for seed in (0, 1):
        loss_of(model, seed).backward()
        objective = objective + loss_of(explicit, seed)
    search.on_after_backward()
    search.add_penalty()
    for group, penalty in (("heads", 0.7), ("neurons", 0.2)):
        of_group = torch.cat([location for name, location in locations.items() if name.startswith(group)])
        objective = objective + penalty * open_probability(of_group, BETA).mean()
    objective.backward()
    for name, location in search.log_alpha.items():
        torch.testing.assert_close(location.grad, locations[name].grad, rtol=1e-4, atol=1e-7)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_penalty_of_a_group_is_shared_by_its_units():
    """The slope of P(m != 0) at ln 5 is .037354; two layers have 3 heads and 29 neurons each."""
    search = StructuredHardConcrete(heads_penalty=0.6, neurons_penalty=0.58).begin(TrainingPlan(odd_model(), steps=1, seed=0))
    search.on_step_start(0)
    search.add_penalty()
    assert search.log_alpha["heads/1"].grad.tolist() == pytest.approx([0.6 * 0.037354 / 6] * 3, rel=1e-4)
    assert search.log_alpha["neurons/0"].grad.tolist() == pytest.approx([0.58 * 0.037354 / 58] * 29, rel=1e-4)


def test_metrics_are_the_open_gates_of_each_group():
    search = StructuredHardConcrete().begin(TrainingPlan(odd_model(), steps=1, seed=0))
    with torch.no_grad():
        for name, location in search.log_alpha.items():
            location.copy_(torch.tensor([-2.3979, 0.0, 2.3979]) if name.startswith("heads") else torch.full((29,), math.log(5)))
    assert search.metrics() == {
        "heads_open": pytest.approx((0.310176 + 0.831822 + 0.981952) / 3, abs=2e-6),
        "heads_at_zero": pytest.approx(1 / 3),
        "heads_at_one": pytest.approx(1 / 3),
        "neurons_open": pytest.approx(0.961136, abs=2e-6),
        "neurons_at_zero": 0.0,
        "neurons_at_one": 0.0,
    }
