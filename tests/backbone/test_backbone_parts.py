import copy

import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, BertConfig, BertModel

from ticketlab.backbone.adapters import Adapter, adapter_for, adapter_of
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.families import Bert
from ticketlab.backbone.loading import load_classifier
from ticketlab.backbone.masks import attach_mask, expand
from ticketlab.core import registry
from ticketlab.core.errors import UsageError
from ticketlab.core.hookspecs import hookimpl
from ticketlab.core.plugin_loading import Source


@pytest.fixture(scope="module")
def bert_base():
    with torch.device("meta"):
        return Backbone(BertModel(BertConfig()))


def test_bert_base_has_the_papers_counts(bert_base):
    def elements(units):
        return sum(out * into for name, (out, into) in ((n, s) for n, s in units.items() if n.startswith("weights/")))

    assert elements(bert_base.units()) == 84_934_656
    assert elements(bert_base.units(pooler=True)) == 85_524_480
    assert sum(shape[0] for name, shape in bert_base.units().items() if name.startswith("heads/")) == 144
    assert sum(shape[0] for name, shape in bert_base.units().items() if name.startswith("neurons/")) == 36_864


@pytest.mark.parametrize(("unit", "size", "parameters"), [("heads/0", 12, 196_800), ("neurons/3", 3072, 1_537)], ids=["head", "neuron"])
def test_one_bert_base_unit_takes_the_papers_number_of_parameters_with_it(bert_base, unit, size, parameters):
    mask = torch.ones(size, dtype=torch.bool)
    mask[size // 2] = False
    assert sum(int((~kept).sum()) for kept in expand(bert_base, {unit: mask}).values()) == parameters


def test_every_family_has_its_matrices_heads_and_neurons(model):
    backbone = Backbone(model)
    units = backbone.units()
    groups = [name.partition("/")[0] for name in units]
    matrices = 8 if backbone.adapter.name in ("gpt2", "modernbert") else 12  # queries, keys and values are one matrix there
    assert (groups.count("weights"), groups.count("heads"), groups.count("neurons")) == (matrices, 2, 2)
    assert (units["heads/0"], units["neurons/1"]) == ((4,), (64,))
    for name, shape in units.items():
        if name.startswith("weights/"):
            assert tuple(backbone.weight(name).shape) == shape
            assert backbone.module(name).weight is backbone.weight(name)
            assert backbone.weight(name) is dict(backbone.base.named_parameters())[name.removeprefix("weights/")]


def test_a_model_runs_at_its_max_length_and_not_beyond(model):
    backbone = Backbone(model)
    with torch.inference_mode():
        model(input_ids=torch.full((1, backbone.max_length), 40))
        if backbone.adapter.name == "modernbert":
            return  # rotary positions have no end; the model was trained up to this length
        with pytest.raises((IndexError, RuntimeError, ValueError)):
            model(input_ids=torch.full((1, backbone.max_length + 1), 40))


@pytest.mark.parametrize(
    ("family", "pooler", "classifier"),
    [
        ("bert", ["pooler.dense"], ["classifier"]),
        ("roberta", [], ["classifier.dense", "classifier.out_proj"]),
        ("electra", [], ["classifier.dense", "classifier.out_proj"]),
        ("distilbert", ["pre_classifier"], ["classifier"]),
        ("deberta-v2", ["pooler.dense"], ["classifier"]),
        ("mpnet", [], ["classifier.dense", "classifier.out_proj"]),
        ("albert", ["pooler"], ["classifier"]),
        ("modernbert", [], ["head.dense", "classifier"]),
        ("gpt2", [], ["score"]),
    ],
)
def test_pooler_and_classifier_of_each_family(tiny, family, pooler, classifier):
    backbone = Backbone(load_classifier(str(tiny[family]), ("no", "yes", "maybe"), 0)[0])
    encoder = backbone.units().keys()
    assert [*(backbone.units(pooler=True).keys() - encoder)] == [f"weights/{path}.weight" for path in pooler]
    assert [name for name in backbone.units(classifier=True) if name not in encoder] == [f"weights/{path}.weight" for path in classifier]
    units = backbone.units(pooler=True, classifier=True)
    assert all(backbone.weight(name).shape == units[name] for name in units if name.startswith("weights/"))
    assert units[f"weights/{classifier[-1]}.weight"] == (3, 32)


def test_other_widths_change_the_fingerprint():
    def fingerprint(**sizes):
        config = BertConfig(**({"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64} | sizes))
        with torch.device("meta"):
            return Backbone(BertModel(config)).fingerprint()

    assert (
        len({fingerprint(), fingerprint(intermediate_size=65), fingerprint(num_hidden_layers=2), fingerprint(num_attention_heads=2)}) == 4
    )


def test_the_weights_hash_follows_the_encoder_only(bert):
    backbone = Backbone(bert)
    before = backbone.weights_hash()
    with torch.no_grad():
        bert.classifier.weight.add_(1)
        backbone.base.pooler.dense.weight.add_(1)
    assert backbone.weights_hash() == before
    attach_mask(backbone.layers[0].query)
    assert backbone.weights_hash() == before
    with torch.no_grad():
        backbone.word_embeddings.weight[7, 7] += 1
    assert backbone.weights_hash() != before


def test_the_backbone_of_a_copy_returns_the_copys_weights(bert):
    name = "weights/encoder.layer.0.attention.self.query.weight"
    assert Backbone(copy.deepcopy(bert)).weight(name) is not Backbone(bert).weight(name)


@pytest.mark.parametrize("model_type", ["xlm-roberta", "camembert"])
def test_the_families_built_on_roberta_are_supported(model_type):
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 50}
    with torch.device("meta"):
        backbone = Backbone(AutoModelForSequenceClassification.from_config(AutoConfig.for_model(model_type, **sizes)))
    assert len(backbone.units()) == 8


def test_an_unknown_family_is_refused_with_the_list_of_supported_ones():
    with pytest.raises(
        UsageError,
        match="`t5`; supported are albert, bert, camembert, deberta-v2, distilbert, electra, gpt2, modernbert, mpnet, roberta, xlm",
    ) as caught:
        adapter_of("t5")
    assert "\n" not in str(caught.value)


class _Plugin:
    @hookimpl
    def ticketlab_backbones(self):
        class Ours(Bert):
            name = "ours"
            summary = "ours"
            model_types = ("ours-bert",)

        class Misnamed(Bert):
            name = "misnamed"
            summary = "names a module that is not there"
            model_types = ("misnamed-bert",)
            query = "attention.self.kwery"

        return [Ours, Misnamed]


def test_a_plugin_can_add_a_family_and_an_error_names_a_wrong_path(bert):
    with registry.using(registry.load(entry_points=False)) as current:
        current.register(_Plugin(), Source("test", "0"))
        bert.config.model_type = "ours-bert"
        assert isinstance(adapter_for(bert), Adapter)
        assert len(Backbone(bert).units()) == 16
        bert.config.model_type = "misnamed-bert"
        with pytest.raises(UsageError, match=r"the adapter `misnamed` of test .* names `encoder.layer.0.attention.self.kwery`, .* no such"):
            Backbone(bert)


def test_heads_that_share_keys_are_refused(bert):
    attention = bert.base_model.encoder.layer[1].attention.self
    attention.key = torch.nn.Linear(32, 16)
    with pytest.raises(
        UsageError, match=r"`encoder.layer.1.attention.self.key` has 16 outputs, and .* reads 4 heads of width 8: .*grouped queries"
    ):
        Backbone(bert)
