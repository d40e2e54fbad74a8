"""Iterative magnitude pruning through the training loop: counts, zeros, times, rewinding, resuming."""

import copy
import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.families import FAMILIES
from support.small_searches import AfterStep, StopAt, alive, loss_of, odd_model, same_bits, state_of, tiny_classifier, training

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.backbone.backbone import Backbone
from ticketlab.core.errors import Interrupted, SettingError
from ticketlab.pruners.base import weight_units
from ticketlab.pruners.imp import IMP, IMPRewind
from ticketlab.tickets.draw import draw, removed_count
from ticketlab.training.plan import TrainingPlan

KINDS = {"imp": IMP, "imp-rewind": IMPRewind}


def zeros(backbone, search) -> dict[str, torch.Tensor]:
    return {name: (backbone.weight(name) == 0).detach().clone() for name in search.scores()}


def count(masks) -> int:
    return sum(int(mask.sum()) for mask in masks.values())


@settings(max_examples=12, deadline=None)
@given(
    amount=st.sampled_from([0.1, 0.17, 0.3, 0.5]),
    sparsity=st.floats(0.03, 0.97),
    steps=st.integers(3, 12),
    scope=st.sampled_from(["local", "global"]),
    restart=st.booleans(),
    seed=st.integers(0, 3),
)
def test_masks_grow_by_exact_counts_and_removed_weights_stay_at_zero(tmp_path_factory, amount, sparsity, steps, scope, restart, seed):
    model = odd_model(seed)
    backbone = Backbone(model)
    seen = []

    def record(step):
        seen.append((search._done, zeros(backbone, search)))

    pruner = IMP(amount=amount, scope=scope, restart=restart)
    loop, search = training(pruner, model, tmp_path_factory.mktemp("imp"), steps=steps, sparsity=sparsity, after=[AfterStep(record)])
    seen.append((search._done, zeros(backbone, search)))  # the first pruning comes before any step
    assert search._done > 0
    loop.run()
    for (_, before), (_, after) in itertools.pairwise(seen):
        assert all(torch.all(after[name] | ~gone) for name, gone in before.items())
    for done, gone in seen:
        reached = min(done * amount, sparsity)
        if scope == "local":
            assert all(int(part.sum()) == removed_count(round(reached, 12), part.numel()) for part in gone.values())
        else:
            assert count(gone) == removed_count(round(reached, 12), sum(part.numel() for part in gone.values()))
    assert search.ready
    mask = draw(search.scores(), sparsity, pruner.ranks())
    assert all(torch.equal(mask[name], ~gone) for name, gone in seen[-1][1].items())
    assert search.metrics()["sparsity"] == pytest.approx(sparsity, abs=0.02)


def test_all_matrices_of_encoder_and_classifier_are_pruned_by_default(tmp_path):
    backbone = Backbone(tiny_classifier("bert", tmp_path))
    plan = TrainingPlan(backbone.model, steps=10, seed=0, sparsity=0.5)
    encoder, pooler, head = set(weight_units(backbone)), {"weights/pooler.dense.weight"}, {"weights/classifier.weight"}
    assert set(IMP().begin(plan).scores()) == encoder | head
    assert set(IMP(classifier=False).begin(plan).scores()) == encoder
    assert set(IMP(pooler=True).begin(plan).scores()) == encoder | pooler | head


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_pruned_and_rewound_exactly(tmp_path, family):
    model = tiny_classifier(family, tmp_path)
    start = state_of(model)
    loop, search = training(IMPRewind(), model, tmp_path, steps=10, sparsity=0.3, adversary=FreeLB(steps=2))
    assert loop.run().steps == 2
    assert search.ready
    assert count(zeros(Backbone(model), search)) > 0
    moved = [name for name, value in model.state_dict().items() if not torch.equal(value, start[name])]
    assert any("embeddings" in name or "wte" in name for name in moved)
    assert any(name.startswith(("classifier", "score")) for name in moved)
    mask = draw(search.scores(), 0.3, "local")
    search.close()
    assert same_bits(state_of(model), start)
    assert {name: int((~kept).sum()) for name, kept in mask.items()} == {
        name: removed_count(0.3, kept.numel()) for name, kept in mask.items()
    }


@pytest.mark.parametrize(
    ("kind", "sparsity", "steps", "ends"),
    [
        ("imp", 0.3, 20, 6),
        ("imp-rewind", 0.3, 20, 4),
        ("imp", 0.9, 20, 18),
        ("imp-rewind", 0.9, 20, 16),
        ("imp", 1.0, 20, 20),
        ("imp", 0.25, 20, 6),
        ("imp-rewind", 0.1, 20, 1),
        ("imp", 0.1, 20, 2),
        ("imp", 0.9, 3, 3),
        ("imp-rewind", 0.9, 3, 2),
        ("imp-rewind", 0.9, 1, 1),
        ("imp", 0.0, 20, 20),
        ("imp-rewind", 0.0, 20, 20),
    ],
)
def test_the_search_ends_at_or_one_interval_after_the_last_pruning_if_there_is_one(tmp_path, kind, sparsity, steps, ends):
    loop, search = training(KINDS[kind](), odd_model(), tmp_path, steps=steps, sparsity=sparsity)
    assert loop.run().steps == ends
    assert search.ready


def test_a_search_is_ready_only_at_its_sparsity(tmp_path):
    seen = []
    recorder = AfterStep(lambda step: seen.append(search.ready))
    loop, search = training(IMP(), odd_model(), tmp_path, steps=10, sparsity=0.3, after=[recorder])
    assert not search.ready
    loop.run()
    assert seen == [False, True, True]


def test_imp_keeps_the_trained_weights_and_removes_the_smallest(tmp_path):
    model = odd_model()
    backbone = Backbone(model)
    sizes = {name: backbone.weight(name).detach().abs().clone() for name in weight_units(backbone, classifier=True)}
    loop, search = training(IMP(amount=0.5), model, tmp_path, steps=4, sparsity=0.5)
    for name, gone in zeros(backbone, search).items():
        assert sizes[name][gone].max() < sizes[name][~gone].min()
    loop.run()
    trained = state_of(model)
    search.close()
    assert same_bits(state_of(model), trained)


def test_weights_removed_earlier_rank_lower_and_all_below_kept_ones(tmp_path):
    loop, search = training(IMP(), odd_model(), tmp_path, steps=10, sparsity=0.3)
    masks = [draw(search.scores(), 0.1, "local")]
    loop.run()
    for name, score in search.scores().items():
        first, second, third = (~draw(search.scores(), ratio, "local")[name] for ratio in (0.1, 0.2, 0.3))
        assert torch.equal(first, ~masks[0][name])
        assert score[first].max() < score[second & ~first].min() <= score[second].max() < score[third & ~second].min()
        assert score[third].max() < 0 <= score[~third].min()


@pytest.mark.parametrize("restart", [False, True])
def test_gradients_of_removed_weights_are_not_clipped_and_moments_reset_if_configured(tmp_path, restart):
    norms = []
    model = odd_model()
    loop, search = training(IMP(restart=restart), model, tmp_path, steps=10, sparsity=0.2)
    backbone = Backbone(model)

    class Recorder(AfterStep):
        def on_after_backward(self):
            for name, score in search.scores().items():
                norms.append(float(backbone.weight(name).grad[score < 0].abs().sum()))

    ages = []

    def age(step):
        state = loop.optimizer.state.get(backbone.weight(next(iter(search.scores()))), {})
        ages.append(int(state["step"]) if state else 0)

    search = loop.callbacks[0]
    loop.callbacks.append(Recorder(age))
    loop.run()
    assert norms
    assert not any(norms)
    assert ages == ([1, 1] if restart else [1, 2])  # the second pruning comes after the first step


def test_prunings_that_do_not_fit_into_the_training_are_refused():
    with pytest.raises(SettingError, match=r"9 prunings.*0\.2.*1\.6"):
        IMP(interval=0.2).begin(TrainingPlan(odd_model(), steps=10, seed=0, sparsity=0.9))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("step", [0, 1, 2, 4])
def test_a_resumed_search_ends_with_the_same_bits(tmp_path, kind, restart, step):
    def start(folder, *after):
        return training(KINDS[kind](interval=0.2, restart=restart), odd_model(), folder, steps=10, sparsity=0.35, after=after)

    whole, search = start(tmp_path / "whole")
    expected = whole.run()
    assert expected.steps == (8 if kind == "imp" else 6)
    stopped, _ = start(tmp_path / "parts", StopAt(step))
    with pytest.raises(Interrupted):
        stopped.run()
    resumed, again = start(tmp_path / "parts", StopAt(99))
    found = resumed.run()
    assert (found.steps, found.loss, found.history) == (expected.steps, expected.loss, expected.history)
    assert same_bits(state_of(whole.loss_function.model), state_of(resumed.loss_function.model))
    assert same_bits(search.scores(), again.scores())
    assert again.ready
    search.close()
    again.close()
    assert same_bits(state_of(whole.loss_function.model), state_of(resumed.loss_function.model))
    if kind == "imp-rewind":
        assert same_bits(state_of(resumed.loss_function.model), state_of(odd_model()))


@pytest.mark.parametrize("rewind", ["rounds", "end"])
def test_each_round_starts_from_the_initial_encoder_and_the_head_keeps_training(tmp_path, rewind):
    model = odd_model()
    start, backbone, rounds, after_steps = state_of(model), Backbone(model), [], []

    class Recorder(AfterStep):
        def on_step_start(self, step):
            rounds.append((step, state_of(model), zeros(backbone, search)))

    recorder = Recorder(lambda step: after_steps.append(state_of(model)))
    loop, search = training(IMPRewind(rewind=rewind), model, tmp_path, steps=20, sparsity=0.3, after=[recorder])
    loop.run()
    assert [step for step, _, _ in rounds] == [0, 1, 2, 3]  # prunings after 0, 2 and 4 steps
    _, found, gone = rounds[2]
    removed = {f"bert.{name.removeprefix('weights/')}": mask for name, mask in gone.items()} | {
        "classifier.weight": gone["weights/classifier.weight"]
    }
    for name, value in found.items():
        kept = value[~removed[name]] if name in removed else value
        before = start[name][~removed[name]] if name in removed else start[name]
        rewound = rewind == "rounds" and name.startswith("bert.")
        if "pooler" not in name and "embeddings" not in name:
            assert torch.equal(kept, before) is rewound, name
        assert not rewound or torch.equal(kept, before), name
    assert count(gone) == sum(removed_count(0.2, mask.numel()) for mask in gone.values())
    trained = after_steps[1]  # the observation after the second pruning, before the next step, sees the trained weights
    assert not torch.equal(trained["bert.encoder.layer.0.output.dense.bias"], start["bert.encoder.layer.0.output.dense.bias"])


@pytest.mark.parametrize(("restart", "expected"), [(False, [1, 0.95, 0.9, 0.85, 0.8, 0.75]), (True, [1, 0.95, 1, 0.95, 1, 0.95])])
def test_learning_rates_restart_at_each_pruning(tmp_path, restart, expected):
    rates = []
    recorder = AfterStep(lambda step: rates.append(loop.optimizer.param_groups[0]["lr"] / 0.02))
    loop, _ = training(IMP(restart=restart), odd_model(), tmp_path, steps=20, sparsity=0.3, after=[recorder])
    loop.run()
    assert rates == pytest.approx(expected)  # linear decay over 20 steps; prunings after 0, 2 and 4


@pytest.mark.usefixtures("only_new_objects")
def test_four_rounds_leak_nothing_and_the_model_can_be_copied_in_each(tmp_path):
    model = odd_model()
    names, start = set(model.state_dict()), state_of(model)
    counts = []
    for number in range(4):
        loop, search = training(IMPRewind(), model, tmp_path / str(number), steps=10, sparsity=0.9)
        twin = copy.deepcopy(model)
        assert same_bits(state_of(twin), state_of(model))
        loop.run()
        twin = copy.deepcopy(search)
        assert same_bits(twin.scores(), search.scores())
        search.close()
        model.zero_grad()
        assert same_bits(state_of(model), start)
        del loop, search, twin
        counts.append(alive())
    assert counts[-1] == counts[1]
    assert set(model.state_dict()) == names


@pytest.mark.usefixtures("only_new_objects")
def test_memory_does_not_grow_with_each_pruning(tmp_path):
    counts = []
    loop, search = training(IMP(), odd_model(), tmp_path, steps=10, sparsity=1.0, after=[AfterStep(lambda step: counts.append(alive()[0]))])
    loop.run()
    assert search.ready
    assert len(counts) == 10
    assert len(set(counts[1:])) == 1


def test_a_copy_of_a_pruned_model_trains_on_its_own(tmp_path):
    model = odd_model()
    loop, search = training(IMP(), model, tmp_path, steps=10, sparsity=0.3)
    loop.run()
    twin = copy.deepcopy(model)
    before = state_of(model)
    loss_of(twin, 0).backward()
    torch.optim.SGD(twin.parameters(), lr=0.1).step()
    assert same_bits(state_of(model), before)
    assert not same_bits(state_of(twin), before)
    assert search.ready
