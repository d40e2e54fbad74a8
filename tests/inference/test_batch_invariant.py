"""Batch-invariant inference: a row's result depends on that row alone, bit for bit."""

from __future__ import annotations

import copy

import pytest
import torch
import transformers
from torch import nn

from ticketlab.inference import linear
from ticketlab.inference.batch_invariant import BatchInvariantModel
from ticketlab.inference.victim import Victim

SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 200, "max_position_embeddings": 130}
FAMILIES = {
    "bert": (transformers.BertConfig, transformers.BertForSequenceClassification, SIZES),
    "roberta": (transformers.RobertaConfig, transformers.RobertaForSequenceClassification, SIZES),
    "electra": (transformers.ElectraConfig, transformers.ElectraForSequenceClassification, SIZES | {"embedding_size": 48}),
    "deberta": (
        transformers.DebertaV2Config,
        transformers.DebertaV2ForSequenceClassification,
        SIZES | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "pooler_hidden_size": 64},
    ),
    "distilbert": (
        transformers.DistilBertConfig,
        transformers.DistilBertForSequenceClassification,
        {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 200, "max_position_embeddings": 130},
    ),
    "albert": (transformers.AlbertConfig, transformers.AlbertForSequenceClassification, SIZES | {"embedding_size": 48}),
}


def family(name: str):
    config, model, sizes = FAMILIES[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return model(config(vocab_size=500, num_labels=3, pad_token_id=0, **sizes)).eval()


def rows_of(*lengths: int) -> list[dict[str, list[int]]]:
    generator = torch.Generator().manual_seed(2)
    return [
        {"input_ids": torch.randint(5, 500, (length,), generator=generator).tolist(), "attention_mask": [1] * length} for length in lengths
    ]


def batch_invariant_model(model, precision="fp32"):
    return BatchInvariantModel(model, lambda batch, _: model(**batch).logits.float().unbind(), precision=precision)


LENGTHS = (1, 2, 7, 8, 20, 33, 128)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_row_gives_the_same_bits_in_every_batch(name, precision):
    model = batch_invariant_model(family(name), precision)
    rows = rows_of(*[length for length in LENGTHS for _ in range(11 if length < 100 else 3)])
    together = model(rows)
    for step in (1, 5, 17):
        apart = [answer for start in range(0, len(rows), step) for answer in model(rows[start : start + step])]
        assert all(torch.equal(a, b) for a, b in zip(together, apart, strict=True)), step
    backwards = model(rows[::-1])[::-1]
    assert all(torch.equal(a, b) for a, b in zip(together, backwards, strict=True))


@pytest.mark.parametrize("name", FAMILIES)
def test_logits_equal_those_of_the_plain_model(name):
    model = family(name)
    rows = rows_of(4, 4, 30)
    answers = batch_invariant_model(model)(rows)
    for row, answer in zip(rows, answers, strict=True):
        with torch.inference_mode():
            expected = model(input_ids=torch.tensor([row["input_ids"]])).logits[0]
        torch.testing.assert_close(answer, expected, atol=2e-5, rtol=0)


@pytest.mark.parametrize("invariant", [True, False])
def test_a_batch_invariant_linear_layer_computes_the_same_as_the_layer(invariant, monkeypatch):
    monkeypatch.setattr(linear, "is_batch_invariant", lambda *_: invariant)
    layer = nn.Linear(24, 10)
    linears = linear.BatchInvariantLinears(layer, None)
    assert linears.complete
    for count in (1, 15, 16, 17, 255, 256, 300):
        tokens = torch.randn(count, 24)
        with linears.enabled(), torch.no_grad():
            assert linears._linears[0].module(tokens).shape == (count, 10)
            torch.testing.assert_close(layer(tokens), nn.functional.linear(tokens, layer.weight, layer.bias), atol=1e-5, rtol=0)
    assert "forward" not in vars(layer)


def test_chunks_of_a_fixed_size_are_used_where_kernels_differ(monkeypatch):
    monkeypatch.setattr(linear, "is_batch_invariant", lambda *_: False)
    sizes = []
    unpatched = nn.functional.linear
    monkeypatch.setattr(linear.functional, "linear", lambda tokens, *rest: sizes.append(len(tokens)) or unpatched(tokens, *rest))
    model = batch_invariant_model(family("bert"))
    model(rows_of(*[20] * 30))
    assert set(sizes) == {256}


def test_a_kernel_whose_rounding_depends_on_the_number_of_rows_is_detected(monkeypatch):
    unpatched = nn.functional.linear
    monkeypatch.setattr(linear.functional, "linear", lambda tokens, *rest: unpatched(tokens, *rest) * (1 + 1e-6 * (len(tokens) < 100)))
    linear.is_batch_invariant.cache_clear()
    assert not linear.is_batch_invariant((8, 8), torch.float32, torch.device("cpu"), 1)
    linear.is_batch_invariant.cache_clear()


class CustomLayer(nn.Module):
    """A custom layer, not known to be batch-invariant: its matrix product has as many rows as the batch."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16, 4))

    def forward(self, input_ids, attention_mask):
        return nn.functional.one_hot(input_ids % 16, 16).float().sum(1) @ self.weight

    def get_input_embeddings(self):
        return nn.Embedding(500, 1)


class PositionDependent(CustomLayer):
    """The same, but its rounding depends on a row's position in the batch."""

    def forward(self, input_ids, attention_mask):
        return super().forward(input_ids, attention_mask) * (1 + 1e-6 * (torch.arange(len(input_ids)) % 2))[:, None]


@pytest.mark.parametrize(("kind", "together"), [(CustomLayer, 8), (PositionDependent, 1)])
def test_a_model_with_unknown_layers_always_gets_the_same_number_of_rows(kind, together):
    model = kind()
    shapes = []

    def forward(batch, rows):
        shapes.append((tuple(batch["input_ids"].shape), len(rows)))
        return model(**batch).unbind()

    rows = rows_of(3, 3, 3, 5)
    answers = BatchInvariantModel(model, forward)(rows)
    assert shapes == ([((8, 3), 8), ((8, 5), 8)] if together == 8 else [((1, 3), 1)] * 3 + [((1, 5), 1)])
    assert all(torch.equal(answer, BatchInvariantModel(model, forward)([row])[0]) for answer, row in zip(answers, rows, strict=True))
    assert not linear.BatchInvariantLinears(model, None).complete


def test_the_model_is_restored_even_after_an_error():
    model = family("bert")
    before = {name: set(vars(module)) for name, module in model.named_modules()}

    def forward(batch, rows):
        raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        BatchInvariantModel(model, forward)(rows_of(3))
    assert {name: set(vars(module)) for name, module in model.named_modules()} == before
    assert next(model.parameters()).dtype == torch.float32


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_changed_weights_take_effect(precision):
    model = family("bert")
    ask = batch_invariant_model(model, precision)
    before = ask(rows_of(6))[0]
    with torch.no_grad():
        model.classifier.weight.mul_(3)
    assert not torch.equal(ask(rows_of(6))[0], before)


def test_hooks_and_parametrizations_still_work():
    model = family("bert")
    dense = copy.deepcopy(model)

    class Halved(nn.Module):
        def forward(self, weight):
            return weight / 2

    gate = torch.rand(200)
    model.bert.encoder.layer[0].output.dense.register_forward_pre_hook(lambda _, args: (args[0] * gate,))
    nn.utils.parametrize.register_parametrization(model.bert.encoder.layer[1].output.dense, "weight", Halved())
    assert linear.BatchInvariantLinears(model, None).complete
    rows = rows_of(5, 5, 9)
    with torch.inference_mode():
        expected = [model(input_ids=torch.tensor([row["input_ids"]])).logits[0] for row in rows]
    for answer, wanted, plain in zip(batch_invariant_model(model)(rows), expected, batch_invariant_model(dense)(rows), strict=True):
        torch.testing.assert_close(answer, wanted, atol=1e-5, rtol=0)
        assert not torch.allclose(answer, plain, atol=1e-4)


def test_bf16_logits_are_close_to_those_in_fp32(make_model, tokenizer):
    model = make_model()
    texts = ["the film was good", "a dull plot"]
    exact, rough = (Victim(model, tokenizer, ["a", "b"], precision=precision)(texts) for precision in ("fp32", "bf16"))
    assert rough.dtype == torch.float32
    assert not torch.equal(exact, rough)
    torch.testing.assert_close(exact.softmax(1), rough.softmax(1), atol=0.1, rtol=0)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
