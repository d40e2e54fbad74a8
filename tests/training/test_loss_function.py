"""Adversaries and loss functions on tiny models of every family."""

import pytest
import torch

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.adversaries.pgd import PGD
from ticketlab.backbone.loading import load_classifier
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.tasks.base import Example
from ticketlab.training.batch import tokenize
from ticketlab.training.loss_function import ClassificationLoss

EXAMPLES = [
    Example("0", ("a good film", "it was very good and the story was great"), 1),
    Example("1", ("the plot was bad", "no"), 0),
    Example("2", ("not a good film but a long one", "bad"), 0),
]


@pytest.fixture(params=["bert", "roberta", "electra", "distilbert", "deberta-v2"])
def loaded(request, tiny):
    model, tokenizer = load_classifier(str(tiny[request.param]), ("negative", "positive"), 0)
    return model.eval(), tokenize(EXAMPLES, tokenizer, 64).collate([0, 1, 2])


def gradients(model, adversary, batch) -> dict[str, torch.Tensor]:
    model.zero_grad()
    adversary.backward(ClassificationLoss(model, CrossEntropy()), batch)
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}


@pytest.mark.parametrize("adversary", [FreeLB(steps=1, init_magnitude=0), PGD(steps=1, init_magnitude=0)], ids=["freelb", "pgd"])
def test_a_zero_perturbation_is_a_clean_step(loaded, adversary):
    model, batch = loaded
    clean, perturbed = gradients(model, Clean(), batch), gradients(model, adversary, batch)
    assert clean.keys() == perturbed.keys()
    for name in clean:
        torch.testing.assert_close(perturbed[name], clean[name], rtol=1e-4, atol=1e-6)


def test_embeddings_as_input_give_the_same_logits_including_segments(loaded):
    model, batch = loaded
    loss_function = ClassificationLoss(model, CrossEntropy())
    zero = torch.zeros(*batch.input_ids.shape, loss_function.embedding_dim)
    torch.testing.assert_close(loss_function(batch, zero).logits, loss_function(batch).logits, rtol=1e-5, atol=1e-5)


def test_a_perturbation_of_padding_would_change_nothing(loaded):
    model, batch = loaded
    loss_function = ClassificationLoss(model, CrossEntropy())
    noise = torch.randn(*batch.input_ids.shape, loss_function.embedding_dim) * (1 - batch.attention_mask).unsqueeze(-1)
    torch.testing.assert_close(loss_function(batch, noise).logits, loss_function(batch).logits, rtol=1e-5, atol=1e-5)


def test_ascending_raises_the_loss(loaded):
    model, batch = loaded
    seen = []

    class Watched(ClassificationLoss):
        def __call__(self, batch, delta=None, weights=None):
            output = super().__call__(batch, delta, weights)
            seen.append(float(output.loss.detach()))
            return output

    FreeLB(steps=4, init_magnitude=0, step_size=0.05).backward(Watched(model, CrossEntropy()), batch)
    assert seen == sorted(seen)
    assert seen[-1] > seen[0]


def test_example_weights_multiply_those_of_the_loss(loaded):
    model, batch = loaded
    loss_function = ClassificationLoss(model, CrossEntropy())
    whole = loss_function(batch)
    only_first = loss_function(batch, weights=torch.tensor([1.0, 0.0, 0.0]))
    torch.testing.assert_close(only_first.loss, whole.losses[0])
    halves = ClassificationLoss(model, CrossEntropy(reduction="batch"))(batch, weights=torch.full((3,), 0.5))
    torch.testing.assert_close(halves.loss, whole.losses.mean() / 2)
