"""InfoBERT: its bounds by hand, and its regularisers under other adversaries."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
import torch
from ticketlab_infobert.infobert import Critic, InfoBert, InfoBertRun, Regularised, anchors, info_nce, spread
from torch import Tensor

from ticketlab.plugin import AdversaryRun, Batch, LossOutput, SettingError


def test_the_upper_bound_is_the_mean_of_half_the_squared_distances() -> None:
    """Of the nine ordered pairs of (0, 0), (2, 0), (0, 2), four are at distance 2 and two at distance sqrt 8: (4 x 4 + 2 x 8) / 2 / 9."""
    points = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    assert float(spread(points)) == pytest.approx(16 / 9)
    assert float(spread(points[:1])) == 0


def test_the_lower_bound_compares_an_anchor_with_all_anchors() -> None:
    """Two anchors of the first sentence, with exp f = 3 and 1: log(3 / 2) and log(1 / 2). One of another: log 1."""
    scores = torch.tensor([[math.log(3), 7.0], [0.0, 7.0]])
    assert float(info_nce(scores, torch.tensor([0, 0]))) == pytest.approx(math.log(3 / 4) / 2, abs=1e-6)
    assert float(info_nce(scores, torch.tensor([0, 1]))) == pytest.approx(math.log(3 / 2) / 2, abs=1e-6)
    assert float(info_nce(scores[:1], torch.tensor([1]))) == pytest.approx(0)
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
        words = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True).unsqueeze(2) + (0 if delta is None else delta)
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
    """The tokens 1, 2, 3, 5 have variance 35 / 16; the second ones, 2 and 5, are anchors; Z = 2 and 6; exp f = 1 + exp(t + z)."""
    run = begun(InfoBert(alpha=0.25, beta=0.5))
    first, second = (math.log(2 * (1 + math.exp(own)) / (2 + math.exp(own) + math.exp(other))) for own, other in ((4, 7), (11, 8)))
    expected = 9 + 0.5 * 35 / 16 - 0.25 * (first + second) / 2
    output = Regularised(TwoTokens(), run)(BATCH)
    assert float(output.loss.detach()) == pytest.approx(expected, abs=1e-5)
    assert run.metrics() == pytest.approx({"upper_bound": 35 / 16, "lower_bound": (first + second) / 2}, abs=1e-5)
    with torch.no_grad():
        without = Regularised(TwoTokens(), run)(BATCH).loss
    assert not without.requires_grad
    assert float(without) == float(output.loss.detach())


def test_padding_is_in_neither_regulariser() -> None:
    """The first text has one token. 1, 3 and 5 have variance 8 / 3; the only anchor, 5, is compared with itself."""
    run = begun(InfoBert())
    Regularised(TwoTokens(), run)(attrs.evolve(BATCH, attention_mask=torch.tensor([[1, 0], [1, 1]])))
    assert run.metrics() == pytest.approx({"upper_bound": 8 / 3, "lower_bound": 0}, abs=1e-5)


def test_the_critic_is_trained_at_the_rate_of_the_stage_unless_it_has_its_own() -> None:
    (of_stage,), (own,) = (begun(InfoBert(lr=rate)).parameter_groups() for rate in (None, 0.1))
    assert "lr" not in of_stage
    assert own["lr"] == 0.1
    assert (InfoBert().learns_at_rate, InfoBert(lr=0.1).learns_at_rate) == (True, False)


def test_quantiles_without_tokens_between_them_are_refused() -> None:
    with pytest.raises(SettingError, match=r"lowest: 0\.9 is not below highest, 0\.5: no token would be an anchor"):
        InfoBert(lowest=0.9, highest=0.5)


def test_steps_before_the_start_step_are_plain() -> None:
    freelb: Any = {"name": "freelb", "steps": 3}
    run, loss_function = begun(InfoBert(inner=freelb, start_step=1)), TwoTokens()
    assert float(run.step(loss_function, BATCH, 0)) == 9
    assert loss_function.deltas == [None]
    run.step(loss_function, BATCH, 1)
    assert [bool(delta.any()) for delta in loss_function.deltas[1:] if delta is not None] == [True] * 3
