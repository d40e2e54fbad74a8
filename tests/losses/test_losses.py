"""Losses against values computed by hand: z = (2, 1, 0), y = 0, p_b = (.7, .2, .1), p_t = (.8, .15, .05)."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, tensor
from torch.testing import assert_close

from ticketlab.losses.base import Loss, log_likelihood
from ticketlab.losses.confreg import ConfidenceRegularisation, smoothed
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.losses.distillation import Distillation
from ticketlab.losses.focal import Focal
from ticketlab.losses.poe import ProductOfExperts
from ticketlab.losses.reweight import Reweight

LABELS = tensor([0])
BIAS = tensor([[0.7, 0.2, 0.1]]).log()
TEACHER = tensor([[0.8, 0.15, 0.05]])
UNIFORM = torch.full((1, 3), 1 / 3).log()


@pytest.fixture
def logits() -> Tensor:
    return tensor([[2.0, 1.0, 0.0]], requires_grad=True)


def reduced(loss: Loss, logits: Tensor, labels: Tensor, **loss_inputs: object) -> Tensor:
    return loss.reduce(*loss.per_example(logits, labels, **loss_inputs))


def test_cross_entropy(logits: Tensor) -> None:
    assert float(reduced(CrossEntropy(), logits.detach(), LABELS)) == pytest.approx(0.407606, abs=1e-6)


def test_product_of_experts_and_its_gradient(logits: Tensor) -> None:
    loss = reduced(ProductOfExperts(), logits, LABELS, bias_log_probs=BIAS, progress=0.0)
    loss.backward()
    assert float(loss) == pytest.approx(0.117287, abs=1e-6)
    assert_close(logits.grad, tensor([[-0.110670, 0.093476, 0.017194]]), atol=1e-6, rtol=0)


def test_a_uniform_bias_leaves_cross_entropy(logits: Tensor) -> None:
    plain = reduced(CrossEntropy(), logits, LABELS)
    assert_close(reduced(ProductOfExperts(), logits, LABELS, bias_log_probs=UNIFORM, progress=0.0), plain)


def test_annealing_ends_at_the_configured_power(logits: Tensor) -> None:
    def at(progress: float, anneal: float) -> Tensor:
        return reduced(ProductOfExperts(anneal=anneal), logits, LABELS, bias_log_probs=BIAS, progress=progress)

    assert_close(at(1.0, 0.0), reduced(CrossEntropy(), logits, LABELS))
    assert_close(at(0.0, 0.0), at(0.7, 1.0))
    # half-way to the power 0: sqrt(p_b) is in the proportion sqrt(7) : sqrt(2) : 1
    weights = [math.sqrt(p) * math.exp(z) for p, z in ((7, 2), (2, 1), (1, 0))]
    assert float(at(0.5, 0.0)) == pytest.approx(-math.log(weights[0] / sum(weights)), abs=1e-6)


def test_reweighting_over_the_batch_and_over_the_weights() -> None:
    """Two examples with cross-entropies .407606 and 1.407606, and probabilities of the label by the bias model of .7 and .4."""
    logits, labels = tensor([[2.0, 1.0, 0.0], [2.0, 1.0, 0.0]]), tensor([0, 1])
    bias = tensor([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3]]).log()
    assert float(reduced(Reweight(), logits, labels, bias_log_probs=bias)) == pytest.approx(0.483423, abs=1e-6)
    assert float(reduced(Reweight(reduction="weights"), logits, labels, bias_log_probs=bias)) == pytest.approx(1.074273, abs=1e-6)


def test_a_batch_of_fully_biased_examples_has_no_gradient(logits: Tensor) -> None:
    certain = tensor([[1.0, 1e-30, 1e-30]]).log()
    for reduction in ("weights", "batch"):
        logits.grad = None
        loss = reduced(Reweight(reduction=reduction), logits, LABELS, bias_log_probs=certain)
        loss.backward()
        assert float(loss) == 0
        assert_close(logits.grad, torch.zeros(1, 3))


def test_confidence_regularisation(logits: Tensor) -> None:
    assert_close(smoothed(TEACHER, tensor([0.7])), tensor([[0.490081, 0.296598, 0.213320]]), atol=1e-6, rtol=0)
    assert_close(smoothed(TEACHER, tensor([1.0])), torch.full((1, 3), 1 / 3))
    assert_close(smoothed(TEACHER, tensor([0.0])), TEACHER)
    loss = reduced(ConfidenceRegularisation(), logits, LABELS, bias_log_probs=BIAS, teacher_probs=TEACHER)
    assert float(loss) == pytest.approx(1.130845, abs=1e-6)


def test_a_certain_teacher_does_not_cause_nan(logits: Tensor) -> None:
    certain = tensor([[1.0, 0.0, 0.0]])
    loss = reduced(ConfidenceRegularisation(), logits, LABELS, bias_log_probs=BIAS, teacher_probs=certain)
    loss.backward()
    assert bool(torch.isfinite(loss))
    assert logits.grad is not None
    assert bool(torch.isfinite(logits.grad).all())


def test_focal_loss(logits: Tensor) -> None:
    """p = e^2 / (e^2 + e + 1) = .665241, so (1 - p)^2 = .112064."""
    assert float(reduced(Focal(gamma=2.0), logits, LABELS)) == pytest.approx(0.112064 * 0.407606, abs=1e-6)
    assert_close(reduced(Focal(gamma=0.0), logits, LABELS), reduced(CrossEntropy(), logits, LABELS))


def test_focal_loss_of_a_certain_model_has_a_gradient() -> None:
    logits = tensor([[100.0, 0.0]], requires_grad=True)
    reduced(Focal(gamma=0.5), logits, LABELS).backward()
    assert logits.grad is not None
    assert bool(torch.isfinite(logits.grad).all())


@pytest.mark.parametrize("required_inputs", [None, "bias", ("bogus",)])
def test_a_loss_with_unknown_required_inputs_is_refused_when_its_class_is_defined(required_inputs: object) -> None:
    with pytest.raises(TypeError, match=r"required_inputs must be a tuple of some of bias, teacher, .*progress"):
        type("Odd", (Loss,), {"required_inputs": required_inputs})


def test_a_set_of_labels_has_the_sum_of_their_probabilities(logits: Tensor) -> None:
    sets = tensor([[False, True, True]])
    expected = -math.log((math.e + 1) / (math.e**2 + math.e + 1))
    assert float(reduced(CrossEntropy(), logits, sets)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("label", [0, 1, 2])
def test_a_set_of_one_label_is_that_label(logits: Tensor, label: int) -> None:
    plain, sets = tensor([label]), torch.nn.functional.one_hot(tensor([label]), 3).bool()
    losses: list[tuple[Loss, dict[str, object]]] = [
        (CrossEntropy(), {}),
        (Focal(), {}),
        (ProductOfExperts(), {"bias_log_probs": BIAS, "progress": 0.3}),
        (Reweight(), {"bias_log_probs": BIAS}),
        (ConfidenceRegularisation(), {"bias_log_probs": BIAS, "teacher_probs": TEACHER}),
    ]
    for loss, loss_inputs in losses:
        assert_close(reduced(loss, logits, sets, **loss_inputs), reduced(loss, logits, plain, **loss_inputs))
    assert_close(log_likelihood(BIAS, sets), log_likelihood(BIAS, plain))


def test_distillation_adds_the_divergence_from_the_teacher_at_a_temperature(logits: Tensor) -> None:
    # T = 2: the student is in the proportion e : sqrt(e) : 1, the teacher sqrt(.8) : sqrt(.15) : sqrt(.05)
    student = [math.exp(z) / (math.e + math.sqrt(math.e) + 1) for z in (1, 0.5, 0)]
    roots = [math.sqrt(p) for p in (0.8, 0.15, 0.05)]
    teacher = [root / sum(roots) for root in roots]
    divergence = sum(p * math.log(p / q) for p, q in zip(teacher, student, strict=True))
    assert divergence == pytest.approx(0.015602, abs=1e-6)
    expected = 0.25 * 4 * divergence + 0.75 * 0.407606
    found = reduced(Distillation(temperature=2.0, alpha=0.25), logits.detach(), LABELS, teacher_probs=TEACHER)
    assert float(found) == pytest.approx(expected, abs=1e-6)


def test_distillation_from_an_equal_teacher_costs_nothing_and_alpha_0_is_cross_entropy(logits: Tensor) -> None:
    own = logits.detach().softmax(dim=1)
    assert float(reduced(Distillation(temperature=3.0, alpha=1.0), logits.detach(), LABELS, teacher_probs=own)) == pytest.approx(
        0, abs=1e-6
    )
    plain = reduced(CrossEntropy(), logits, LABELS)
    assert_close(reduced(Distillation(alpha=0.0), logits, LABELS, teacher_probs=TEACHER), plain)


def test_distillation_takes_sets_of_labels_and_teachers_without_doubt(logits: Tensor) -> None:
    certain, several = tensor([[1.0, 0.0, 0.0]]), tensor([[True, True, False]])
    loss = reduced(Distillation(), logits, several, teacher_probs=certain)
    loss.backward()
    assert bool(loss.isfinite())
    assert logits.grad is not None
    assert bool(logits.grad.isfinite().all())
