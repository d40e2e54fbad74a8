"""Every fault of a model's folder is a one-line error that names it, with every loader."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from ticketlab.backbone.classifier_head import load_head, put_head
from ticketlab.backbone.loading import load_classifier, load_encoder, load_finished, load_mlm, load_tokenizer, resolve_model, save
from ticketlab.core.errors import TicketlabError, UsageError

LABELS = ("negative", "positive")
QUERY = "bert.encoder.layer.0.attention.self.query.weight"
DEEP = b"[" * 100_000 + b"]" * 100_000
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:1234\nsize 99\n"


@pytest.fixture(scope="module")
def good(tiny, tmp_path_factory):
    model, tokenizer = load_classifier(str(tiny["bert"]), LABELS, 0)
    return save(model, tokenizer, tmp_path_factory.mktemp("good") / "model")


@pytest.fixture
def model(good, tmp_path):
    return shutil.copytree(good, tmp_path / "model")


def table(name, **values):
    def change(folder):
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def config(**values):
    return table("config.json", **values)


def settings(**values):
    return table("tokenizer_config.json", **values)


def weights(change):
    def damage(folder):
        path = folder / "model.safetensors"
        save_file(change(load_file(path)), path, metadata={"format": "pt"})

    return damage


def write(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def renamed(name, to):
    return lambda folder: (folder / name).rename(folder / to)


def without(*names):
    return lambda folder: [(folder / name).unlink(missing_ok=True) for name in names]


def in_turn(*changes):
    return lambda folder: [change(folder) for change in changes]


def sharded(folder):
    state = load_file(folder / "model.safetensors")
    places = {key: f"model-0000{1 + (number % 2)}-of-00002.safetensors" for number, key in enumerate(sorted(state))}
    for file in set(places.values()):
        save_file({key: state[key] for key, place in places.items() if place == file}, folder / file, metadata={"format": "pt"})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))
    (folder / "model.safetensors").unlink()


def header(content):
    return write("model.safetensors", len(content).to_bytes(8, "little") + content)


def no_padding(folder):
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        if (folder / file).is_file():
            found = json.loads((folder / file).read_text())
            found.pop("pad_token", None)
            (folder / file).write_text(json.dumps(found))


def no_unknown(folder):
    found = json.loads((folder / "tokenizer.json").read_text())
    found["model"]["vocab"] = {("[GONE]" if token == "[UNK]" else token): number for token, number in found["model"]["vocab"].items()}
    found["added_tokens"] = [token for token in found["added_tokens"] if token["content"] != "[UNK]"]
    (folder / "tokenizer.json").write_text(json.dumps(found))
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        if (folder / file).is_file():
            left = {
                key: value
                for key, value in json.loads((folder / file).read_text()).items()
                if key not in ("unk_token", "added_tokens_decoder")
            }
            (folder / file).write_text(json.dumps(left))


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        pytest.param(config(id2label={"0": "neg", "2": "pos"}), "`id2label` has a gap: it names 0, 2, but not output 1", id="gap"),
        pytest.param(config(id2label={"0": "pos", "1": "pos"}), "two outputs are called `pos`", id="a name twice"),
        pytest.param(
            config(id2label={"0": "neg"}), "not a classifier with one label per text: it predicts a score .*, 1 output\\)", id="fewer names"
        ),
        pytest.param(config(id2label={"0": "neg", "1": None}), "no name for output 1", id="no name"),
        pytest.param(config(id2label={"neg": 0, "pos": 1}), "must map the numbers of the outputs", id="names for numbers"),
        pytest.param(config(id2label={}), "names no label", id="no names"),
        pytest.param(config(problem_type="multi_label_classification"), "predicts each label independently", id="several labels"),
        pytest.param(config(label2id={"negative": 1, "positive": 0}), "contradicts itself: `negative` is output 0", id="two orders"),
        pytest.param(config(architectures=5), "`architectures` must be a list of class names, not 5", id="architectures a number"),
        pytest.param(config(model_type=None), "has no `model_type`", id="no family"),
        pytest.param(config(model_type="bertt"), "has no model type `bertt`; did you mean `bert`", id="a family misspelt"),
        pytest.param(config(model_type="own", auto_map={"AutoModel": "own.Model"}), "which is never run", id="foreign code"),
        pytest.param(config(hidden_dropout_prob=float("nan")), "`hidden_dropout_prob` must be .* from 0 to 1, not nan", id="dropout nan"),
        pytest.param(config(classifier_dropout=-0.1), "`classifier_dropout` must be a number from 0 to 1", id="dropout negative"),
        pytest.param(config(layer_norm_eps=float("nan")), "`layer_norm_eps` must be a number, not nan", id="epsilon nan"),
        pytest.param(config(num_hidden_layers="two"), "`num_hidden_layers` must be a valid whole number", id="layers in words"),
        pytest.param(config(vocab_size=10**12), "`vocab_size` must be a valid whole number", id="a huge vocabulary"),
        pytest.param(
            config(max_position_embeddings=16), "position_embeddings.weight` has the shape 128 x 32 .* 16 x 32", id="fewer places"
        ),
        pytest.param(config(quantization_config={"load_in_8bit": True}), "quantised", id="quantised"),
        pytest.param(
            write("config.json", b'{"model_type": "bert", "x": ' + DEEP + b"}"), "config.json is nested too deeply", id="deep config"
        ),
        pytest.param(write("config.json", b"\xff\xfe{"), "config.json is not valid JSON", id="config not text"),
        pytest.param(write("config.json", LFS), "config.json is a Git LFS pointer", id="config a pointer"),
        pytest.param(header(b'{"__metadata__": ' + DEEP + b"}"), "model.safetensors is damaged", id="deep header"),
        pytest.param(write("model.safetensors", (2**62).to_bytes(8, "little")), "model.safetensors is damaged", id="huge header"),
        pytest.param(write("model.safetensors", LFS), "model.safetensors is a Git LFS pointer", id="weights a pointer"),
        pytest.param(weights(lambda s: {k: v for k, v in s.items() if k != QUERY}), rf"1 weight is missing \(`{QUERY}`\)", id="missing"),
        pytest.param(weights(lambda s: s | {QUERY: s[QUERY][:3].clone()}), f"`{QUERY}` has the shape 3 x 32", id="reshaped"),
        pytest.param(weights(lambda s: s | {QUERY: s[QUERY].to(torch.int8)}), f"`{QUERY}` is stored as I8", id="whole numbers"),
        pytest.param(weights(lambda s: s | {QUERY: s[QUERY] * torch.nan}), f"`{QUERY}` are not all finite", id="not finite"),
        pytest.param(renamed("model.safetensors", "pytorch_model.bin"), "pickled", id="pickled"),
        pytest.param(renamed("model.safetensors", "pytorch_model-00001-of-00002.bin"), "pickled", id="pickled shards"),
        pytest.param(renamed("model.safetensors", "tf_model.h5"), "TensorFlow's .`tf_model.h5`.; .*from_tf=True", id="TensorFlow"),
        pytest.param(renamed("model.safetensors", "model.onnx"), "onnxruntime", id="ONNX"),
        pytest.param(without("model.safetensors"), "has no weights .model.safetensors", id="no weights"),
        pytest.param(
            in_turn(sharded, without("model-00002-of-00002.safetensors")),
            "1 of 2 files of its weights are missing, the first is model-00002",
            id="shard",
        ),
        pytest.param(in_turn(sharded, write("model.safetensors.index.json", b"{}")), "`weight_map`", id="index without a map"),
        pytest.param(settings(model_max_length=0), "`model_max_length` must be a number of tokens, not 0", id="no room"),
        pytest.param(settings(model_max_length="512"), "`model_max_length` must be a number of tokens, not '512'", id="room in words"),
        pytest.param(
            write("tokenizer_config.json", b'{"a": ' + DEEP + b"}"), "tokenizer_config.json is nested too deeply", id="deep settings"
        ),
        pytest.param(write("tokenizer.json", DEEP), "cannot be loaded", id="deep tokenizer"),
        pytest.param(write("tokenizer.json", LFS), "tokenizer.json is a Git LFS pointer", id="tokenizer a pointer"),
        pytest.param(no_padding, "no padding token", id="no padding token"),
        pytest.param(no_unknown, "fails on characters that its vocabulary lacks", id="no unknown token"),
        pytest.param(settings(pad_token="<nope>"), "the tokenizer has 455 tokens and the model 454", id="a token too many"),
    ],
)
def test_a_damaged_model_is_a_one_line_error(model, damage, expected):
    damage(model)
    with pytest.raises(TicketlabError, match=expected) as caught:
        load_finished(str(model))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(model))


def test_weights_in_several_files_are_read(model, good):
    sharded(model)
    found, whole = load_finished(str(model))[0].state_dict(), load_finished(str(good))[0].state_dict()
    assert all(torch.equal(found[key], value) for key, value in whole.items())


@pytest.mark.parametrize("load", [lambda name: load_classifier(name, LABELS, 0), load_encoder, lambda name: load_mlm(name, 0)])
@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (weights(lambda s: s | {QUERY: s[QUERY] * torch.inf}), "are not all finite"),
        (weights(lambda s: s | {QUERY: s[QUERY][:3].clone()}), "has the shape 3 x 32"),
        (config(attention_probs_dropout_prob=float("nan")), "attention_probs_dropout_prob"),
    ],
)
def test_a_damaged_model_is_refused_by_every_loader(model, load, damage, expected):
    damage(model)
    with pytest.raises(TicketlabError, match=expected):
        load(str(model))


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (
            weights(lambda s: s | {"own_head.weight": s[QUERY].clone()}),
            "1 weight that `BertForSequenceClassification` does not use, such as `own_head",
        ),
        (config(auto_map={"AutoModelForSequenceClassification": "own.Model"}), "loaded as the `bert` of transformers"),
    ],
)
def test_unused_weights_and_custom_code_are_a_warning(model, damage, expected):
    damage(model)
    told = []
    load_finished(str(model), told.append)
    assert len(told) == 1
    assert expected in told[0]


def test_custom_code_of_a_tokenizer_is_never_run(model, tmp_path):
    settings(tokenizer_class="Own", auto_map={"AutoTokenizer": ["own.Own", "own.Own"]})(model)
    (model / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    told = []
    try:
        load_finished(str(model), told.append)
    except UsageError as problem:  # some versions of transformers load no tokenizer of an unknown class
        told.append(str(problem))
    assert any("custom code" in line and "which is never run" in line for line in told)
    assert not (tmp_path / "ran").exists()


def test_starting_from_a_classifier_with_unnamed_labels_is_a_warning(model):
    config(id2label={"0": "LABEL_0", "1": "LABEL_1"}, label2id={"LABEL_0": 0, "LABEL_1": 1})(model)
    told = []
    load_classifier(str(model), LABELS, 0, told.append)
    assert len(told) == 1
    assert "(LABEL_0, LABEL_1): they are assumed to be negative, positive, in this order" in told[0]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["results.json"], "the folder of a run"),
        (["ticket.safetensors"], "it holds a ticket; .*`ticketlab ticket apply"),
        (["scores.safetensors"], "the scores of a search"),
        (["runs/a/results.json", "stages/x"], "it is a lab; use one of the runs"),
        (["checkpoint-5/config.json", "checkpoint-9/config.json"], "there are models in its folders checkpoint-5, checkpoint-9"),
        (["adapter_config.json", "adapter_model.safetensors"], "an adapter .LoRA., .*merge_and_unload"),
        (["model.Q4_K.gguf"], "llama.cpp"),
    ],
)
def test_a_folder_that_is_not_a_model_is_explained(tmp_path, files, expected):
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    with pytest.raises(UsageError, match=f"no config.json, so it is not a model; .*{expected}"):
        resolve_model(str(tmp_path))


def test_segment_ids_are_not_passed_to_a_model_without_segments(tiny, tmp_path):
    folder = shutil.copytree(tiny["distilbert"], tmp_path / "model")
    settings(model_input_names=["input_ids", "token_type_ids", "attention_mask"])(folder)
    model, tokenizer = load_classifier(str(folder), LABELS, 0)
    assert "token_type_ids" not in tokenizer("a", "b")
    assert model(**tokenizer("a", "b", return_tensors="pt")).logits.shape == (1, 2)


def test_the_maximum_length_of_a_tokenizer_is_limited_to_that_of_its_model(model):
    settings(model_max_length=1e30)(model)
    assert load_tokenizer(str(model)).model_max_length == 128


@pytest.mark.parametrize("labels", [DEEP.decode(), '"ab"', "[1, 2]", "{"])
def test_a_saved_head_with_damaged_labels_is_a_one_line_error(tmp_path, labels):
    save_file({"classifier.bias": torch.zeros(2)}, tmp_path / "head.safetensors", metadata={"labels": labels})
    with pytest.raises(UsageError, match="not the head of a classifier, or damaged"):
        load_head(tmp_path / "head.safetensors")


@pytest.mark.parametrize("head", [{"classifier.bias": torch.zeros(1)}, {"own.bias": torch.zeros(2)}])
def test_a_head_of_another_shape_is_refused(good, head):
    with pytest.raises(UsageError, match="does not fit this model"):
        put_head(load_finished(str(good))[0], head)
