"""Adversaries and loss functions on tiny models of every family."""

import copy

import pytest
import torch
from support.families import FAMILIES

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.adversaries.pgd import PGD
from ticketlab.backbone.loading import load_classifier
from ticketlab.core.callback import Callback
from ticketlab.core.errors import PluginError
from ticketlab.losses.base import LossRun
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.tasks.base import Example
from ticketlab.training.batch import tokenize

EXAMPLES = [
    Example("0", ("a good film", "it was very good and the story was great"), 1),
    Example("1", ("the plot was bad", "no"), 0),
    Example("2", ("not a good film but a long one", "bad"), 0),
]


@pytest.fixture(params=FAMILIES)
def loaded(request, tiny):
    model, tokenizer = load_classifier(str(tiny[request.param]), ("negative", "positive"), 0)
    return model.eval(), tokenize(EXAMPLES, tokenizer, 64).collate([0, 1, 2])


def gradients(model, adversary, batch) -> dict[str, torch.Tensor]:
    model.zero_grad()
    adversary.backward(ClassificationLoss(model, LossRun(CrossEntropy())), batch)
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
    loss_function = ClassificationLoss(model, LossRun(CrossEntropy()))
    zero = torch.zeros(*batch.input_ids.shape, loss_function.embedding_dim)
    torch.testing.assert_close(loss_function(batch, zero).logits, loss_function(batch).logits, rtol=1e-5, atol=1e-5)


def test_a_perturbation_of_padding_would_change_nothing(loaded):
    model, batch = loaded
    loss_function = ClassificationLoss(model, LossRun(CrossEntropy()))
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

    FreeLB(steps=4, init_magnitude=0, step_size=0.05).backward(Watched(model, LossRun(CrossEntropy())), batch)
    assert seen == sorted(seen)
    assert seen[-1] > seen[0]


def test_example_weights_multiply_those_of_the_loss(loaded):
    model, batch = loaded
    loss_function = ClassificationLoss(model, LossRun(CrossEntropy()))
    whole = loss_function(batch)
    only_first = loss_function(batch, weights=torch.tensor([1.0, 0.0, 0.0]))
    torch.testing.assert_close(only_first.loss, whole.losses[0])
    halves = ClassificationLoss(model, LossRun(CrossEntropy(reduction="batch")))(batch, weights=torch.full((3,), 0.5))
    torch.testing.assert_close(halves.loss, whole.losses.mean() / 2)


@pytest.mark.parametrize("perturbed", [False, True], ids=["clean", "perturbed"])
def test_hidden_states_are_those_of_the_pass_if_they_are_required(loaded, perturbed):
    model, batch = loaded
    loss_function = ClassificationLoss(model, LossRun(CrossEntropy()), outputs={"hidden_states"})
    noise = torch.Generator().manual_seed(0)
    delta = 0.1 * perturbed * torch.randn(*batch.input_ids.shape, loss_function.embedding_dim, generator=noise)
    output = loss_function(batch, delta)
    assert len(output.hidden_states) == model.config.num_hidden_layers + 1
    assert {tuple(state.shape) for state in output.hidden_states} == {(*batch.input_ids.shape, model.config.hidden_size)}
    words = batch.attention_mask.bool()
    assert torch.allclose(output.hidden_states[0][words], loss_function(batch).hidden_states[0][words], atol=1e-6) is not perturbed
    torch.testing.assert_close(output.logits, ClassificationLoss(model, LossRun(CrossEntropy()))(batch, delta).logits)


def test_hidden_states_are_not_kept_unless_they_are_required(loaded):
    model, batch = loaded
    seen = []
    handle = model.register_forward_pre_hook(lambda _, __, inputs: seen.append(inputs), with_kwargs=True)
    output = ClassificationLoss(model, LossRun(CrossEntropy()))(batch)
    handle.remove()
    assert ["output_hidden_states" in inputs for inputs in seen] == [False]
    with pytest.raises(PluginError, match="hidden_states is not kept"):
        _ = output.hidden_states


def test_the_hidden_states_of_a_teacher_are_computed_once_for_a_batch_and_without_dropout(tiny):
    teacher, tokenizer = load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)
    student, _ = load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)
    batch = tokenize(EXAMPLES, tokenizer, 64).collate([0, 1, 2])
    passes, given = [], []

    class Given(LossRun):
        def __call__(self, logits, labels, loss_inputs):
            given.append(loss_inputs)
            return super().__call__(logits, labels, loss_inputs)

    teacher.eval().register_forward_pre_hook(lambda *_: passes.append(1))
    loss_function = ClassificationLoss(student.train(), Given(CrossEntropy()), teacher=teacher)
    for step in range(2):
        prepared = loss_function.prepare(batch, step, 2)
        loss_function(prepared), loss_function(prepared)
    assert len(passes) == 2
    expected = teacher(input_ids=batch.input_ids, attention_mask=batch.attention_mask, token_type_ids=batch.token_type_ids,
                       output_hidden_states=True).hidden_states  # fmt: skip
    for inputs in given:
        torch.testing.assert_close(inputs["teacher_hidden_states"], expected)
        assert torch.equal(inputs["attention_mask"], batch.attention_mask)


def test_the_loss_of_another_model_is_that_of_its_own_logits(loaded):
    model, batch = loaded
    called = []

    class Counts(Callback):
        def on_pass_start(self, index):
            called.append(index)

    other = copy.deepcopy(model)
    with torch.no_grad():
        next(iter(other.parameters())).mul_(2)
    loss_function = ClassificationLoss(model, LossRun(CrossEntropy()), callbacks=[Counts()])
    found = loss_function.with_model(other)(batch)
    assert called == []
    assert torch.equal(found.logits, ClassificationLoss(other, LossRun(CrossEntropy()))(batch).logits)
    assert not torch.equal(found.logits, loss_function(batch).logits)


def test_a_perturbation_or_weights_that_would_be_broadcast_are_refused(tiny):
    """Weights of one column would give nine products of three losses, and a shift of one token would move them all."""
    model, tokenizer = load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)
    loss_function, batch = ClassificationLoss(model, LossRun(CrossEntropy())), tokenize(EXAMPLES, tokenizer, 64).collate([0, 1, 2])
    rows, length, dim = *batch.input_ids.shape, loss_function.embedding_dim
    loss_function(batch, torch.zeros(rows, length, dim), torch.ones(rows))
    with pytest.raises(PluginError, match=r"the weights of a pass are \(3, 1\), and there is one of each example: \(3,\)"):
        loss_function(batch, weights=torch.ones(rows, 1))
    with pytest.raises(PluginError, match=rf"delta is \(3, 1, {dim}\), and the word embeddings are \(3, {length}, {dim}\)"):
        loss_function(batch, torch.zeros(rows, 1, dim))
    model(input_ids=batch.input_ids)  # no hook is left
