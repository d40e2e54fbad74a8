from __future__ import annotations

import os
import string

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizerFast

from ticketlab.attacks.victim import Victim

torch.set_num_threads(1)  # tiny models: more threads only wait for each other

SOME_WORDS = "the a was is it film movie movies plot story good great fine bad dull awful not very acting cast and but music song tune"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS = string.ascii_lowercase
VOCABULARY = list(dict.fromkeys([*SPECIAL, *SOME_WORDS.split(), *LETTERS, *(f"##{letter}" for letter in LETTERS), *".,!?'-"]))


def tiny_config(**changes):
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 128}
    return BertConfig(vocab_size=len(VOCABULARY), **{**sizes, **changes})


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory):
    file = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    file.write_text("\n".join(VOCABULARY), encoding="utf-8")
    made = BertTokenizerFast(str(file)) if _reads_vocabulary_files() else BertTokenizerFast(vocab={w: i for i, w in enumerate(VOCABULARY)})
    assert len(made) == len(VOCABULARY)
    return made


def _reads_vocabulary_files() -> bool:
    import transformers

    return int(transformers.__version__.split(".")[0]) < 5


def _make_model(labels: int = 2, **changes) -> BertForSequenceClassification:
    """A random classifier whose answers differ much between texts, so that attacks find something."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = BertForSequenceClassification(tiny_config(num_labels=labels, **changes))
        with torch.no_grad():
            model.bert.embeddings.word_embeddings.weight.mul_(20)
            model.classifier.weight.mul_(30)
            ends = torch.tensor([[2]] * 64), torch.tensor([[3]] * 64)
            random_texts = torch.cat([ends[0], torch.randint(5, len(VOCABULARY), (64, 8)), ends[1]], dim=1)
            model.classifier.bias.sub_(model.eval()(random_texts).logits.mean(0))  # every label is sometimes the answer
    return model


@pytest.fixture(scope="session")
def make_model():
    return _make_model


@pytest.fixture
def model(make_model):
    return make_model()


@pytest.fixture
def victim(model, tokenizer):
    return Victim(model, tokenizer, ["negative", "positive"], max_length=64)


@pytest.fixture(scope="session")
def tiny_encoder_folder(tmp_path_factory, tokenizer):
    folder = tmp_path_factory.mktemp("encoder")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(6)
        BertModel(tiny_config()).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def vector_file(tmp_path_factory):
    """Three groups of near words in three dimensions."""
    rows = {
        "film": "1 0 0.1",
        "movie": "1 0.05 0.1",
        "movies": "1 0.1 0.1",
        "good": "0 1 0",
        "great": "0.05 1 0",
        "fine": "0.1 1 0",
        "bad": "0 0.9 0.3",
        "music": "0 0 1",
        "song": "0 0.05 1",
        "tune": "0.05 0.05 1",
    }
    file = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    file.write_text("".join(f"{word} {numbers}\n" for word, numbers in rows.items()), encoding="utf-8")
    return str(file)
