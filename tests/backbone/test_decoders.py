"""GPT-2 as a classifier: it has no padding token, reads a text at its end, and predicts no masked words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from ticketlab.backbone.adapters import pads
from ticketlab.backbone.loading import NO_PADDING, load_classifier, load_finished, load_mlm, save
from ticketlab.core.errors import UsageError
from ticketlab.tasks.base import Example
from ticketlab.training.batch import tokenize
from ticketlab.training.evaluation import predict
from ticketlab.training.loss_function import forward

LABELS = ("no", "yes")
EXAMPLES = [Example(str(number), (text,), 0) for number, text in enumerate(("good", "the film was not good at all", "a bad plot"))]


@pytest.fixture
def folder(tiny: dict[str, Path]) -> str:
    return str(tiny["gpt2"])


def test_training_pads_with_the_end_of_text_and_classifies_from_the_last_word(folder: str) -> None:
    model, tokenizer = load_classifier(folder, LABELS, 0)
    assert tokenizer.pad_token == tokenizer.eos_token
    assert model.config.pad_token_id == tokenizer.pad_token_id
    rows = tokenize(EXAMPLES, tokenizer, 32)
    with torch.inference_mode():
        padded = forward(model, rows.collate([0, 1, 2]), "fp32")
        alone = torch.cat([model(input_ids=torch.tensor([ids])).logits for ids in rows.input_ids])
    torch.testing.assert_close(padded, alone, rtol=0, atol=1e-6)
    torch.testing.assert_close(predict(model, rows), alone, rtol=0, atol=1e-6)


def test_a_perturbed_pass_reads_padded_texts_at_their_ends_too(folder: str) -> None:
    model, tokenizer = load_classifier(folder, LABELS, 0)
    rows = tokenize(EXAMPLES, tokenizer, 32)
    embeddings = model.get_input_embeddings()
    noise = torch.randn(3, 8, 32, generator=torch.Generator().manual_seed(0)) * 0.1
    with torch.inference_mode():
        together = forward(model, rows.collate([0, 1, 2]), "fp32", embeddings, noise[:, : rows.collate([0, 1, 2]).input_ids.shape[1]])
        for index, ids in enumerate(rows.input_ids):
            single = rows.collate([index], multiple=1)
            alone = forward(model, single, "fp32", embeddings, noise[index : index + 1, : len(ids)])
            torch.testing.assert_close(together[index : index + 1], alone, rtol=0, atol=1e-6)


def test_a_saved_classifier_keeps_its_padding_token(folder: str, tmp_path: Path) -> None:
    model, tokenizer = load_classifier(folder, LABELS, 0)
    again, reloaded, _ = load_finished(str(save(model, tokenizer, tmp_path / "model")))
    assert again.config.pad_token_id == reloaded.pad_token_id == tokenizer.eos_token_id


def test_a_finished_classifier_without_a_padding_token_is_never_padded(folder: str, tmp_path: Path) -> None:
    model, _ = load_classifier(folder, LABELS, 0)
    _, tokenizer, _ = load_finished(str(save(*load_classifier(folder, LABELS, 0), tmp_path / "model")))
    path = tmp_path / "model" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pad_token_id": None}))
    plain, _, _ = load_finished(str(tmp_path / "model"))
    assert plain.config.pad_token_id == NO_PADDING
    assert not pads("gpt2")
    rows = tokenize(EXAMPLES, tokenizer, 32)
    torch.testing.assert_close(predict(plain, rows), predict(model, rows), rtol=0, atol=1e-6)


def test_a_decoder_has_no_masked_words_to_predict(folder: str) -> None:
    with pytest.raises(UsageError, match="`gpt2` models have no masked-language-model head; choose another model") as caught:
        load_mlm(folder, 0)
    assert "\n" not in str(caught.value)
