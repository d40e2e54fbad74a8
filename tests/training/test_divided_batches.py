"""A batch divided into micro-batches, or among processes, trains like a whole one: with dropout off, up to rounding."""

import math
from collections.abc import Mapping

import pytest
import torch
from attrs import frozen
from support.divided_trainings import METHODS, STEPS, Method, Outcome, StopAfter, in_processes, run, train_all
from torch import Tensor

from ticketlab.adversaries.base import Adversary
from ticketlab.core.errors import PluginError, UsageError
from ticketlab.losses.base import Loss
from ticketlab.tickets.draw import draw
from ticketlab.training.batch_part import BatchPart, computing, drawn_for_batch, parts_of
from ticketlab.training.loss_function import LossFunction

QUICK = (
    *("freelb with shared dropout", "hard-concrete, each pass", "hard-concrete, target", "importance", "imp", "mlm and freelb", "poe"),
    *("reweight", "reweight by weights"),
)
QUICK_STEPS = 8


def check_gradients(name: str, whole: Outcome, from_equal_states: list[Tensor]) -> None:
    """Check the gradients of a divided training that began each step with the state that ``whole`` had."""
    assert len(whole.gradients) == len(from_equal_states)
    for step, (one, other) in enumerate(zip(whole.gradients, from_equal_states, strict=True)):
        assert float(one.norm()) > 0
        assert float((one - other).norm()) <= 1e-5 * float(one.norm()), f"{name}, step {step}"


def check_end(name: str, whole: Outcome, weights: Tensor, scores: Mapping[str, Tensor]) -> None:
    """Check the weights and the scores of a whole divided training."""
    if METHODS[name].discrete:
        masks, others = draw(whole.scores, 0.3), draw(scores, 0.3)
        differing = sum(int((masks[unit] != others[unit]).sum()) for unit in masks)
        assert differing <= 0.001 * sum(mask.numel() for mask in masks.values()), name
    else:
        assert float((whole.weights - weights).abs().max()) <= 1e-4, name


@pytest.mark.parametrize("name", QUICK)
def test_micro_batches_have_the_gradients_of_the_whole_batch(name, tiny, tmp_path):
    method = METHODS[name]
    whole = run(method, tiny["bert"], tmp_path, steps=QUICK_STEPS)
    divided = run(method, tiny["bert"], tmp_path, accumulate=3, restored=whole.states, steps=QUICK_STEPS)
    check_gradients(name, whole, divided.gradients)
    assert divided.result.loss == pytest.approx(whole.result.loss, rel=1e-5)


@pytest.mark.system
def test_two_processes_train_like_one(tiny, tmp_path):
    wholes = {name: run(method, tiny["bert"], tmp_path / name) for name, method in METHODS.items()}
    for name, whole in wholes.items():
        torch.save(whole.states, tmp_path / f"{name}.states")
    in_processes(2, train_all, tiny["bert"], tmp_path)
    for name, whole in wholes.items():
        gradients, weights, scores = torch.load(tmp_path / f"{name}.divided")
        check_gradients(name, whole, gradients)
        check_end(name, whole, weights, scores)
        assert torch.equal(weights, torch.load(tmp_path / f"{name}.follower")), f"{name}: the processes have different weights"
    assert torch.allclose(torch.load(tmp_path / "accumulated"), wholes["freelb"].weights, rtol=0, atol=1e-4)
    resumed = run(METHODS["hard-concrete"], tiny["bert"], tmp_path / "stopped")
    assert len(resumed.gradients) == STEPS - 9
    assert torch.allclose(resumed.weights, wholes["hard-concrete"].weights, rtol=0, atol=1e-4)
    assert resumed.result.processes == [2, 1]


def test_dropout_differs_and_the_losses_do_not(tiny, tmp_path):
    losses = {
        accumulate: [
            run(METHODS["freelb"], tiny["bert"], tmp_path, accumulate=accumulate, dropout=0.2, seed=seed, steps=14, rate=1e-3).result.loss
            for seed in range(3)
        ]
        for accumulate in (1, 2)
    }
    means = {accumulate: sum(values) / 3 for accumulate, values in losses.items()}
    assert losses[1] != losses[2]
    spread = max(max(values) - min(values) for values in losses.values())
    assert abs(means[1] - means[2]) < max(spread, 0.02)


def test_a_divided_training_that_is_interrupted_ends_with_the_same_bits(tiny, tmp_path):
    options = {"accumulate": 2, "dropout": 0.2, "steps": 9}
    whole = run(METHODS["hard-concrete"], tiny["bert"], tmp_path / "whole", **options)
    run(METHODS["hard-concrete"], tiny["bert"], tmp_path / "parts", more=(StopAfter(4),), seconds=0, **options)
    resumed = run(METHODS["hard-concrete"], tiny["bert"], tmp_path / "parts", **options)
    assert len(resumed.gradients) == 5
    assert torch.equal(resumed.weights, whole.weights)


@pytest.mark.parametrize(("rows", "number", "sizes"), [(7, 3, [2, 2, 3]), (2, 4, [0, 1, 0, 1]), (1, 1, [1])])
def test_parts_cover_a_batch(rows, number, sizes):
    parts = parts_of(rows, number)
    assert [round(part.share * rows) for part in parts] == sizes
    covered = [row for part in parts if part.share for row in range(part.first, part.first + part.rows)]
    assert covered == list(range(rows))
    assert all(part.rows >= 1 and part.first + part.rows <= rows for part in parts)


def test_parts_draw_the_numbers_of_the_whole_batch_and_have_dropout_of_their_own():
    torch.manual_seed(3)
    expected, after = torch.rand(5, 2), torch.rand(1)
    torch.manual_seed(3)
    found, own = [], []
    for part in parts_of(5, 2):
        with computing(part, part.index):
            own.append(torch.rand(1))
            found.append(drawn_for_batch(part.rows, lambda rows: torch.rand(rows, 2)))
    assert torch.equal(torch.cat(found), expected)
    assert torch.equal(torch.rand(1), after)
    assert own[0] != own[1]


def test_numbers_for_other_rows_than_those_of_the_part_are_refused():
    part = BatchPart(0, 0, 2, 4, 0.5, {"cpu": torch.get_rng_state()})
    with computing(part, 0), pytest.raises(PluginError, match="drawn for 3 rows, and the part of the batch has 2"):
        drawn_for_batch(3, torch.rand)


@frozen
class Unsure(Loss):
    """Weights examples by what the model predicts."""

    name = "unsure"
    summary = "test"

    def per_example(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        probabilities = logits.softmax(dim=1)
        return -probabilities.gather(1, labels.unsqueeze(1)).log().squeeze(1), 1 - probabilities.detach().amax(dim=1)


@frozen
class Largest(Loss):
    """Minimises the largest loss of a batch."""

    name = "largest"
    summary = "test"

    def per_example(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        losses = -logits.log_softmax(dim=1).gather(1, labels.unsqueeze(1)).squeeze(1)
        return losses, torch.ones_like(losses)

    def reduce(self, losses: Tensor, weights: Tensor) -> Tensor:
        return losses.max()


@frozen
class Weighing(Adversary):
    """Weights the examples of a pass."""

    name = "weighing"
    summary = "test"

    def backward(self, loss_function: LossFunction, batch) -> Tensor:
        loss = loss_function(batch, weights=torch.arange(1.0, len(batch) + 1)).loss
        torch.autograd.backward(loss)
        return loss.detach()


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (Method(loss=Unsure()), "`unsure` weights examples by what is known only after a pass"),
        (Method(loss=Largest()), "`largest` reduces the losses of a batch in its own way"),
        (Method(Weighing()), "the adversary weights examples"),
        (Method(Weighing(), mlm=True), "the adversary weights examples"),
    ],
    ids=["weights by predictions", "own reduction", "weights of an adversary", "weights of an adversary in mlm"],
)
def test_what_needs_the_sum_over_the_whole_batch_is_refused(method, message, tiny, tmp_path):
    assert math.isfinite(run(method, tiny["bert"], tmp_path / "whole", steps=2).result.loss)
    with pytest.raises(UsageError, match=message):
        run(method, tiny["bert"], tmp_path, accumulate=2, steps=2)


def test_weights_by_predictions_divide_if_the_loss_is_averaged_over_the_batch(tiny, tmp_path):
    method = Method(loss=Unsure(reduction="batch"))
    whole = run(method, tiny["bert"], tmp_path / "whole", steps=4)
    divided = run(method, tiny["bert"], tmp_path / "parts", steps=4, accumulate=3)
    assert torch.allclose(whole.weights, divided.weights, rtol=0, atol=1e-4)
