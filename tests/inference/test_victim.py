from __future__ import annotations

import contextlib

import pytest
import torch
from torch import nn
from transformers import DistilBertConfig, DistilBertForSequenceClassification, RobertaConfig, RobertaForSequenceClassification

from ticketlab.backbone.loading import load_classifier
from ticketlab.inference.victim import Victim, longest_input

TEXTS = [
    "the film was good",
    "",
    "awful",
    "the plot is dull but the acting was very very good and it is fine " * 3,
    "the film was good",
    "?",
]


def test_logits_do_not_depend_on_the_batch(victim):
    with victim.evaluating():
        together = victim(TEXTS)
        alone = torch.cat([victim([text]) for text in TEXTS])
    assert together.dtype == torch.float32
    assert together.device.type == "cpu"
    assert torch.equal(together, alone)


def test_logits_equal_those_of_the_padded_model(victim):
    padded = victim.tokenizer(TEXTS, padding="max_length", truncation=True, max_length=64, return_tensors="pt")
    with torch.inference_mode():
        expected = victim.model(**padded).logits
    torch.testing.assert_close(victim(TEXTS), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("family", ["mpnet", "albert", "modernbert", "gpt2"])
def test_every_family_gives_a_text_the_same_bits_in_every_batch(family, precision, tiny):
    model, tokenizer = load_classifier(str(tiny[family]), ("no", "yes"), 0)
    victim = Victim(model, tokenizer, ("no", "yes"), precision=precision)
    together = victim(TEXTS)
    assert torch.equal(together, torch.cat([victim([text]) for text in TEXTS]))
    assert torch.equal(together, victim(TEXTS[::-1]).flip(0))
    if precision == "fp32":
        with torch.inference_mode():
            expected = torch.cat([model(**{name: torch.tensor([ids]) for name, ids in row.items()}).logits for row in victim.encode(TEXTS)])
        torch.testing.assert_close(together, expected, atol=1e-5, rtol=0)


def test_equal_texts_go_through_the_model_once(victim, monkeypatch):
    shapes = []
    forward = victim.batch_invariant_model.forward
    monkeypatch.setattr(
        victim.batch_invariant_model, "forward", lambda batch, rows: shapes.append(tuple(batch["input_ids"].shape)) or forward(batch, rows)
    )
    victim(["very " * 30, "good", "very " * 30, "bad", "dull"])
    assert shapes == [(1, 48)]  # of 32 and three times 3, filled up
    assert victim.rows == 4


def test_pairs_are_read_as_two_segments(victim):
    pair, swapped = victim([("the film", "is good"), ("is good", "the film")])
    assert not torch.equal(pair, swapped)
    assert set(victim.encode([("the film", "is good")])[0]["token_type_ids"]) == {0, 1}


@pytest.mark.parametrize("words", [63, 5000])
def test_long_texts_are_truncated_and_reported_as_such(victim, words):
    assert victim(["good " * words]).shape == (1, 2)
    assert victim.truncates("good " * words)
    assert not victim.truncates("good " * 62)


def test_max_length_is_limited_by_the_model(model, tokenizer):
    assert Victim(model, tokenizer, ["a", "b"], max_length=512).max_length == 128


def test_roberta_positions_begin_after_the_padding_index(tokenizer):
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8, "max_position_embeddings": 42}
    roberta = RobertaForSequenceClassification(RobertaConfig(vocab_size=len(tokenizer), type_vocab_size=1, **sizes)).eval()
    assert longest_input(roberta, tokenizer) == 40


def test_a_model_without_segments_gets_none(tokenizer):
    config = DistilBertConfig(vocab_size=len(tokenizer), dim=8, n_layers=1, n_heads=1, hidden_dim=8, max_position_embeddings=32)
    victim = Victim(DistilBertForSequenceClassification(config).eval(), tokenizer, ["a", "b"])
    assert victim([("good", "bad")]).shape == (1, 2)


def test_the_mode_of_every_submodule_is_restored(victim):
    victim.model.train()
    frozen = victim.model.bert.encoder.layer[0].eval()
    with contextlib.suppress(RuntimeError), victim.evaluating():
        assert not any(module.training for module in victim.model.modules())
        raise RuntimeError("halfway")
    assert victim.model.training
    assert not any(module.training for module in frozen.modules())
    assert all(module.training for module in victim.model.bert.encoder.layer[1].modules())


def test_a_model_in_training_mode_is_evaluated_without_dropout(victim):
    calm = victim(TEXTS)
    victim.model.train()
    with victim.evaluating():
        assert torch.equal(victim(TEXTS), calm)


def test_the_model_is_never_moved(victim, monkeypatch):
    monkeypatch.setattr(nn.Module, "_apply", lambda *_, **__: pytest.fail("the model was moved"))
    victim(TEXTS)


def test_the_numbers_of_label_names_and_logits_must_agree(make_model, tokenizer):
    with pytest.raises(ValueError, match="3 outputs for 2 label names"):
        Victim(make_model(labels=3), tokenizer, ["a", "b"])(["good"])


def test_no_texts_give_no_logits(victim):
    assert victim([]).shape == (0, 2)
