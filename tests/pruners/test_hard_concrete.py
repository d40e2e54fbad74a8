"""Values of the hard-concrete distribution, and a search of it on a tiny model."""

import math

import pytest
import torch

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier
from ticketlab.pruners.hard_concrete import HardConcrete, deterministic_gate, location_of, open_probability, sample_gate, shares
from ticketlab.training.plan import TrainingPlan

BETA = 2 / 3
ROWS = [
    # log alpha, deterministic gate, P(m != 0), P(m = 1)
    (-2.3979, 0.0, 0.310176, 0.018048),
    (-1.0, 0.222730, 0.645335, 0.069229),
    (0.0, 0.5, 0.831822, 0.168178),
    (1.0, 0.777270, 0.930771, 0.354665),
    (1.6094, 0.9, 0.961136, 0.502710),
    (2.3979, 1.0, 0.981952, 0.689824),
]


@pytest.mark.parametrize(("log_alpha", "gate", "opened", "full"), ROWS)
def test_gate_and_probabilities_have_the_papers_values(log_alpha, gate, opened, full):
    location = torch.tensor(log_alpha)
    assert float(deterministic_gate(location)) == pytest.approx(gate, abs=2e-5)
    assert float(open_probability(location, BETA)) == pytest.approx(opened, abs=2e-6)
    noise = torch.linspace(0, 1, 200_001)[1:-1].clone()
    sampled, _ = sample_gate(location.expand_as(noise), noise, BETA)
    assert float((sampled > 0).float().mean()) == pytest.approx(opened, abs=2e-4)
    assert float((sampled == 1).float().mean()) == pytest.approx(full, abs=2e-4)


@pytest.mark.parametrize(("uniform", "gate"), [(0.1, 0.0), (0.25, 0.093669), (0.5, 0.5), (0.75, 0.906331), (0.9, 1.0)])
def test_a_sample_at_location_zero(uniform, gate):
    sampled, _ = sample_gate(torch.zeros(1), torch.tensor([uniform]), BETA)
    assert float(sampled) == pytest.approx(gate, abs=1e-5)


@pytest.mark.parametrize(("log_alpha", "slope"), [(0.0, 0.139894), (math.log(5), 0.037354)])
def test_the_penalty_has_the_papers_gradient(log_alpha, slope):
    location = torch.tensor(log_alpha, requires_grad=True)
    open_probability(location, BETA).backward()
    assert float(location.grad) == pytest.approx(slope, abs=1e-6)


def test_gates_start_at_ln_5():
    assert location_of(0.9) == pytest.approx(math.log(5))


def test_the_returned_derivative_of_a_sample_is_correct():
    generator = torch.Generator().manual_seed(3)
    noise = torch.rand(1000, generator=generator, dtype=torch.float64)
    location = torch.randn(1000, generator=generator, dtype=torch.float64).requires_grad_()
    concrete = torch.sigmoid((torch.logit(noise, eps=1e-4) + location) / BETA)
    gate = (concrete * 1.2 - 0.1).clamp(0, 1)
    gate.sum().backward()
    sampled, slope = sample_gate(location.detach(), noise.clone(), BETA)
    torch.testing.assert_close(sampled, gate.detach())
    torch.testing.assert_close(slope, location.grad)


@pytest.fixture
def model(tiny):
    return load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)[0].requires_grad_(False)


def inputs():
    return {"input_ids": torch.tensor([[2, 10, 11, 12, 3], [2, 20, 21, 22, 3]]), "labels": torch.tensor([0, 1])}


def test_gradients_of_the_gates_equal_those_of_autograd(model):
    settings = HardConcrete(penalty=0.7)
    search = settings.begin(TrainingPlan(model, steps=4, seed=5))
    search.on_step_start(0)
    model(**inputs()).loss.backward()
    search.on_after_backward()
    search.add_penalty()
    found = {name: location.grad.clone() for name, location in search.log_alpha.items()}
    search.close()

    generator = torch.Generator().manual_seed(5)
    locations, masked = {}, {}
    backbone = Backbone(model)
    for name in found:
        weight = backbone.weight(name)
        locations[name] = torch.full_like(weight, math.log(5)).requires_grad_()
        noise = torch.rand(weight.shape, generator=generator)
        concrete = torch.sigmoid((torch.logit(noise, eps=1e-4) + locations[name]) / BETA)
        masked[f"{model.base_model_prefix}.{name.removeprefix('weights/')}"] = weight * (concrete * 1.2 - 0.1).clamp(0, 1)
    loss = torch.func.functional_call(model, masked, kwargs=inputs()).loss
    penalty = torch.cat([open_probability(location, BETA).flatten() for location in locations.values()]).mean()
    (loss + 0.7 * penalty).backward()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, locations[name].grad, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("reduction", ["elements", "matrices"])
def test_metrics_are_the_shares_of_gates_at_zero_and_one_and_the_regulariser(model, reduction):
    """Every matrix has as many gates at the locations of each row as of any other, so R does not depend on the reduction."""
    search = HardConcrete(reduction=reduction).begin(TrainingPlan(model, steps=1, seed=0))
    locations = torch.tensor([row[0] for row in ROWS])
    with torch.no_grad():
        for log_alpha in search.log_alpha.values():
            assert log_alpha.numel() % 8 == 0
            shares_of_eighths = (4, 1, 0, 0, 1, 2)  # of the rows: half of the gates at 0, a quarter at 1
            eighths = torch.cat([location.repeat(count) for location, count in zip(locations, shares_of_eighths, strict=True)])
            log_alpha.copy_(eighths.repeat(log_alpha.numel() // 8).view_as(log_alpha))
    expected = (4 * 0.310176 + 0.645335 + 0.961136 + 2 * 0.981952) / 8
    assert search.metrics() == {"penalty": pytest.approx(expected, abs=2e-6), "gates_at_zero": 0.5, "gates_at_one": 0.25}
    search.close()


def test_the_mean_of_matrix_means_is_another_penalty(model):
    slopes = {}
    for reduction in ("elements", "matrices"):
        search = HardConcrete(reduction=reduction).begin(TrainingPlan(model, steps=1, seed=0))
        search.on_step_start(0)
        search.add_penalty()
        slopes[reduction] = [location.grad.flatten()[0] * location.numel() for location in search.log_alpha.values()]
        search.close()
    assert len({round(float(slope), 6) for slope in slopes["matrices"]}) == 1
    assert len({round(float(slope), 6) for slope in slopes["elements"]}) > 1


@pytest.mark.parametrize(("reduction", "square", "feed_forward"), [("elements", 2.199e-10, 2.199e-10), ("matrices", 4.398e-10, 1.0995e-10)])
def test_on_bert_base_the_gradient_of_the_penalty_per_gate_is_below_adams_epsilon_in_both_reductions(reduction, square, feed_forward):
    """Lambda .5 times the slope .037354 at ln 5, over 84,934,656 gates, or over 72 matrices of 768 x 768 or 768 x 3072 gates."""
    sizes = {f"{index}": 768 * 768 if index < 48 else 768 * 3072 for index in range(72)}
    found = shares(sizes, reduction)
    assert 0.5 * 0.037354 * found["0"] == pytest.approx(square, rel=1e-3)
    assert 0.5 * 0.037354 * found["71"] == pytest.approx(feed_forward, rel=1e-3)
    assert sum(sizes[name] * share for name, share in found.items()) == pytest.approx(1)


def test_the_penalty_rises_over_the_ramp(model):
    search = HardConcrete(penalty=1.0, penalty_ramp=0.5).begin(TrainingPlan(model, steps=8, seed=0))
    slopes = []
    for step in range(8):
        search.on_step_start(step)
        search.add_penalty()
        slopes.append(float(next(iter(search.log_alpha.values())).grad.sum()))
    assert [slope / slopes[-1] for slope in slopes] == pytest.approx([0.25, 0.5, 0.75, 1, 1, 1, 1, 1])


@pytest.mark.parametrize("resample", ["step", "pass"])
def test_gates_are_sampled_once_per_step_unless_resampled_per_pass(model, resample):
    search = HardConcrete(resample=resample).begin(TrainingPlan(model, steps=1, seed=0))
    matrix = Backbone(model).layers[0].query
    search.on_step_start(0)
    search.on_pass_start(0)
    first = matrix.weight.detach().clone()
    search.on_pass_start(1)
    assert torch.equal(first, matrix.weight.detach()) is (resample == "step")


def test_closing_restores_the_weights_exactly(model):
    before = {name: value.clone() for name, value in model.state_dict().items()}
    search = HardConcrete().begin(TrainingPlan(model, steps=1, seed=0))
    search.on_step_start(0)
    model(**inputs()).loss.backward()
    search.on_after_backward()
    search.close()
    after = model.state_dict()
    assert set(before) == set(after)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_the_pooler_is_gated_only_if_configured(model):
    search = HardConcrete().begin(TrainingPlan(model, 1, 0))
    without = set(search.scores())
    search.close()
    assert set(HardConcrete(pooler=True).begin(TrainingPlan(model, 1, 0)).scores()) - without == {"weights/pooler.dense.weight"}
