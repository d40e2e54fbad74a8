"""InfoBERT as a third party would write it: its bounds by hand, and its regularisers under other adversaries."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from support.families import FAMILIES
from third_party.infobert import Critic, InfoBert, InfoBertRun, Regularised, anchors, info_nce, spread
from torch import Tensor

from ticketlab.backbone.loading import load_classifier
from ticketlab.losses.base import LossRun
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.plugin import AdversaryRun, Batch, Example, LossOutput, TrainingPlan, plain_step, tokenize


def test_the_upper_bound_is_the_mean_of_half_the_squared_distances() -> None:
    """Of the nine ordered pairs of (0, 0), (2, 0), (0, 2), four are at distance 2 and two at distance sqrt 8: (4 x 4 + 2 x 8) / 2 / 9."""
    points = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    assert float(spread(points)) == pytest.approx(16 / 9)
    assert float(spread(points[:1])) == 0


def test_the_lower_bound_compares_the_own_sentence_with_all() -> None:
    """exp f = (3, 1) and (1, 1): the mean of log(3 / 2) and log 1."""
    scores = torch.tensor([[math.log(3), 0.0], [0.0, 0.0]])
    assert float(info_nce(scores, torch.tensor([0, 1]))) == pytest.approx(math.log(1.5) / 2)
    assert float(info_nce(scores[:, :1], torch.tensor([0, 0]))) == pytest.approx(0)
    assert float(info_nce(scores[:0], torch.tensor([], dtype=torch.long))) == 0


def test_anchors_are_between_two_quantiles_of_the_tokens_of_a_sentence() -> None:
    """Ranks 2 and 3 of 4, rank 1 of 2, none of 1; padding has the largest gradient here, and is no token."""
    gradient = torch.tensor([[1.0, 4.0, 2.0, 3.0], [2.0, 1.0, 9.0, 9.0], [1.0, 9.0, 9.0, 9.0]]).unsqueeze(2)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]])
    assert anchors(-gradient, mask, 0.5, 0.9).tolist() == [
        [False, True, False, True],
        [True, False, False, False],
        [False, False, False, False],
    ]
    assert anchors(torch.arange(10.0).view(1, 10, 1), torch.ones(1, 10), 0.5, 0.9)[0].nonzero().flatten().tolist() == [5, 6, 7, 8]


class TwoTokens:
    """Tokens of one dimension: (1, 2) and (3, 5). The loss is the mean of first + 2 x second, and the last states are twice the first."""

    embedding_dim = 1

    def __init__(self) -> None:
        self.deltas: list[Tensor | None] = []

    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        """Run a pass."""
        self.deltas.append(delta)
        words = torch.tensor([[1.0, 2.0], [3.0, 5.0]]).unsqueeze(2) + (0 if delta is None else delta)
        losses = words[:, 0, 0] + 2 * words[:, 1, 0]
        return LossOutput(losses.mean(), losses, torch.ones(2), losses.view(2, 1), hidden_states=(words, 2 * words))

    def with_model(self, model: Any) -> TwoTokens:
        """Return the same function."""
        return TwoTokens()


BATCH = Batch(torch.zeros(2, 2, dtype=torch.long), torch.ones(2, 2, dtype=torch.long), None, torch.zeros(2, dtype=torch.long))


def begun(settings: InfoBert) -> InfoBertRun:
    """Return a run whose critic is softplus(relu(t + z))."""
    critic = Critic(1, 1)
    with torch.no_grad():
        for name, value in critic.named_parameters():
            value.fill_(0.0 if name.endswith("bias") else 1.0)
    model: Any = SimpleNamespace(config=SimpleNamespace(model_type="bert"))
    return InfoBertRun(settings, AdversaryRun(settings.inner), model, critic)


def test_the_loss_has_both_regularisers() -> None:
    """The second tokens, 2 and 5, are the anchors; Z is 2 and 6, with variance 4; exp f is 1 + exp(t + z). The loss is (5 + 13) / 2."""
    run = begun(InfoBert(alpha=0.25, beta=0.5))
    first, second = (math.log(2 * (1 + math.exp(own)) / (2 + math.exp(own) + math.exp(other))) for own, other in ((4, 8), (11, 7)))
    expected = 9 + 0.5 * 4 - 0.25 * (first + second) / 2
    output = Regularised(TwoTokens(), run)(BATCH)
    assert float(output.loss.detach()) == pytest.approx(expected, abs=1e-5)
    assert run.metrics() == pytest.approx({"upper_bound": 4, "lower_bound": (first + second) / 2}, abs=1e-5)
    with torch.no_grad():
        without = Regularised(TwoTokens(), run)(BATCH).loss
    assert not without.requires_grad
    assert float(without) == float(output.loss.detach())


def test_the_inner_adversary_perturbs_after_the_start_step_alone() -> None:
    run, loss_function = begun(InfoBert(inner={"name": "freelb", "steps": 3}, start_step=1)), TwoTokens()
    run.step(loss_function, BATCH, 0)
    assert [bool(delta.any()) for delta in loss_function.deltas if delta is not None] == [False]
    run.step(loss_function, BATCH, 1)
    assert [bool(delta.any()) for delta in loss_function.deltas[1:] if delta is not None] == [True] * 3


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_finite_on_every_family(tiny: dict[str, Path], family: str) -> None:
    """Also with a row of special tokens alone; and without weights the gradients are those of the plain loss."""
    model, tokenizer = load_classifier(str(tiny[family]), ("no", "yes"), 0)
    model.eval()
    pairs = (("a good film", "a film"), ("", ""), ("this is a long and terrible story", "it is good"))
    rows = tokenize([Example(str(index), pair, index % 2) for index, pair in enumerate(pairs)], tokenizer, 24)
    batch = rows.collate([0, 1, 2] if model.config.pad_token_id is not None else [0])
    loss_function = ClassificationLoss(model, LossRun(CrossEntropy()), outputs=("hidden_states",))
    plain_step(loss_function, batch)
    plain = [parameter.grad for parameter in model.parameters()]
    model.zero_grad(set_to_none=True)
    run = InfoBert(inner="none", alpha=0.0, beta=0.0, width=5).begin(TrainingPlan(model, 1, 0))
    run.step(loss_function, batch, 0)
    for parameter, gradient in zip(model.parameters(), plain, strict=True):
        assert (parameter.grad is None) == (gradient is None)
        assert gradient is None or torch.allclose(parameter.grad, gradient, atol=1e-6)
    run = InfoBert(inner="freelb", width=5).begin(TrainingPlan(model, 1, 0))
    run.step(loss_function, batch, 0)
    trained = [parameter.grad for parameter in (*model.parameters(), *run.parameter_groups()[0]["params"])]
    assert all(bool(gradient.isfinite().all()) for gradient in trained if gradient is not None)
    assert run.parameter_groups()[0]["params"][0].grad is not None
