import copy

import pytest
import torch
from torch import nn

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.masks import HoldMaskCallback, attach_mask, detach_mask, expand, zero_removed
from ticketlab.core.errors import UsageError
from ticketlab.tickets.draw import draw
from ticketlab.tickets.ticket import Ticket

IDS = torch.tensor([[2, 40, 50, 60, 3], [2, 70, 3, 0, 0]])
ATTENTION = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


def random_masks(backbone, groups, sparsity=0.4):
    torch.manual_seed(1)
    return draw({name: torch.rand(shape) for name, shape in backbone.units().items() if name.partition("/")[0] in groups}, sparsity)


def ticket_of(backbone, groups):
    return Ticket(random_masks(backbone, groups), backbone.fingerprint(), backbone.weights_hash(), backbone.weights_hash())


def logits(model):
    with torch.inference_mode():
        return model(input_ids=IDS, attention_mask=ATTENTION).logits


class Gate(nn.Module):
    def __init__(self, gate):
        super().__init__()
        self.gate = gate

    def forward(self, module, inputs):
        return (inputs[0] * self.gate,)


def test_a_masked_weight_has_no_effect_until_it_is_set_nor_after_detaching(model):
    before, keys = logits(model), list(model.state_dict())
    backbone = Backbone(model)
    linears = {name: backbone.module(name) for name in backbone.units() if name.startswith("weights/")}
    originals = {name: (linear.weight, linear.weight.detach().clone()) for name, linear in linears.items()}
    masked = {name: attach_mask(linear) for name, linear in linears.items()}
    assert torch.equal(logits(model), before)
    for name in masked:
        masked[name].effective = torch.zeros_like(originals[name][0])
        assert backbone.weight(name) is originals[name][0]
    assert not torch.equal(logits(model), before)
    for name, linear in linears.items():
        detach_mask(linear)
        assert linear.weight is originals[name][0]
        assert torch.equal(linear.weight, originals[name][1])
    assert sorted(model.state_dict()) == sorted(keys)
    assert torch.equal(logits(model), before)


def test_a_detached_leaf_collects_the_gradients_of_all_passes():
    linear = nn.Linear(3, 2)
    masked = attach_mask(linear)
    leaf = (linear.parametrizations.weight.original * 0.5).detach().requires_grad_()
    masked.effective = leaf
    rows = torch.randn(4, 3)
    for _ in range(2):
        linear(rows).sum().backward()
    torch.testing.assert_close(leaf.grad, 2 * rows.sum(0).expand(2, 3))
    assert linear.parametrizations.weight.original.grad is None


@pytest.mark.parametrize("in_graph", [False, True], ids=["leaf", "inside a graph"])
def test_a_deep_copy_keeps_the_effective_weight_and_is_independent(in_graph):
    linear = nn.Linear(3, 2)
    masked = attach_mask(linear)
    gate = torch.full((2, 3), 0.5, requires_grad=True)
    masked.effective = linear.parametrizations.weight.original * gate if in_graph else torch.ones(2, 3)
    expected = masked.effective.detach().clone()
    twin = copy.deepcopy(linear)
    masked.effective = None
    assert torch.equal(twin.weight, expected)
    detach_mask(twin)
    detach_mask(linear)
    assert torch.equal(twin.weight, linear.weight)
    assert twin.weight is not linear.weight
    assert type(twin) is type(linear) is nn.Linear


def test_three_rounds_of_attach_copy_and_detach_do_not_change_the_weights(bert):
    before = Backbone(bert).weights_hash()
    for _ in range(3):
        backbone = Backbone(bert)
        for name in (n for n in backbone.units() if n.startswith("weights/")):
            attach_mask(backbone.module(name)).effective = torch.zeros(backbone.units()[name])
        copied = copy.deepcopy(bert)
        for name in (n for n in backbone.units() if n.startswith("weights/")):
            detach_mask(backbone.module(name))
            detach_mask(Backbone(copied).module(name))
        bert = copied
    assert Backbone(bert).weights_hash() == before


def test_attaching_twice_is_refused_and_detaching_twice_is_not():
    linear = nn.Linear(2, 2)
    attach_mask(linear)
    with pytest.raises(ValueError, match="already parametrized"):
        attach_mask(linear)
    detach_mask(linear)
    detach_mask(linear)


def test_zeroing_units_equals_gating_them(model):
    backbone = Backbone(model)
    masks = random_masks(backbone, {"heads", "neurons"})
    handles = []
    for index, layer in enumerate(backbone.layers):
        heads = masks[f"heads/{index}"].float().repeat_interleave(backbone.head_dim)
        handles.append(layer.attention_output.register_forward_pre_hook(Gate(heads)))
        handles.append(layer.ffn_out.register_forward_pre_hook(Gate(masks[f"neurons/{index}"].float())))
    gated = logits(model)
    for handle in handles:
        handle.remove()
    plain = logits(model)
    zero_removed(backbone, masks)
    torch.testing.assert_close(logits(model), gated, rtol=0, atol=1e-6)
    assert not torch.allclose(gated, plain, atol=1e-4)


def test_expanding_multiplies_overlapping_masks(bert):
    backbone = Backbone(bert)
    masks = random_masks(backbone, {"heads", "weights"})
    expanded = expand(backbone, masks)
    heads = masks["heads/0"].repeat_interleave(8)
    output = "encoder.layer.0.attention.output.dense.weight"
    assert torch.equal(expanded[output], masks[f"weights/{output}"] & heads)
    query = "encoder.layer.0.attention.self.query"
    assert torch.equal(expanded[f"{query}.weight"], masks[f"weights/{query}.weight"] & heads[:, None])
    assert torch.equal(expanded[f"{query}.bias"], heads)


@pytest.mark.parametrize(
    ("name", "shape"), [("heads/0", (3,)), ("heads/7", (4,)), ("weights/embeddings.word_embeddings.weight", (454, 32)), ("layers/0", (1,))]
)
def test_a_mask_that_fits_no_unit_is_refused(bert, name, shape):
    with pytest.raises(UsageError, match=f"the mask `{name}`"):
        expand(Backbone(bert), {name: torch.ones(shape, dtype=torch.bool)})


@pytest.mark.parametrize("groups", [{"weights"}, {"heads", "neurons"}], ids=["unstructured", "structured"])
@pytest.mark.parametrize("optimizer", [torch.optim.AdamW, torch.optim.SGD], ids=["adamw", "sgd"])
def test_removed_weights_stay_exactly_zero_under_momentum_and_weight_decay(model, groups, optimizer):
    backbone = Backbone(model.train())
    ticket = ticket_of(backbone, groups)
    settings = {"momentum": 0.9} if optimizer is torch.optim.SGD else {}
    steps = optimizer(model.parameters(), lr=0.01, weight_decay=0.1, **settings)
    kept = expand(backbone, ticket.masks)
    start = {name: backbone.parameter(name).detach().clone() for name in kept}

    def step(held=None):
        steps.zero_grad()
        model(input_ids=IDS, attention_mask=ATTENTION, labels=torch.tensor([0, 1])).loss.backward()
        if held is not None:
            held.on_after_backward()
            assert all(not backbone.parameter(name).grad[~mask].any() for name, mask in kept.items())
        steps.step()
        if held is not None:
            assert held.on_step_end(0) is False

    step()  # momentum from before the mask must not bring weights back
    held = HoldMaskCallback(backbone, ticket.masks)
    for _ in range(5):
        step(held)
        assert all(not backbone.parameter(name)[~mask].any() for name, mask in kept.items())
    assert all((backbone.parameter(name) != start[name])[mask].any() for name, mask in kept.items() if mask.any())


def test_masks_of_other_units_are_not_held(tiny, bert):
    from ticketlab.backbone.loading import load_classifier

    other, _ = load_classifier(str(tiny["distilbert"]), ("a", "b"), 0)
    with pytest.raises(UsageError, match="does not fit the model"):
        HoldMaskCallback(Backbone(other), ticket_of(Backbone(bert), {"weights"}).masks)
