"""Iterative pruning of heads and neurons: what each pruning removes, times, and rewinding."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_searches import AfterStep, odd_model, same_bits, state_of, training

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.masks import expand
from ticketlab.core.errors import SettingError
from ticketlab.pruners.structured_imp import StructuredIMP
from ticketlab.tickets.draw import draw, removed_count
from ticketlab.training.plan import TrainingPlan


def test_the_smallest_head_and_neurons_are_removed_before_the_first_step():
    model = odd_model()
    backbone = Backbone(model)
    with torch.no_grad():
        for matrix in (backbone.layers[1].query, backbone.layers[1].key, backbone.layers[1].value):
            matrix.weight[5:10].mul_(0.1)  # the second head of the second layer, but for its columns of the output
        backbone.layers[0].ffn_in.weight[[3, 8]] = 0.0
        backbone.layers[0].ffn_out.weight[:, [3, 8]] *= 0.1
    search = StructuredIMP(amount=1 / 6).begin(TrainingPlan(model, steps=10, seed=0, sparsities={"heads": 1 / 6, "neurons": 2 / 58}))
    assert search.ready
    kept = draw(search.scores(), {"heads": 1 / 6, "neurons": 2 / 58})
    assert {name: (~mask).nonzero().flatten().tolist() for name, mask in kept.items()} == {
        "heads/0": [],
        "heads/1": [1],
        "neurons/0": [3, 8],
        "neurons/1": [],
    }
    assert not bool(torch.any(backbone.layers[1].value.weight[5:10]))
    assert not bool(torch.any(backbone.layers[1].value.bias[5:10]))
    assert not bool(torch.any(backbone.layers[1].attention_output.weight[:, 5:10]))
    assert bool(torch.all(backbone.layers[1].attention_output.weight[:, 10:]))


@settings(max_examples=10, deadline=None)
@given(
    heads=st.floats(0, 2 / 3), neurons=st.floats(0.02, 1), amount=st.sampled_from([0.1, 0.3, 0.5]),
    scope=st.sampled_from(["local", "global"]), seed=st.integers(0, 3),
)  # fmt: skip
def test_each_pruning_removes_exact_numbers_and_removed_units_stay_at_zero(tmp_path_factory, heads, neurons, amount, scope, seed):
    model = odd_model(seed)
    backbone, seen = Backbone(model), []

    def check(step=-1):
        gone = {name: index > 0 for name, index in search._gone.items()}
        parts = 1 if scope == "global" else 2
        for group, target, units in (("heads", heads, 6), ("neurons", neurons, 58)):
            count = sum(int(mask.sum()) for name, mask in gone.items() if name.startswith(group))
            assert count == parts * removed_count(round(min(search._done * amount, target), 12), units // parts)
        assert all(bool(torch.any(~mask)) for name, mask in gone.items() if name.startswith("heads"))
        assert all(bool(torch.all(mask | ~before[name])) for before in seen[-1:] for name, mask in gone.items())
        for name, kept in expand(backbone, {name: ~mask for name, mask in gone.items()}).items():
            assert not bool(torch.any(backbone.parameter(name)[~kept]))
        seen.append(gone)

    pruner = StructuredIMP(amount=amount, scope=scope)
    sparsities = {"heads": heads, "neurons": neurons}
    loop, search = training(
        pruner, model, tmp_path_factory.mktemp("imp"), steps=10, sparsities=sparsities, after=[AfterStep(lambda step: check(step))]
    )
    check()
    loop.run()
    assert search.ready
    mask = draw(search.scores(), sparsities, pruner.ranks())
    assert all(torch.equal(mask[name], ~gone) for name, gone in seen[-1].items())


@pytest.mark.parametrize(("rewind", "ends"), [("never", 6), ("rounds", 4), ("end", 4)])
def test_the_search_ends_by_the_higher_sparsity_and_rewinds_to_the_same_bits(tmp_path, rewind, ends):
    model = odd_model()
    start = state_of(model)
    loop, search = training(StructuredIMP(rewind=rewind), model, tmp_path, steps=20, sparsities={"heads": 1 / 6, "neurons": 0.3})
    assert loop.run().steps == ends  # three prunings of neurons, after 0, 2 and 4 steps
    assert search.metrics() == {"heads_sparsity": 1 / 6, "neurons_sparsity": 17 / 58}
    trained = state_of(model)
    search.close()
    assert same_bits(state_of(model), trained if rewind == "never" else start)


def test_impossible_sparsities_are_refused():
    with pytest.raises(SettingError, match="sparsity: 5 of 6 heads would be removed"):
        StructuredIMP().begin(TrainingPlan(odd_model(), steps=10, seed=0, sparsities={"heads": 0.8}))
    with pytest.raises(SettingError, match=r"interval: the sparsity 0\.9 takes 9 prunings"):
        StructuredIMP(interval=0.2).begin(TrainingPlan(odd_model(), steps=10, seed=0, sparsities={"neurons": 0.9}))
