"""Classifiers of families without an adapter are evaluated and attacked like others; a search refuses them."""

from __future__ import annotations

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier, load_finished, load_mlm
from ticketlab.core.errors import UsageError
from ticketlab.export.model import export_model
from ticketlab.inference.victim import Victim
from ticketlab.resources.textattack_import import installed
from ticketlab.tasks.base import Example
from ticketlab.training.batch import tokenize
from ticketlab.training.evaluation import predict

NAMES = ("negative", "positive")
END, PADDING = "<|end|>", "<pad>"
LETTERS = [*sorted(pre_tokenizers.ByteLevel.alphabet()), END, PADDING]
SIZE = {"vocab_size": len(LETTERS), "id2label": dict(enumerate(NAMES)), "label2id": {name: number for number, name in enumerate(NAMES)}}
NUMBERS = {"eos_token_id": LETTERS.index(END), "bos_token_id": LETTERS.index(END)}
GPT2 = {"n_layer": 2, "n_embd": 32, "n_head": 2, "n_positions": 128}
LLAMA = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 128}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "pad_token_id": LETTERS.index(PADDING)}
BART = {"d_model": 32, "max_position_embeddings": 128, "pad_token_id": LETTERS.index(PADDING)}
EACH = {"layers": 1, "attention_heads": 2, "ffn_dim": 64}
BART |= {f"{part}_{name}": size for part in ("encoder", "decoder") for name, size in EACH.items()}
FAMILIES = {
    "gpt2 without padding": ("GPT2", GPT2, False),
    "gpt2 that pads with the end": ("GPT2", GPT2 | {"pad_token_id": LETTERS.index(END)}, False),
    "gpt1, whose bits depend on the place in a batch": ("OpenAIGPT", GPT2, False),
    "llama": ("Llama", LLAMA | {"pad_token_id": None}, False),
    "neox": ("GPTNeoX", LLAMA, False),
    "t5": ("T5", T5 | {"decoder_start_token_id": LETTERS.index(PADDING)}, True),
    "bart": ("Bart", BART, True),
    "xlnet": ("XLNet", {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 64, "pad_token_id": LETTERS.index(PADDING)}, True),
}
TEXTS = ["the film was good", "a dull plot", "", "bad", f"the {END} of it", "it was not a very good film, and not bad", "the actor is bad"]


def tokenizer_of(ends):
    made = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(LETTERS)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_special_tokens([END, PADDING])
    if ends:
        made.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, LETTERS.index(END))])
    padding = {"pad_token": PADDING} if ends else {}
    named = {"bos_token": END, "eos_token": END, "unk_token": END, **padding}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_input_names=["input_ids", "attention_mask"], **named)


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request, tmp_path_factory):
    family, sizes, ends = FAMILIES[request.param]
    config = getattr(transformers, f"{family}Config")(**sizes, **SIZE, **NUMBERS)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model = getattr(transformers, f"{family}ForSequenceClassification")(config)
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(6)  # so that answers differ between texts
    place = tmp_path_factory.mktemp("any") / "model"
    model.save_pretrained(place)
    tokenizer_of(ends).save_pretrained(place)
    return str(place)


@pytest.fixture(scope="module")
def loaded(folder):
    return load_finished(folder)


@torch.inference_mode()
def by_transformers(folder, texts):
    """Return the logits of each text alone; a text without tokens is replaced by the end token."""
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return torch.cat([model(**tokenizer(text if tokenizer(text)["input_ids"] else END, return_tensors="pt")).logits for text in texts])


def test_evaluation_and_attacks_use_the_logits_of_each_text_alone(folder, loaded):
    model, tokenizer, names = loaded
    assert names == NAMES
    expected = by_transformers(folder, TEXTS)
    rows = tokenize([Example(str(number), (text,), 0) for number, text in enumerate(TEXTS)], tokenizer, 64)
    victim = Victim(model, tokenizer, names, max_length=64)
    together, alone = victim(TEXTS), torch.cat([victim([text]) for text in TEXTS])
    torch.testing.assert_close(predict(model, rows, batch_size=4), expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(together, expected, atol=1e-5, rtol=1e-4)
    assert torch.equal(together, alone)
    assert expected.std() > 0.01


@pytest.mark.skipif(not installed(), reason="textattack is not installed")
@pytest.mark.parametrize("folder", ["gpt2 without padding", "t5"], indirect=True)
def test_records_do_not_depend_on_the_number_in_flight(loaded):
    model, tokenizer, names = loaded
    victim = Victim(model, tokenizer, names, max_length=64)
    labels = victim(TEXTS).argmax(1).tolist()
    examples = [
        Example(str(number), (text,), label) for number, (text, label) in enumerate(zip(TEXTS, labels, strict=True)) if 0 < len(text) < 20
    ]

    def records(in_flight):
        file = RecordFile(None, "test")
        more = {"columns": ("text",), "label_names": names, "records": file, "seed": 1, "in_flight": in_flight}
        return run_attack(DeepWordBug(query_budget=30), victim, examples, **more)

    many = records(16)
    assert records(1) == many
    assert {record.status for record in many} <= {"success", "failed"}


def test_a_model_that_computes_with_random_numbers_is_refused(tmp_path):
    chunks = {"feed_forward_size": 32, "local_attn_chunk_length": 8, "lsh_attn_chunk_length": 8, "is_decoder": False}
    sizes = {"hidden_size": 16, "attention_head_size": 8, "num_attention_heads": 2, "attn_layers": ["lsh"], "axial_pos_embds": False}
    config = transformers.ReformerConfig(**sizes, **chunks, **SIZE, num_buckets=4, max_position_embeddings=64, initializer_range=1.0)
    transformers.ReformerForSequenceClassification(config).save_pretrained(tmp_path)
    tokenizer_of(ends=True).save_pretrained(tmp_path)
    with pytest.raises(UsageError, match="`ReformerForSequenceClassification` computes with random numbers: for the same text it returned"):
        load_finished(str(tmp_path))


def test_stages_that_need_heads_and_neurons_refuse_the_model(folder, loaded, tmp_path):
    model, tokenizer, _ = loaded
    if model.config.model_type == "gpt2":
        assert Backbone(load_classifier(folder, NAMES, 0)[0]).num_heads == 2
        return
    for refuses in (
        lambda: load_classifier(folder, NAMES, 0),
        lambda: load_mlm(folder, 0),
        lambda: export_model(model, tokenizer, tmp_path / "out"),
    ):
        with pytest.raises(UsageError, match=f"no backbone adapter supports the model type `{model.config.model_type}`"):
            refuses()


@pytest.mark.parametrize("folder", ["t5"], indirect=True)  # it reads a text at its end
def test_a_model_that_fails_on_every_text_is_reported_in_one_line(loaded, tmp_path):
    model, _, _ = loaded
    model.save_pretrained(tmp_path / "model")
    tokenizer_of(ends=False).save_pretrained(tmp_path / "model")
    with pytest.raises(UsageError, match="`T5ForSequenceClassification` fails on a text"):
        load_finished(str(tmp_path / "model"))
