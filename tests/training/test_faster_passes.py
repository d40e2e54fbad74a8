"""Shortcuts of a training step give the same gradients: fewer tokens in the last layer, fewer random numbers, a gradient that is reused."""

from __future__ import annotations

import contextlib
import copy
import math

import pytest
import torch
from support.families import FAMILIES, WITH_MLM
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from ticketlab.backbone.loading import load_classifier, load_mlm
from ticketlab.backbone.masks import attach_mask
from ticketlab.losses.base import LossRun
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.tasks.base import Example
from ticketlab.training import dropout, embedding_gradient
from ticketlab.training.batch import tokenize
from ticketlab.training.masked_lm import MaskedLMLoss
from ticketlab.training.masking import MaskingVocabulary

EXAMPLES = [
    Example("0", ("a good film that was good",), 1),
    Example("1", ("bad",), 0),
    Example("2", ("not a good film but a long one",), 0),
]
ALL_TOKENS = {"albert", "gpt2"}
"""The layers of ALBERT are one module, and GPT-2 reads the last token. All other families read the first."""


@pytest.fixture(params=FAMILIES)
def loaded(request, tiny):
    model, tokenizer = load_classifier(str(tiny[request.param]), ("negative", "positive"), 0)
    return request.param, model.eval(), tokenize(EXAMPLES, tokenizer, 64).collate([0, 1, 2])


class MeanPooler(nn.Module):
    def forward(self, hidden):
        return hidden.mean(dim=1)


class CountTokens(TorchFunctionMode):
    """Counts the tokens of which linear layers compute something."""

    def __init__(self):
        super().__init__()
        self.tokens = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is functional.linear:
            self.tokens += math.prod(args[0].shape[:-1])
        return function(*args, **(kwargs or {}))


def gradients(model, loss_function, batch):
    """Return the logits and all gradients, and the number of tokens that linear layers get."""
    model.zero_grad()
    with CountTokens() as counted:
        output = loss_function(batch)
    output.loss.backward()
    found = {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}
    return {"logits": output.logits.detach(), **found}, counted.tokens


@contextlib.contextmanager
def hook_of_others(model):
    handle = model.base_model.register_forward_hook(lambda *_: None)
    yield
    handle.remove()


def test_a_classifier_that_reads_the_first_token_needs_no_other_after_the_last_attention(loaded):
    family, model, batch = loaded
    loss_function = ClassificationLoss(model, LossRun(CrossEntropy()))
    loss_function(batch)  # with the trial
    found, tokens = gradients(model, loss_function, batch)
    with hook_of_others(model):
        expected, all_tokens = gradients(model, loss_function, batch)
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-6)
    assert (tokens < all_tokens) == (family not in ALL_TOKENS)
    copied = copy.deepcopy(model)
    torch.testing.assert_close(gradients(copied, loss_function.with_model(copied), batch)[0], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("family", WITH_MLM)
def test_a_masked_language_model_needs_the_masked_tokens_alone_after_the_last_attention(family, tiny):
    model, tokenizer, _ = load_mlm(str(tiny[family]), 0)
    vocabulary = MaskingVocabulary.of(tokenizer, model.get_input_embeddings().num_embeddings)
    loss_function = MaskedLMLoss(model.eval(), vocabulary, ratio=0.3)
    batch = loss_function.prepare(tokenize(EXAMPLES, tokenizer, 64).collate([0, 1, 2]), 0, 1)
    loss_function(batch)  # with the trial
    found, tokens = gradients(model, loss_function, batch)
    with hook_of_others(model):
        expected, all_tokens = gradients(model, loss_function, batch)
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-6)
    assert (tokens < all_tokens) == (family not in {*ALL_TOKENS, "modernbert"})  # it adds all tokens from before its last norm


def test_an_evaluation_that_computes_no_gradients_leaves_out_tokens_too(tiny):
    model, tokenizer, _ = load_mlm(str(tiny["bert"]), 0)
    vocabulary = MaskingVocabulary.of(tokenizer, model.get_input_embeddings().num_embeddings)
    loss_function = MaskedLMLoss(model.eval(), vocabulary, ratio=0.3)
    batch = loss_function.prepare(tokenize(EXAMPLES, tokenizer, 64).collate([0, 1, 2]), 0, 1)
    with torch.inference_mode():
        loss_function(batch)  # with the trial
        with CountTokens() as fewer:
            found = loss_function(batch).logits
        with hook_of_others(model), CountTokens() as everything:
            expected = loss_function(batch).logits
    assert fewer.tokens < everything.tokens
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("zero", [False, True], ids=["", "weights of zero"])
def test_a_head_that_reads_all_tokens_gets_all(zero, tiny):
    model, tokenizer = load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)
    model.bert.pooler = MeanPooler()
    if zero:
        nn.init.zeros_(model.classifier.weight)
    loss_function = ClassificationLoss(model.eval(), LossRun(CrossEntropy()))
    batch = tokenize(EXAMPLES, tokenizer, 64).collate([0, 1, 2])
    loss_function(batch)
    seen = []
    handle = model.classifier.register_forward_pre_hook(lambda *_: None)
    expected = loss_function(batch).logits
    handle.remove()
    model.bert.pooler.forward = lambda hidden: seen.append(hidden.shape[1]) or hidden.mean(dim=1)
    torch.testing.assert_close(loss_function(batch).logits, expected)
    assert seen == [batch.input_ids.shape[1]]


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_expectation_and_is_that_of_the_seed(probability):
    torch.manual_seed(3)
    values = torch.ones(500, 401, requires_grad=True)
    dropped = dropout.dropout(values, probability)
    kept = dropped != 0
    deviation = math.sqrt(probability * (1 - probability) / kept.numel())
    assert float(kept.float().mean()) == pytest.approx(1 - probability, abs=5 * deviation)
    assert dropped[kept].unique().item() == pytest.approx(1 / (1 - probability), rel=1e-4)
    for neighbours in (kept[:, 1:] == kept[:, :-1], kept[1:] == kept[:-1]):
        same = (1 - probability) ** 2 + probability**2
        assert float(neighbours.float().mean()) == pytest.approx(same, abs=0.006)
    dropped.sum().backward()
    assert torch.equal(values.grad, dropped.detach())
    torch.manual_seed(3)
    assert torch.equal(dropout.dropout(values, probability), dropped)


@pytest.mark.parametrize("mask", ["none", "boolean", "added"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention_with_dropout_is_that_of_torch_where_nothing_is_dropped(mask, dtype):
    torch.manual_seed(3)
    query, key, value = (torch.randn(2, 3, 5, 4, dtype=dtype, requires_grad=True) for _ in range(3))
    kept = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=torch.bool)[:, None, None].expand(2, 1, 5, 5)
    added = torch.zeros(kept.shape, dtype=dtype).masked_fill(~kept, torch.finfo(dtype).min)
    chosen = {"none": None, "boolean": kept, "added": added}[mask]
    expected = functional.scaled_dot_product_attention(query, key, value, chosen)
    with dropout.few_random_numbers(torch.device("cpu")):
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=chosen, dropout_p=1e-9)
        assert torch.equal(functional.scaled_dot_product_attention(query, key, value, chosen), expected)
    tolerance = {"rtol": 1e-4, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 2e-2, "atol": 2e-2}
    torch.testing.assert_close(found, expected, **tolerance)
    upstream = torch.randn(expected.shape).to(dtype)
    inputs = (query, key, value)
    for one, other in zip(torch.autograd.grad(found, inputs, upstream), torch.autograd.grad(expected, inputs, upstream), strict=True):
        torch.testing.assert_close(one, other, **tolerance)


def test_models_in_training_use_few_random_numbers_and_others_none(tiny):
    model, tokenizer = load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)
    batch = tokenize(EXAMPLES, tokenizer, 64).collate([0, 1, 2])
    loss_function = ClassificationLoss(model, LossRun(CrossEntropy()))
    with torch.profiler.profile() as profile:
        loss_function(batch)
    drawn = {event.key for event in profile.key_averages()}
    assert "aten::random_" in drawn
    assert "aten::bernoulli_" not in drawn
    state = torch.get_rng_state()
    model.eval()
    loss_function(batch)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_reused_gradient_of_the_word_embeddings_has_the_same_bits():
    torch.manual_seed(0)
    ids = torch.randint(0, 40, (4, 9))
    upstream = torch.randn(4, 9, 6)
    model = Model(padding_idx=3)

    def step(passes: int = 1):
        model.embeddings.weight.grad = None
        for _ in range(passes):
            model.embeddings(ids).backward(upstream)
        return model.embeddings.weight.grad

    expected, of_two = step(), step(2)
    with embedding_gradient.reused(model):
        first = step()
        assert torch.equal(first, expected)
        assert not first.is_sparse
        place = first.data_ptr()
        again = step(2)
        assert again.data_ptr() == place
        torch.testing.assert_close(again, of_two)
        assert torch.equal(step(), expected)
    assert step().data_ptr() != place
    assert not model.embeddings.sparse


@pytest.mark.parametrize("what", ["frozen", "parametrized", "hooked", "hooked after", "tied"])
def test_other_gradients_of_word_embeddings_are_as_before(what):
    torch.manual_seed(0)
    model, ids, hooked = Model(), torch.randint(0, 40, (4, 9)), []
    weight = model.embeddings.weight
    if what == "frozen":
        weight.requires_grad_(False)
    elif what == "parametrized":
        attach_mask(model.embeddings)
    elif what == "hooked":
        weight.register_hook(lambda gradient: hooked.append(gradient.is_sparse))
    elif what == "hooked after":
        weight.register_post_accumulate_grad_hook(lambda parameter: hooked.append(parameter.grad.is_sparse))

    def gradient():
        weight.grad = None
        states = model.embeddings(ids) + torch.zeros(6, requires_grad=True)
        (functional.linear(states, model.embeddings.weight) if what == "tied" else states).square().sum().backward()
        return weight.grad

    expected = gradient()
    with embedding_gradient.reused(model):
        found = gradient()
    assert (found is None) == (what == "frozen")
    if found is not None:
        torch.testing.assert_close(found, expected)
    assert not any(hooked)


class Model(nn.Module):
    def __init__(self, **settings):
        super().__init__()
        self.embeddings = nn.Embedding(40, 6, **settings)

    def get_input_embeddings(self):
        return self.embeddings
