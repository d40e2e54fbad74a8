"""Hard and soft movement pruning on a tiny model: counts, thresholds, the penalty, and what is trained."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from ticketlab_movement.movement import Movement, RankedSearch
from ticketlab_movement.ranking import Scope
from ticketlab_movement.search import MovementPruner, MovementSearch, embeddings
from ticketlab_movement.soft_movement import SoftMovement, ThresholdSearch, penalty_slope
from torch.nn import functional

from ticketlab.plugin import Backbone, SettingError, TrainingPlan, draw
from ticketlab.testing import tiny_model

STEPS = 10
BATCH = torch.tensor([[1, 2, 3, 4], [4, 3, 2, 1]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tiny_model("bert", tmp_path_factory.mktemp("tiny") / "bert")
    return made


def loaded(folder: Path) -> Any:
    from transformers import AutoModelForSequenceClassification

    torch.manual_seed(0)
    return AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2).eval()


def begun(pruner: MovementPruner, model: Any, sparsity: float = 0.6) -> Any:
    return pruner.begin(TrainingPlan(model, steps=STEPS, seed=0, sparsity=sparsity))


def step(search: MovementSearch, model: Any, number: int) -> None:
    """Do one step of gradient descent on all that is trained."""
    search.on_step_start(number)
    torch.autograd.backward(functional.cross_entropy(model(input_ids=BATCH).logits, torch.tensor([0, 1])))
    search.on_after_backward()
    search.add_penalty()
    scores = [matrix.scores for matrix in search.matrices.values()]
    optimizer = torch.optim.SGD([{"params": scores, "lr": 100.0}, {"params": [*model.parameters()], "lr": 0.1}])
    optimizer.step()
    optimizer.zero_grad()
    search.on_step_end(number)


def removed(search: MovementSearch) -> list[int]:
    """Return the number of weights that each mask removes."""
    return [int((~matrix.mask).sum()) for matrix in search.matrices.values()]


def counts(search: MovementSearch, sparsity: float, scope: Scope) -> int | list[int]:
    sizes = [matrix.mask.numel() for matrix in search.matrices.values()]
    return math.floor(sparsity * sum(sizes) + 0.5) if scope == "global" else [math.floor(sparsity * size + 0.5) for size in sizes]


@pytest.mark.parametrize("scope", ["global", "local"])
def test_every_step_removes_the_exact_number_of_weights(folder: Path, scope: Scope) -> None:
    """Ten steps with a warm-up of one and a cool-down of two: in step 4 the share of the schedule that is left is (8 - 4) / 7."""
    search = begun(Movement(scope=scope), model := loaded(folder))
    found = {}
    for number in range(STEPS):
        step(search, model, number)
        found[number] = sum(removed(search)) if scope == "global" else removed(search)
    for number, sparsity in {0: 0.0, 1: 0.0, 4: 0.6 * (1 - (4 / 7) ** 3), 7: 0.6 * (1 - (1 / 7) ** 3), 8: 0.6, 9: 0.6}.items():
        assert found[number] == counts(search, sparsity, scope)
    assert search.metrics()["sparsity"] == pytest.approx(0.6, abs=1e-3)


@settings(max_examples=10, deadline=None)
@given(st.floats(0, 1))
def test_the_removed_fraction_never_falls(folder: Path, sparsity: float) -> None:
    search = begun(Movement(), loaded(folder), sparsity)
    totals = []
    for number in range(STEPS):
        search.on_step_start(number)
        totals.append(sum(removed(search)))
        for matrix in search.matrices.values():
            matrix.scores.data.normal_()
    assert totals == sorted(totals)
    assert removed(search) == counts(search, sparsity, "local")


def test_masks_stay_between_updates_and_are_set_at_the_end_of_the_schedule(folder: Path) -> None:
    search = begun(Movement(update_steps=3), model := loaded(folder))
    found = []
    for number in range(STEPS):
        step(search, model, number)
        found.append(removed(search))
    assert [number for number in range(1, STEPS) if found[number] != found[number - 1]] == [3, 6, 8]
    assert found[-1] == counts(search, 0.6, "local")


def test_the_ticket_that_is_drawn_keeps_the_highest_scores(folder: Path) -> None:
    search = begun(Movement(), model := loaded(folder))
    for number in range(STEPS):
        step(search, model, number)
    ticket = draw(search.scores(), 0.6, "local")
    for name, matrix in search.matrices.items():
        kept, gone = (matrix.scores.detach()[mask] for mask in (ticket[name], ~ticket[name]))
        assert kept.min() >= gone.max()
        assert len(gone) == int((~matrix.mask).sum())


def test_a_weight_is_kept_while_the_sigmoid_of_its_score_exceeds_the_threshold(folder: Path) -> None:
    """Tau = 0.1 = sigmoid(-ln 9). In step 4 it is 0.1 (1 - (4 / 7)^3) = 0.0813 = sigmoid(-2.424)."""
    search = begun(SoftMovement(exact=False), loaded(folder))
    assert isinstance(search, ThresholdSearch)
    first = next(iter(search.matrices.values()))
    first.scores.data.fill_(3.0)[0, :4] = torch.tensor([-math.log(9) - 1e-3, -math.log(9) + 1e-3, -2.42, -2.43])
    found = {}
    for number in (0, 4, 8):
        search.on_step_start(number)
        found[number] = first.mask[0, :4].tolist()
    assert found == {0: [True] * 4, 4: [True, True, True, False], 8: [False, True, False, False]}
    assert sum(removed(search)) == 3
    assert search.metrics()["threshold_sparsity"] == search.metrics()["sparsity"]


def test_the_cooldown_has_exactly_the_requested_sparsity(folder: Path) -> None:
    """The threshold of sigmoid(S) removes nothing: all scores are in (0, 1)."""
    search = begun(SoftMovement(), loaded(folder))
    for matrix in search.matrices.values():
        matrix.scores.data.uniform_()
    totals = []
    for number in range(STEPS):
        search.on_step_start(number)
        totals.append(sum(removed(search)))
    assert totals == [0] * 8 + [counts(search, 0.6, "global")] * 2
    assert search.metrics()["threshold_sparsity"] == 0
    drawn = draw(search.scores(), 0.6, "global")
    assert all(torch.equal(matrix.mask, drawn[name]) for name, matrix in search.matrices.items())


def test_the_penalty_has_the_gradient_of_the_mean_of_the_matrices_means(folder: Path) -> None:
    """In step 4, lambda is at 1 - (4 / 7)^3 of its final value."""
    search = begun(SoftMovement(penalty=7.0), loaded(folder))
    for matrix in search.matrices.values():
        matrix.scores.data.normal_()
    search.on_step_start(4)
    search.add_penalty()
    copies = {name: matrix.scores.detach().clone().requires_grad_() for name, matrix in search.matrices.items()}
    mean = torch.stack([copied.sigmoid().mean() for copied in copies.values()]).mean()
    torch.autograd.backward(7.0 * (1 - (4 / 7) ** 3) * mean)
    for name, matrix in search.matrices.items():
        torch.testing.assert_close(matrix.scores.grad, copies[name].grad)
    assert search.metrics()["penalty"] == pytest.approx(float(mean.detach()), abs=1e-6)


def test_the_slope_of_the_penalty() -> None:
    """sigmoid(0) = 1/2 and sigmoid(ln 3) = 3/4."""
    assert penalty_slope(torch.tensor([0.0, math.log(3)]), 2.0).tolist() == pytest.approx([2 / 4, 2 * 3 / 16])


def test_a_high_penalty_removes_weights_and_none_removes_none(folder: Path) -> None:
    found = {}
    for penalty in (0.0, 4e4):
        search = begun(SoftMovement(penalty=penalty, lr=0.5, exact=False), model := loaded(folder))
        for number in range(STEPS):
            search.on_step_start(number)
            search.add_penalty()
            for matrix in search.matrices.values():
                matrix.scores.data -= 0.5 * matrix.scores.grad.sign()
                matrix.scores.grad = None
        found[penalty] = search.metrics()["sparsity"]
        search.close()
        assert not any("original" in name for name, _ in model.named_parameters())
    assert found == {0.0: 0.0, 4e4: 1.0}


@pytest.mark.parametrize("pruner", [Movement(), SoftMovement()])
def test_weights_and_scores_are_trained_and_the_embeddings_are_not(folder: Path, pruner: MovementPruner) -> None:
    search, before = begun(pruner, model := loaded(folder)), loaded(folder).state_dict()
    assert not search.ready
    for number in range(STEPS):
        step(search, model, number)
    assert search.ready
    search.close()
    after = model.state_dict()
    assert after.keys() == before.keys()
    assert all(parameter.requires_grad for parameter in model.parameters())
    same = {name for name, value in after.items() if torch.equal(value, before[name])}
    tables = {name for name in before if "embeddings.weight" in name}
    assert len(tables) == 3
    assert {name for name in same if not name.endswith("key.bias")} == tables  # adding the same to all keys changes no attention
    assert all(bool(score.any()) for score in search.scores().values())


def test_embeddings_may_be_trained(folder: Path) -> None:
    begun(Movement(freeze_embeddings=False), model := loaded(folder))
    assert all(parameter.requires_grad for parameter in embeddings(Backbone(model)))


def test_a_search_continues_from_saved_masks(folder: Path) -> None:
    """Masks that were set in an earlier step, and are not due in the next, are those of the state."""
    search = begun(Movement(update_steps=3), model := loaded(folder))
    for number in range(5):
        step(search, model, number)
    again = begun(Movement(update_steps=3), loaded(folder))
    assert isinstance(again, RankedSearch)
    again.load_state_dict({name: mask.clone() for name, mask in search.state_dict().items()})
    again.on_step_start(5)
    assert removed(again) == removed(search)
    assert sum(removed(again)) > 0


def test_a_schedule_that_is_longer_than_the_search_is_refused(folder: Path) -> None:
    with pytest.raises(SettingError, match=r"^cooldown: 0.5 and a warmup of 0.6 are longer than the search"):
        begun(Movement(warmup=0.6, cooldown=0.5), loaded(folder))
