"""The importance pruner against autograd through explicit gates, and its arithmetic by hand."""

import copy
import gc

import pytest
import torch
from support.families import FAMILIES

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier
from ticketlab.backbone.shrinking import shrink, unshrink
from ticketlab.pruners.importance import Importance
from ticketlab.testing.models import tiny
from ticketlab.training.batch import Batch
from ticketlab.training.loss_function import forward
from ticketlab.training.plan import TrainingPlan


@pytest.fixture(params=FAMILIES)
def model(request, tmp_path):
    folder = tiny.tiny_model(request.param, tmp_path / "model")
    return load_classifier(str(folder), ("negative", "positive"), 0)[0].eval()


def batch(seed: int) -> Batch:
    ids = torch.randint(5, 300, (4, 9), generator=torch.Generator().manual_seed(seed))
    return Batch(ids, torch.ones_like(ids), None, torch.tensor([0, 1, 1, 0]))


def loss_of(model, seed: int):
    return torch.nn.functional.cross_entropy(forward(model, batch(seed), "fp32"), batch(seed).labels)


class Gate(torch.nn.Module):
    """A factor on the input of a linear module, as in the papers."""

    def __init__(self, linear, width):
        super().__init__()
        inputs = next(size for size in (getattr(linear, "nx", None), getattr(linear, "in_features", None)) if size)
        self.factor = torch.nn.Parameter(torch.ones(inputs // width))
        self.width = width
        linear.register_forward_pre_hook(lambda module, inputs: (inputs[0] * self.factor.repeat_interleave(self.width),))


def gated(model):
    backbone = Backbone(model)
    return {
        **{f"heads/{index}": Gate(layer.attention_output, backbone.head_dim) for index, layer in enumerate(backbone.layers)},
        **{f"neurons/{index}": Gate(layer.ffn_out, 1) for index, layer in enumerate(backbone.layers)},
    }


def test_a_new_search_does_not_change_the_logits(model):
    before = forward(model, batch(0), "fp32")
    search = Importance().begin(TrainingPlan(model, steps=1, seed=0))
    search.on_step_start(0)
    assert torch.equal(forward(model, batch(0), "fp32"), before)


def test_gradients_of_two_passes_equal_those_through_explicit_gates(model):
    explicit = copy.deepcopy(model)
    gates = gated(explicit)
    search = Importance(heads_penalty=0.0, neurons_penalty=0.0).begin(TrainingPlan(model, steps=1, seed=0))
    factors = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, coefficient in search.coefficients.items():
            coefficient.copy_(torch.rand(coefficient.shape, generator=factors) * 2 - 0.5)
            gates[name].factor.copy_(coefficient)
    search.on_step_start(0)
    for seed in (0, 1):
        loss_of(model, seed).backward()
        loss_of(explicit, seed).backward()
    search.on_after_backward()
    for name, coefficient in search.coefficients.items():
        torch.testing.assert_close(coefficient.grad, gates[name].factor.grad, atol=1e-6, rtol=1e-4)
    search.close()
    theirs = dict(explicit.named_parameters())
    for name, parameter in model.named_parameters():
        assert (parameter.grad is None) == (theirs[name].grad is None), name
        if parameter.grad is not None:
            torch.testing.assert_close(parameter.grad, theirs[name].grad, atol=1e-6, rtol=1e-4, msg=name)


def test_the_penalty_adds_the_sign_and_zero_at_zero(model):
    search = Importance(heads_penalty=0.25, neurons_penalty=0.5).begin(TrainingPlan(model, steps=1, seed=0))
    with torch.no_grad():
        search.coefficients["heads/0"][:3] = torch.tensor([-2.0, 0.0, 3.0])
    search.on_step_start(0)
    search.on_after_backward()
    search.add_penalty()  # without any pass, the gradient is that of the penalty alone
    assert search.coefficients["heads/0"].grad[:3].tolist() == [-0.25, 0.0, 0.25]
    assert set(search.coefficients["neurons/1"].grad.tolist()) == {0.5}


def test_scores_are_magnitudes(model):
    search = Importance().begin(TrainingPlan(model, steps=1, seed=0))
    with torch.no_grad():
        search.coefficients["heads/1"][:] = torch.tensor([-3.0, 1.0, -0.5, 0.0])
    assert search.scores()["heads/1"].tolist() == [3.0, 1.0, 0.5, 0.0]


def test_metrics_are_the_l1_norms_and_the_mean_magnitudes(model):
    search = Importance().begin(TrainingPlan(model, steps=1, seed=0))
    sizes = {group: sum(c.numel() for name, c in search.coefficients.items() if name.startswith(group)) for group in ("heads", "neurons")}
    assert search.metrics() == {f"{group}_l1": size for group, size in sizes.items()} | {f"{group}_importance": 1 for group in sizes}
    with torch.no_grad():
        for name, coefficient in search.coefficients.items():
            coefficient.fill_(-0.5 if name.startswith("heads") else 0)
            coefficient[0] = 2
    layers = len(search.coefficients) // 2
    metrics = search.metrics()
    assert metrics["heads_l1"] == pytest.approx(2 * layers + 0.5 * (sizes["heads"] - layers))
    assert metrics["neurons_l1"] == pytest.approx(2 * layers)
    assert metrics["heads_importance"] == pytest.approx(metrics["heads_l1"] / sizes["heads"])
    search.close()


def test_coefficients_use_the_rate_of_the_weights_and_no_weight_decay_by_default(model):
    backbone = Backbone(model)
    search = Importance().begin(TrainingPlan(backbone.model, steps=1, seed=0))
    (group,) = search.parameter_groups()
    assert "lr" not in group
    assert group["weight_decay"] == 0.0
    search.close()
    (group,) = Importance(weight_decay=0.01).begin(TrainingPlan(backbone.model, steps=1, seed=0)).parameter_groups()
    assert group["weight_decay"] == 0.01


def test_closing_removes_the_coefficients_and_keeps_the_trained_weights(model):
    names = set(model.state_dict())
    backbone = Backbone(model)
    weight = backbone.layers[0].ffn_out.weight
    before = weight.detach().clone()
    search = Importance(lr=0.5).begin(TrainingPlan(backbone.model, steps=1, seed=0))
    assert search.parameter_groups()[0]["lr"] == 0.5
    with torch.no_grad():
        search.coefficients["neurons/0"].fill_(3.0)
    search.on_step_start(0)
    search.close()
    assert set(model.state_dict()) == names
    assert backbone.layers[0].ffn_out.weight is weight
    assert torch.equal(weight, before)


def test_frozen_weights_get_no_gradient(model):
    model.requires_grad_(False)
    search = Importance().begin(TrainingPlan(model, steps=1, seed=0))
    search.on_step_start(0)
    loss_of(model, 0).backward()
    search.on_after_backward()
    assert all(parameter.grad is None for parameter in model.parameters())
    assert bool((search.coefficients["heads/0"].grad != search.coefficients["heads/0"].grad[0]).any())


@pytest.mark.usefixtures("only_new_objects")
def test_four_rounds_of_searching_and_shrinking_leak_nothing(tmp_path):
    model = load_classifier(str(tiny.tiny_model("bert", tmp_path / "model")), ("negative", "positive"), 0)[0]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    masks = {"heads/0": torch.tensor([True, False, True, False]), "neurons/1": torch.arange(64) % 3 > 0}

    def alive() -> tuple[int, int]:
        gc.collect()
        things = gc.get_objects()
        return sum(issubclass(type(thing), torch.Tensor) for thing in things), sum(issubclass(type(thing), type) for thing in things)

    counts = []
    for _ in range(4):
        search = Importance().begin(TrainingPlan(model, steps=1, seed=0))
        search.on_step_start(0)
        loss_of(model, 0).backward()
        twin = copy.deepcopy(model)
        search.on_after_backward()
        search.close()
        model.zero_grad()
        small = shrink(model, masks)
        loss_of(unshrink(small), 0)
        del search, twin, small
        counts.append(alive())
    assert counts[-1] == counts[1]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
