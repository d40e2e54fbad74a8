"""What holds for every pruner of heads and neurons that trains: units, exact tickets, smaller models, resuming, seeds."""

import copy

import pytest
import torch
from support.families import FAMILIES
from support.small_searches import StopAt, loss_of, odd_model, same_bits, state_of, tiny_classifier, training

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.shrinking import shrink
from ticketlab.backbone.temporary_masks import temporarily_masked
from ticketlab.core.errors import Interrupted
from ticketlab.pruners.base import structured_units
from ticketlab.pruners.structured_hard_concrete import StructuredHardConcrete
from ticketlab.pruners.structured_imp import StructuredIMP
from ticketlab.pruners.structured_mask_training import StructuredMaskTraining
from ticketlab.tickets.draw import draw, removed_count
from ticketlab.training.plan import TrainingPlan

PRUNERS = {
    "hard-concrete": StructuredHardConcrete(),
    "mask-training": StructuredMaskTraining(threshold_steps=2),
    "imp": StructuredIMP(interval=0.2, restart=True),
    "imp-rewind": StructuredIMP(interval=0.2, rewind="rounds"),
}
SPARSITIES = {"heads": 1 / 6, "neurons": 0.3}


@pytest.fixture(params=PRUNERS)
def pruner(request):
    return PRUNERS[request.param]


def start(pruner, folder, *after, model=None, **settings):
    chosen = odd_model() if model is None else model
    return training(pruner, chosen, folder, steps=10, sparsities=SPARSITIES, adversary=FreeLB(steps=2), after=after, **settings)


@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_resumed_search_ends_with_the_same_bits(tmp_path, pruner, step):
    whole, search = start(pruner, tmp_path / "whole")
    expected = whole.run()
    stopped, _ = start(pruner, tmp_path / "parts", StopAt(step))
    with pytest.raises(Interrupted):
        stopped.run()
    resumed, again = start(pruner, tmp_path / "parts", StopAt(99))
    found = resumed.run()
    assert (found.steps, found.loss, found.history) == (expected.steps, expected.loss, expected.history)
    assert same_bits(search.scores(), again.scores())
    search.close()
    again.close()
    assert same_bits(state_of(whole.loss_function.model), state_of(resumed.loss_function.model))


SEARCHES = [(family, "mask-training") for family in FAMILIES] + [("modernbert", "imp"), ("gpt2", "imp-rewind"), ("albert", "hard-concrete")]


@pytest.mark.parametrize(("family", "name"), SEARCHES)
def test_in_every_family_the_ticket_is_exact_and_the_smaller_model_computes_the_same(tmp_path, family, name):
    pruner = PRUNERS[name]
    model = tiny_classifier(family, tmp_path / name)
    before = state_of(model)
    loop, search = training(pruner, model, tmp_path / name, steps=3, sparsities=SPARSITIES)
    backbone = Backbone(model)
    assert {unit: tuple(score.shape) for unit, score in search.scores().items()} == structured_units(backbone)
    loop.run()
    masks = draw(search.scores(), SPARSITIES)
    search.close()
    for group, sparsity in SPARSITIES.items():
        kept = torch.cat([mask for unit, mask in masks.items() if unit.startswith(group)])
        assert int((~kept).sum()) == removed_count(sparsity, len(kept))
    assert pruner.trains_weights or same_bits(state_of(model), before)
    model.eval()
    small = shrink(model, masks)
    with temporarily_masked(backbone, masks), torch.no_grad():
        assert abs(float(loss_of(model, 0)) - float(loss_of(small, 0))) < 1e-5


@pytest.mark.parametrize("name", ["hard-concrete", "mask-training"])
def test_closed_gates_compute_what_the_smaller_model_does(name):
    model = odd_model().eval()
    whole = copy.deepcopy(model)
    masks = {"heads/0": torch.tensor([True, False, True]), "heads/1": torch.tensor([True, True, True])}
    masks |= {"neurons/0": torch.arange(29) % 3 > 0, "neurons/1": torch.zeros(29, dtype=torch.bool)}
    search = PRUNERS[name].begin(TrainingPlan(model.requires_grad_(False), steps=1, seed=0, sparsities=SPARSITIES))
    trained = search.log_alpha if name == "hard-concrete" else search.masks
    with torch.no_grad():
        for unit, values in trained.items():
            values.copy_(torch.where(masks[unit], 100.0, -100.0))
    search.on_step_start(0)
    torch.testing.assert_close(loss_of(model, 0), loss_of(shrink(whole, masks), 0), atol=1e-5, rtol=0)


def test_the_seed_decides_the_gates(tmp_path):
    scores = []
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        loop, search = start(StructuredHardConcrete(), tmp_path / folder)
        search._generator.manual_seed(seed)
        loop.run()
        scores.append(search.scores())
    assert same_bits(scores[0], scores[1])
    assert not same_bits(scores[0], scores[2])
