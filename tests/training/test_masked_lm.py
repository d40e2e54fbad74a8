"""The loss function of masked language modelling on tiny models of every family."""

import pytest
import torch
from attrs import evolve
from support.families import WITH_MLM

from ticketlab.adversaries.fgm import FGM
from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.adversaries.pgd import PGD
from ticketlab.backbone.loading import load_mlm
from ticketlab.training.masked_lm import MaskedLMLoss
from ticketlab.training.masking import NOT_MASKED, MaskingVocabulary
from ticketlab.training.text_chunks import cut

TEXTS = ["a good film and the story was great", "very bad", "not a good film but a long one and it was not very good in the end"]


@pytest.fixture(params=WITH_MLM)
def masked(request, tiny):
    """A loss function and a masked batch of three rows of different lengths."""
    model, tokenizer, _ = load_mlm(str(tiny[request.param]), 0)
    loss_function = MaskedLMLoss(model.eval(), MaskingVocabulary.of(tokenizer, model.get_input_embeddings().num_embeddings), ratio=0.3)
    rows, _ = cut(TEXTS, tokenizer, 64)
    return loss_function, loss_function.prepare(rows.collate([0, 1, 2]), step=3, steps=10)


def theirs(model, batch) -> torch.Tensor:
    types = {} if batch.token_type_ids is None else {"token_type_ids": batch.token_type_ids}
    loss: torch.Tensor = model(input_ids=batch.input_ids, attention_mask=batch.attention_mask, labels=batch.labels, **types).loss
    return loss


def test_the_loss_is_that_of_transformers_on_the_same_masks(masked):
    loss_function, batch = masked
    output = loss_function(batch)
    torch.testing.assert_close(output.loss, theirs(loss_function.model, batch))
    zero = torch.zeros(*batch.input_ids.shape, loss_function.embedding_dim)
    torch.testing.assert_close(loss_function(batch, zero).loss, theirs(loss_function.model, batch), rtol=1e-5, atol=1e-5)
    count = int((batch.labels != NOT_MASKED).sum())
    assert output.logits.shape[0] == count, "logits of masked positions only"
    assert int(output.weights.sum()) == count


def test_each_row_has_the_mean_loss_of_its_masked_words(masked):
    loss_function, batch = masked
    output = loss_function(batch)
    for row in range(3):
        alone = evolve(batch, labels=torch.where(torch.arange(3).unsqueeze(1) == row, batch.labels, NOT_MASKED))
        torch.testing.assert_close(output.losses[row], theirs(loss_function.model, alone), rtol=1e-4, atol=1e-5)
    first = loss_function(batch, weights=torch.tensor([1.0, 0.0, 0.0]))
    torch.testing.assert_close(first.loss, output.losses[0])


def test_gradients_equal_those_of_transformers_including_tied_embeddings(masked):
    loss_function, batch = masked
    model = loss_function.model
    loss_function(batch).loss.backward()
    ours = {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}
    model.zero_grad()
    theirs(model, batch).backward()
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(ours[name], parameter.grad, rtol=1e-4, atol=1e-6)
    tied = model.get_input_embeddings().weight.grad
    unseen = sorted(set(range(len(tied))) - set(batch.input_ids.flatten().tolist()))
    assert bool((tied[unseen] != 0).any()), "the decoder's gradient reaches words that no row has"


@pytest.mark.parametrize("adversary", [Clean(), FGM(), PGD(steps=2), FreeLB(steps=3)], ids=lambda adversary: adversary.name)
def test_every_adversary_can_train_it(masked, adversary):
    loss_function, batch = masked
    loss_function.model.zero_grad()
    loss = adversary.backward(loss_function, batch)
    assert bool(torch.isfinite(loss))
    assert all(bool(torch.isfinite(parameter.grad).all()) for parameter in loss_function.model.parameters() if parameter.grad is not None)


def test_a_batch_without_words_has_the_loss_0(masked):
    loss_function, batch = masked
    nothing = evolve(batch, labels=torch.full_like(batch.labels, NOT_MASKED))
    output = loss_function(nothing)
    output.loss.backward()
    assert float(output.loss.detach()) == 0


def test_masks_change_with_the_step_and_not_with_the_pass(masked):
    loss_function, _ = masked
    rows = loss_function.model.get_input_embeddings().num_embeddings
    plain = batch_of_words(rows)
    one, again, next_step = (loss_function.prepare(plain, step, 10) for step in (0, 0, 1))
    assert torch.equal(one.labels, again.labels)
    assert not torch.equal(one.labels, next_step.labels)


def batch_of_words(size: int):
    from ticketlab.training.batch import Batch

    ids = torch.randint(10, size, (4, 30), generator=torch.Generator().manual_seed(0))
    return Batch(ids, torch.ones_like(ids), None, torch.zeros(4, dtype=torch.long))
