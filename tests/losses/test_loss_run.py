"""Running losses: what they are given, and what they may return."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.errors import PluginError
from ticketlab.losses.base import LossRun, inputs_of, sources_of
from ticketlab.losses.confreg import ConfidenceRegularisation
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.plugin import Loss, component

LOGITS = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
LABELS = torch.tensor([0, 1, 1])
INPUTS: dict[str, Any] = {"progress": 0.5, "hidden_states": (), "attention_mask": torch.ones(3, 4)}


@frozen
class Returning(Loss):
    """A loss that returns what a test gives it."""

    name = "returning"
    summary = "returns what it is given"
    result: Any = None

    def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **loss_inputs: Any) -> Any:
        """Return it."""
        return self.result


@pytest.mark.parametrize("result", [None, torch.ones(3), (torch.ones(3),), (torch.ones(3),) * 3])
def test_a_loss_returns_losses_and_weights(result: Any) -> None:
    with pytest.raises(PluginError, match=r"the loss `returning` returned (NoneType|Tensor|1 value|3 values), not losses and weights"):
        LossRun(Returning(result=result))(LOGITS, LABELS, INPUTS)


def test_losses_of_one_column_would_be_multiplied_by_every_weight() -> None:
    """Three losses of 1, 2, 4 with weights of 1 sum to 7; as a column they would be broadcast to nine numbers, 21 in all."""
    losses, weights = torch.tensor([1.0, 2.0, 4.0]), torch.ones(3)
    run = LossRun(Returning(result=(losses, weights)))
    assert float(run.reduce(*run(LOGITS, LABELS, INPUTS))) == pytest.approx(7 / 3)
    assert float((losses.unsqueeze(1) * weights).sum()) == 21
    with pytest.raises(PluginError, match=r"the loss `returning` returned losses of float32 \(3, 1\); .* one of each per example: \(3,\)"):
        LossRun(Returning(result=(losses.unsqueeze(1), weights)))(LOGITS, LABELS, INPUTS)


@pytest.mark.parametrize(
    ("losses", "weights", "message"),
    [
        pytest.param(torch.tensor(1.0), torch.ones(3), r"losses of float32 \(\)", id="a mean"),
        pytest.param(torch.ones(2), torch.ones(3), r"losses of float32 \(2,\)", id="too few losses"),
        pytest.param(torch.ones(3), torch.ones(3, 1), r"weights of float32 \(3, 1\)", id="a column of weights"),
        pytest.param(torch.ones(3), 1.0, "weights of float;", id="a number as weight"),
        pytest.param(torch.ones(3, dtype=torch.long), torch.ones(3), r"losses of int64 \(3,\)", id="whole numbers"),
        pytest.param(torch.ones(3), torch.ones(3, dtype=torch.bool), r"weights of bool \(3,\)", id="booleans as weights"),
        pytest.param(torch.tensor([1.0, torch.nan, 1.0]), torch.ones(3), "returned losses that are not finite", id="nan"),
        pytest.param(torch.ones(3), torch.tensor([1.0, torch.inf, 1.0]), "returned weights that are not finite", id="infinite weight"),
        pytest.param(torch.ones(3), torch.tensor([1.0, -1.0, 1.0]), "returned negative weights", id="negative weight"),
    ],
)
def test_what_a_loss_returns_is_checked(losses: Any, weights: Any, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        LossRun(Returning(result=(losses, weights)))(LOGITS, LABELS, INPUTS)


def test_losses_without_a_gradient_are_refused_where_one_is_needed() -> None:
    run, logits = LossRun(Returning(result=(torch.ones(3), torch.ones(3)))), LOGITS.clone().requires_grad_()
    with pytest.raises(PluginError, match="the losses of `returning` do not depend on the logits"):
        run(logits, LABELS, INPUTS)
    with torch.no_grad():
        assert run(logits, LABELS, INPUTS)[0].tolist() == [1, 1, 1]


def test_a_model_that_diverged_is_not_blamed_on_the_loss() -> None:
    run = LossRun(CrossEntropy())
    losses, _ = run(torch.full_like(LOGITS, torch.nan), LABELS, INPUTS)
    assert bool(losses.isnan().all())


@frozen
class Around(Loss):
    """A loss around another that also wants the progress."""

    name = "around"
    summary = "another loss, times the progress"
    required_inputs = ("progress",)
    required_outputs = ("hidden_states",)
    inner: Loss = component("loss", "cross-entropy", help="the other loss")

    def begin(self, plan: Any) -> LossRun:
        """Begin both."""
        return AroundRun(self, self.inner.begin(plan))


class AroundRun(LossRun):
    """Passes all inputs on."""

    def __init__(self, settings: Around, inner: LossRun) -> None:
        super().__init__(settings)
        self.inner = inner

    def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **loss_inputs: Any) -> tuple[Tensor, Tensor]:
        """Return the inner losses times the progress."""
        losses, weights = self.inner(logits, labels, loss_inputs)
        return losses * loss_inputs["progress"], weights


def test_a_loss_around_another_gets_the_inputs_of_both() -> None:
    """Each plain loss is log 2; reweighted by a bias model that is half right the weights are 1/2."""
    around = Around(inner={"name": "reweight"})
    bias = torch.full((3, 2), 0.5).log()
    losses, weights = around.begin(None)(LOGITS, LABELS, {**INPUTS, "bias_log_probs": bias})
    assert losses.tolist() == pytest.approx([0.5 * 0.693147] * 3, abs=1e-6)
    assert weights.tolist() == pytest.approx([0.5] * 3)


def test_what_nested_losses_need_is_needed() -> None:
    assert inputs_of(Around(inner="poe")) == {"progress", "bias"}
    assert sources_of(Around(inner=ConfidenceRegularisation())) == {"bias", "teacher"}
    assert sources_of(None) == set()


def test_a_missing_input_is_named() -> None:
    with pytest.raises(PluginError, match="the loss `poe` is called without its input bias_log_probs"):
        Around(inner="poe").inner.begin(None)(LOGITS, LABELS, INPUTS)  # type: ignore[arg-type]
