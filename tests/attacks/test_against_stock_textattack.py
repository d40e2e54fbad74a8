"""Our attacks equal textattack's: the same texts after the same number of queries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from support.stock_recipes import differences, sst2_examples
from transformers import BertConfig, BertForSequenceClassification

from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.pwws import PWWS
from ticketlab.attacks.textbugger import TextBugger
from ticketlab.attacks.textfooler import TextFooler
from ticketlab.inference.victim import Victim
from ticketlab.resources import stop_words
from ticketlab.resources.resources import Resources
from ticketlab.resources.sentence_encoder import SentenceEncoder
from ticketlab.resources.textattack_import import installed

pytestmark = pytest.mark.skipif(not installed(), reason="textattack is not installed")

ATTACKS = {
    "deepwordbug": (DeepWordBug(), "DeepWordBugGao2018", None),
    "textfooler": (TextFooler(), "TextFoolerJin2019", stop_words.textfooler()),
    "textbugger": (TextBugger(), "TextBuggerLi2018", None),
    "pwws": (PWWS(), "PWWSRen2019", None),
}


@pytest.fixture(scope="module")
def victim(demo_tokenizer: Any, real_data: Path) -> Victim:
    """A small random classifier with a real vocabulary, whose logits differ widely between texts."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        model = BertForSequenceClassification(BertConfig(vocab_size=len(demo_tokenizer), max_position_embeddings=128, **sizes)).eval()
        with torch.no_grad():
            model.bert.embeddings.word_embeddings.weight.mul_(20)
            model.classifier.weight.mul_(30)
        found = Victim(model, demo_tokenizer, ["negative", "positive"])
        texts = [example.texts[0] for example in sst2_examples(real_data, 30, words=14)]
        with torch.no_grad():
            model.classifier.bias.sub_(found(texts).mean(0))  # both labels are answers
    return found


@pytest.fixture(autouse=True)
def _sentences_are_embedded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, torch.Tensor] = {}
    encode = SentenceEncoder.encode

    def cached(encoder: SentenceEncoder, sentences: Sequence[str]) -> torch.Tensor:
        new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in known]
        known.update(zip(new, encode(encoder, new), strict=True))
        return torch.stack([known[sentence] for sentence in sentences])

    monkeypatch.setattr(SentenceEncoder, "encode", cached)


@pytest.mark.parametrize("name", ATTACKS)
def test_results_of_an_attack_equal_those_of_textattacks_recipe(name: str, real_data: Path, victim: Victim) -> None:
    how, recipe, stopwords = ATTACKS[name]
    missing = [need for need in how.required_resources if Resources().where(need) is None]
    if missing:
        pytest.skip(f"not here: {', '.join(missing)}")
    examples = sst2_examples(real_data, 12, words=11)
    different, records = differences(how, recipe, victim, examples, stopwords=stopwords)
    assert different == []
    assert not [record.message for record in records if record.status == "error"]
    attacked = [record for record in records if record.status in ("success", "failed")]
    assert len(attacked) >= 5
    assert any(record.status == "success" for record in records)
