import json
import os
import subprocess
import sys
import warnings

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

import ticketlab.auto
from ticketlab.backbone.adapters import adapter_of
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.families import Bert
from ticketlab.backbone.loading import load_classifier, load_finished, load_tokenizer, save
from ticketlab.backbone.shrinking import is_shrunk, masks_of, shrink, unshrink
from ticketlab.backbone.shrunk_models import pack_mask, register, shrunk_class, unpack_mask
from ticketlab.core import registry
from ticketlab.core.errors import UsageError
from ticketlab.core.hookspecs import hookimpl
from ticketlab.core.plugin_loading import Source

LABELS = ("negative", "positive")
TEXTS = ["a great movie", "bad"]
READ = """
import sys, torch
from transformers import AutoModelForSequenceClassification
try:
    AutoModelForSequenceClassification.from_pretrained(sys.argv[1])
except ValueError as problem:
    print("ticketlab-bert" in str(problem))
import ticketlab.auto
for folder in sys.argv[1:]:
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.inference_mode():
        print(*model(input_ids=torch.tensor([[2, 40, 50, 60, 3]])).logits.flatten().tolist())
"""
OTHER_PYTHON = pytest.param(
    os.environ.get("TICKETLAB_OTHER_PYTHON"),
    id="other transformers",
    marks=pytest.mark.skipif(
        "TICKETLAB_OTHER_PYTHON" not in os.environ, reason="TICKETLAB_OTHER_PYTHON names no Python with the other transformers"
    ),
)


def some_masks(model, empty=("heads/1", "neurons/0")):
    generator = torch.Generator().manual_seed(0)
    units = {name: shape for name, shape in Backbone(model).units().items() if not name.startswith("weights/")}
    return {name: (torch.rand(shape, generator=generator) > 0.5) & (name not in empty) for name, shape in units.items()}


@pytest.fixture
def small(model):
    return shrink(model, some_masks(model))


@pytest.fixture
def saved(small, folder, tmp_path):
    return save(small, load_tokenizer(str(folder)), tmp_path / "small")


@pytest.fixture
def saved_bert(bert, tiny, tmp_path):
    return save(shrink(bert, some_masks(bert)), load_tokenizer(str(tiny["bert"])), tmp_path / "small")


def logits(model):
    with torch.inference_mode():
        return model(input_ids=torch.tensor([[2, 40, 50, 60, 3]])).logits


def same_weights(one, other):
    mine, theirs = one.state_dict(), other.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(tensor, theirs[name]) for name, tensor in mine.items())


def test_a_saved_shrunk_classifier_loads_exactly(small, saved, folder):
    finished, tokenizer, names = load_finished(str(saved))
    start, _ = load_classifier(str(saved), LABELS, 9)
    assert names == LABELS
    assert tokenizer(TEXTS)["input_ids"] == load_tokenizer(str(folder))(TEXTS)["input_ids"]
    for model in (finished, start):
        assert type(model) is type(small)
        assert same_weights(model, small)
        torch.testing.assert_close(logits(model), logits(small), rtol=0, atol=1e-6)  # rounding may depend on the memory layout
        assert {name: mask.tolist() for name, mask in masks_of(model).items()} == {name: m.tolist() for name, m in masks_of(small).items()}
        assert not model.training


def test_a_shrunk_encoder_starts_a_training_with_a_seeded_head_and_no_warning(model, folder, tmp_path):
    encoder = shrink(AutoModel.from_pretrained(folder), some_masks(model))
    written = save(encoder, load_tokenizer(str(folder)), tmp_path / "encoder")
    state = torch.get_rng_state()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        (one, _), (same, _), (other, _) = (load_classifier(str(written), ("no", "maybe", "yes"), seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert same_weights(one, same)
    assert not same_weights(one, other)
    assert Backbone(one).weights_hash() == Backbone(other).weights_hash() == Backbone(encoder).weights_hash()
    assert is_shrunk(one)


def test_the_folder_holds_only_safetensors_and_json_with_short_masks(saved_bert):
    assert {file.suffix for file in saved_bert.iterdir()} <= {".json", ".safetensors", ".txt"}
    config = json.loads((saved_bert / "config.json").read_text())
    assert config["model_type"] == "ticketlab-bert"
    assert (config["num_attention_heads"], config["intermediate_size"]) == (4, 64)
    assert [len(line) for line in config["kept_heads"] + config["kept_neurons"]] == [2, 2, 16, 16]
    assert not config.get("pruned_heads")


@pytest.mark.parametrize("python", [pytest.param(sys.executable, id="fresh process", marks=pytest.mark.system), OTHER_PYTHON])
def test_plain_transformers_refuses_a_shrunk_model_and_loads_it_after_one_import(tiny, tmp_path, python):
    expected = []
    for family in ("bert", "distilbert"):
        model = load_classifier(str(tiny[family]), LABELS, 0)[0]
        small = shrink(model, some_masks(model))
        save(small, load_tokenizer(str(tiny[family])), tmp_path / family)
        expected.append(logits(small)[0])
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    command = [python, "-c", READ, tmp_path / "bert", tmp_path / "distilbert"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    refused, *read = done.stdout.splitlines()
    assert refused == "True"
    found = [torch.tensor([float(number) for number in line.split()]) for line in read]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_the_class_of_the_full_model_refuses_a_shrunk_one(saved_bert, bert):
    with pytest.raises((RuntimeError, ValueError)):
        type(bert).from_pretrained(saved_bert)


def test_plain_transformers_loads_an_unshrunk_model(saved, model, tmp_path):
    finished, tokenizer, _ = load_finished(str(saved))
    written = save(unshrink(finished), tokenizer, tmp_path / "full")
    plain = type(model).from_pretrained(written)
    torch.testing.assert_close(logits(plain), logits(finished), rtol=0, atol=1e-5)
    config, original = plain.config.to_dict(), model.config.to_dict()
    changing = {"architectures", "_name_or_path", "transformers_version", "dtype", "torch_dtype"}
    assert {key: config[key] for key in config.keys() - changing} == {key: original[key] for key in original.keys() - changing}


def test_a_shrunk_checkpoint_that_lacks_a_weight_is_refused(saved_bert):
    state = load_file(saved_bert / "model.safetensors")
    del state["bert.encoder.layer.1.attention.self.query.weight"]  # it is empty, and still reported as missing
    save_file(state, saved_bert / "model.safetensors", metadata={"format": "pt"})
    for load in (lambda: load_finished(str(saved_bert)), lambda: load_classifier(str(saved_bert), LABELS, 0)):
        with pytest.raises(UsageError, match=r"1 weight is missing \(`bert.encoder.layer.1.attention.self.query.weight`\)"):
            load()


@pytest.mark.parametrize(
    "change",
    [
        {"kept_heads": None},
        {"kept_heads": ["f0"]},
        {"kept_heads": ["f0", "f8"]},
        {"kept_neurons": ["f0", "f0"]},
        {"kept_neurons": ["zz", "00"]},
        {"kept_neurons": 3},
    ],
    ids=["none", "too few layers", "a fifth head", "too few neurons", "no digits", "a number"],
)
def test_a_damaged_mask_in_the_config_is_a_one_line_error(saved_bert, change):
    config = json.loads((saved_bert / "config.json").read_text()) | change
    (saved_bert / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=f"`{next(iter(change))}` in the shrunk model's config.json is damaged") as caught:
        load_finished(str(saved_bert))
    assert "\n" not in str(caught.value)


def test_masks_that_do_not_match_the_weights_are_refused(saved_bert):
    config = json.loads((saved_bert / "config.json").read_text()) | {"kept_heads": ["f0", "f0"]}
    (saved_bert / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=r"dense.weight` has the shape 32 x 8 in the checkpoint, but 32 x 32"):
        load_finished(str(saved_bert))


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 3072])
def test_unpacking_a_packed_mask_returns_it(count):
    mask = torch.rand(count) > 0.5
    assert torch.equal(unpack_mask(pack_mask(mask), count), mask)
    assert len(pack_mask(mask)) == 2 * -(-count // 8)
    assert unpack_mask(pack_mask(mask), count).dtype == torch.bool


def test_registering_again_changes_nothing(bert):
    before = AutoConfig.for_model("ticketlab-bert").__class__
    for model_type in (*ticketlab.auto.model_types(), "bert", "a-type-that-nobody-knows"):
        register(model_type)
    assert AutoConfig.for_model("ticketlab-bert").__class__ is before
    assert shrunk_class(type(bert)) is shrunk_class(shrunk_class(type(bert)))


def test_shrunk_models_have_the_adapter_of_their_family():
    assert adapter_of("ticketlab-distilbert") == adapter_of("distilbert")
    with pytest.raises(UsageError, match="model type `t5`"):
        adapter_of("ticketlab-t5")


class _Plugin:
    @hookimpl
    def ticketlab_backbones(self):
        class MegatronBert(Bert):
            name = "megatron"
            summary = "a family of somebody else's"
            model_types = ("megatron-bert",)

        return [MegatronBert]


def test_a_model_of_a_plugins_family_can_be_shrunk_and_loaded(tiny, tmp_path):
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 454}
    with registry.using(registry.load(entry_points=False)) as current:
        current.register(_Plugin(), Source("test", "0"))
        model = AutoModelForSequenceClassification.from_config(AutoConfig.for_model("megatron-bert", **sizes)).eval()
        small = shrink(model, {"heads/0": torch.tensor([True, False, False, True])})
        again, _, _ = load_finished(str(save(small, load_tokenizer(str(tiny["bert"])), tmp_path / "small")))
        assert torch.equal(logits(again), logits(small))
