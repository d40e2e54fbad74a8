"""Packed rows give the same results as each row alone."""

from __future__ import annotations

import copy

import pytest
import torch
import transformers
from torch import nn

from ticketlab.inference.batch_invariant import BatchInvariantModel
from ticketlab.inference.packing import Packing, positions, runs
from ticketlab.inference.victim import Victim
from ticketlab.resources.sentence_encoder import SentenceEncoder

SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 200, "max_position_embeddings": 70}
LENGTHS = (9, 3, 60, 3, 1, 17, 9, 2)


def bert(**more):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=500, num_labels=3, **(SIZES | more))).eval()


def roberta():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        config = transformers.RobertaConfig(vocab_size=500, num_labels=3, pad_token_id=1, **SIZES)
        return transformers.RobertaForSequenceClassification(config).eval()


def rows_of(*lengths, lowest=5):
    generator = torch.Generator().manual_seed(2)
    return [{"input_ids": torch.randint(lowest, 500, (n,), generator=generator).tolist(), "attention_mask": [1] * n} for n in lengths]


def batch_invariant_model(model, packing=None, shapes=None, precision="fp32"):
    def forward(batch, rows):
        if shapes is not None:
            shapes.append(tuple(batch["input_ids"].shape))
        return model(**batch).logits.float().unbind()

    return BatchInvariantModel(model, forward, packing=packing, precision=precision)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("make", [bert, roberta])
def test_packed_logits_equal_unpacked_ones_bit_for_bit(make, precision):
    model, shapes = make(), []
    rows = rows_of(*LENGTHS)
    apart = batch_invariant_model(model, precision=precision)(rows)
    together = batch_invariant_model(model, Packing(model, first_only=True), shapes, precision)(rows)
    assert sum(LENGTHS) == 104
    assert shapes == [(1, 112)]  # a multiple of 16, and more than the model has positions
    assert all(torch.equal(a, b) for a, b in zip(apart, together, strict=True))


def test_the_last_layer_computes_only_the_first_tokens():
    model, seen = bert(), []
    for layer in model.bert.encoder.layer:
        layer.intermediate.register_forward_hook(lambda _, args, __: seen.append(args[0].shape[:2].numel()))
    ask = batch_invariant_model(model, Packing(model, first_only=True))
    ask(rows_of(4))
    seen.clear()
    ask(rows_of(*LENGTHS))
    assert seen == [112, len(LENGTHS) + 1]  # and the row that fills up


def test_tokens_that_see_only_near_ones_are_not_packed():
    """The rows with which a model is tested may all fit into one window, and those of an attack do not."""
    model, shapes = bert(), []
    model.config.sliding_window = 64
    batch_invariant_model(model, Packing(model, first_only=True), shapes)(rows_of(*LENGTHS))
    assert {shape[1] for shape in shapes} == set(LENGTHS)


def test_packed_text_pairs_keep_their_segments():
    model = bert(initializer_range=0.5)
    rows = [row | {"token_type_ids": [0, 0] + [1] * (len(row["input_ids"]) - 2)} for row in rows_of(7, 5, 7)]
    together = batch_invariant_model(model, Packing(model, first_only=True))(rows)
    for row, answer in zip(rows, together, strict=True):
        with torch.inference_mode():
            expected = model(**{name: torch.tensor([ids]) for name, ids in row.items()}).logits[0]
        torch.testing.assert_close(answer, expected, atol=1e-5, rtol=0)
    other = batch_invariant_model(model, Packing(model, first_only=True))(
        [row | {"token_type_ids": [0] * len(row["input_ids"])} for row in rows]
    )
    assert not torch.allclose(torch.stack(together), torch.stack(other), atol=1e-3)


def test_a_padding_token_inside_a_text_gets_robertas_position():
    model = roberta()
    rows = rows_of(8, 12)
    rows[0]["input_ids"][3] = 1  # a text may contain `<pad>`
    apart = batch_invariant_model(model)(rows)
    together = batch_invariant_model(model, Packing(model, first_only=True))(rows)
    assert all(torch.equal(a, b) for a, b in zip(apart, together, strict=True))


def test_positions_and_run_lengths():
    assert list(positions([7, 8, 9], 0)) == [0, 1, 2]
    assert list(positions([7, 1, 9], 2)) == [2, 1, 3]  # of create_position_ids_from_input_ids: count of non-padding, plus padding
    assert runs([3, 3, 4, 3]) == [(3, 2), (4, 1), (3, 1)]


class Peeking(nn.Module):
    """Adds the mean over all tokens of the batch, so that it cannot be packed."""

    def forward(self, states):
        return states + states.mean(dim=1, keepdim=True)


def test_a_model_that_mixes_tokens_outside_attention_is_not_packed():
    model, shapes = bert(), []
    model.bert.encoder.layer[0].register_forward_hook(
        lambda _, __, output: (Peeking()(output[0]), *output[1:]) if isinstance(output, tuple) else Peeking()(output)
    )
    rows = rows_of(4, 6, 4)
    answers = batch_invariant_model(model, Packing(model, first_only=True), shapes)(rows)
    assert shapes == [(2, 4), (1, 6)]
    assert all(torch.equal(a, b) for a, b in zip(answers, batch_invariant_model(model)(rows), strict=True))


@pytest.mark.parametrize("why", ["eager attention", "unknown input", "causal", "other logits"])
def test_models_that_cannot_be_packed_get_batches_of_one_length(why):
    model, shapes = bert(is_decoder=why == "causal", attn_implementation="eager" if why == "eager attention" else "sdpa"), []
    rows = rows_of(4, 6, 4)
    if why == "unknown input":
        rows = [row | {"special": [0] * len(row["input_ids"])} for row in rows]
        forward = model.forward
        model.forward = lambda special=None, **inputs: forward(**inputs)
    answers = batch_invariant_model(model, Packing(model, first_only=why != "other logits"), shapes)(rows)
    assert sorted(shapes) == [(1, 6), (2, 4)]
    assert all(torch.equal(a, b) for a, b in zip(answers, batch_invariant_model(model)(rows), strict=True))


def test_testing_whether_a_model_can_be_packed_leaves_no_trace():
    model = bert()
    before = copy.deepcopy(model.state_dict())
    hooks = [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()]
    state = torch.random.get_rng_state()
    ask = batch_invariant_model(model, Packing(model, first_only=True))
    ask(rows_of(3))
    assert [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()] == hooks
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_a_victim_computes_texts_of_all_lengths_in_one_batch(make_model, tokenizer, monkeypatch):
    victim = Victim(make_model(), tokenizer, ["a", "b"])
    shapes, forward = [], victim.batch_invariant_model.forward
    monkeypatch.setattr(
        victim.batch_invariant_model, "forward", lambda batch, rows: shapes.append(batch["input_ids"].shape) or forward(batch, rows)
    )
    texts = ["very " * 30, "good", "", "the film was good", "bad"]
    together = victim(texts)
    assert len(shapes) == 1
    assert torch.equal(together, torch.cat([victim([text]) for text in texts[::-1]]).flip(0))


def test_sentence_embeddings_are_means_over_each_text(make_model, tokenizer):
    model = make_model().base_model.eval()
    encoder = SentenceEncoder(model, tokenizer)
    texts = ["the film was good", "bad", "a dull plot", "the film was bad"]
    found = encoder.encode(texts)
    assert torch.equal(found, torch.cat([encoder.encode([text]) for text in texts]))
    for text, embedding in zip(texts, found, strict=True):
        with torch.inference_mode():
            expected = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
        torch.testing.assert_close(embedding, expected, atol=1e-5, rtol=0)


def test_an_empty_row_is_not_confused_with_the_next_one():
    model = bert()
    with pytest.raises((RuntimeError, IndexError)):
        batch_invariant_model(model, Packing(model, first_only=True))(rows_of(4, 0, 6))
