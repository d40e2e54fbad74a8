import copy
import functools

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.families import FAMILIES
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification

import ticketlab.auto  # noqa: F401  (lets transformers load what the tests save)
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.families import Bert
from ticketlab.backbone.masks import attach_mask, expand, zero_removed
from ticketlab.backbone.shrinking import is_shrunk, masks_of, shrink, unshrink
from ticketlab.core import registry
from ticketlab.core.errors import UsageError
from ticketlab.core.hookspecs import hookimpl
from ticketlab.core.plugin_loading import Source

VARIANTS = [*FAMILIES, "deberta-v2 that shares keys"]
NO_DROPOUT = (
    *("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout", "seq_classif_dropout", "classifier_dropout"),
    *("classifier_dropout_prob", "mlp_dropout", "embedding_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop"),
)
WIDTH, VOCABULARY = 24, 60
IDS = torch.tensor([[2, 40, 50, 8, 3], [2, 7, 3, 0, 0]])
INPUTS = {"input_ids": IDS, "attention_mask": (IDS != 0).long(), "labels": torch.tensor([0, 1])}


@functools.cache
def random_model(variant, attention="eager", heads=4, neurons=10, auto=AutoModelForSequenceClassification):
    """A model without dropout in which every weight and bias affects the output."""
    family, _, shares = variant.partition(" ")
    sizes = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": heads, "intermediate_size": neurons}
    if family == "distilbert":
        sizes = {"dim": WIDTH, "n_layers": 2, "n_heads": heads, "hidden_dim": neurons}
    elif family == "deberta-v2":
        sizes |= {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 4, "share_att_key": bool(shares)}
    elif family == "albert":
        sizes |= {"num_hidden_layers": 4, "num_hidden_groups": 2, "embedding_size": 12}
    elif family == "modernbert":
        sizes |= {
            "local_attention": 4,
            "global_attn_every_n_layers": 2,
            "mlp_bias": True,
            "attention_bias": True,
            "reference_compile": False,
        }
    elif family == "gpt2":
        sizes = {"n_embd": WIDTH, "n_layer": 2, "n_head": heads, "n_inner": neurons}
    dropout = dict.fromkeys(NO_DROPOUT, 0.0)
    config = AutoConfig.for_model(family, vocab_size=VOCABULARY, max_position_embeddings=40, pad_token_id=0, **sizes, **dropout)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        try:
            model = auto.from_config(config, attn_implementation=attention)
        except ValueError:
            pytest.skip(f"{variant} has no {attention} attention here")
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(0, 0.3)
            for module in model.modules():
                if isinstance(module, torch.nn.LayerNorm):
                    module.weight += 1
    return model.eval()


@st.composite
def masks_for(draw, model):
    """Masks for some of the layers that keep any number of units, including none or all."""
    masks = {}
    for name, (count,) in ((name, shape) for name, shape in Backbone(model).units().items() if not name.startswith("weights/")):
        one = st.lists(st.booleans(), min_size=count, max_size=count)
        kept = draw(st.none() | st.sampled_from([[False] * count, [True] * count]) | one)
        if kept is not None:
            masks[name] = torch.tensor(kept, dtype=torch.bool)
    return masks


def some_masks(model, seed=0, empty=()):
    generator = torch.Generator().manual_seed(seed)
    units = {name: shape for name, shape in Backbone(model).units().items() if not name.startswith("weights/")}
    return {name: (torch.rand(shape, generator=generator) > 0.5) & (name not in empty) for name, shape in units.items()}


def masked(model, masks):
    twin = copy.deepcopy(model)
    zero_removed(Backbone(twin), masks)
    return twin


def outputs(model):
    with torch.inference_mode():
        return model(**INPUTS).logits


def same_outputs(*models):
    first, *others = (outputs(model) for model in models)
    for other in others:
        torch.testing.assert_close(other, first, rtol=0, atol=1e-5)


def gradients(model):
    twin = copy.deepcopy(model).train()
    twin(**INPUTS).loss.backward()
    return {name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in twin.named_parameters()}


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_masked_shrunk_reloaded_and_unshrunk_models_compute_the_same(variant, attention, tmp_path, data):
    heads, neurons = data.draw(st.sampled_from([1, 2, 3, 6])), data.draw(st.sampled_from([1, 7, 16]))
    model = random_model(variant, attention, heads, neurons)
    masks = data.draw(masks_for(model))
    reference, small = masked(model, masks), shrink(model, masks)
    small.save_pretrained(tmp_path)
    reloaded = AutoModelForSequenceClassification.from_pretrained(tmp_path, attn_implementation=attention)
    full = unshrink(reloaded)
    full.save_pretrained(tmp_path)
    plain = type(model).from_pretrained(tmp_path, attn_implementation=attention)
    same_outputs(reference, small, reloaded, full, plain)
    assert type(plain) is type(full) is type(model)
    backbone = Backbone(plain)
    assert not any(backbone.parameter(name)[~kept].any() for name, kept in expand(backbone, masks).items())
    assert {name: mask.tolist() for name, mask in masks_of(reloaded).items() if name in masks} == {n: m.tolist() for n, m in masks.items()}


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=3, deadline=None, derandomize=True)
@given(data=st.data())
def test_kept_units_have_the_gradients_of_the_masked_model(variant, attention, data):
    model = random_model(variant, attention)
    masks = data.draw(masks_for(model))
    reference = masked(model, masks)
    wanted = gradients(reference)
    with torch.no_grad():
        for name, parameter in reference.named_parameters():
            parameter.copy_(wanted[name])
    wanted_of_kept = dict(shrink(reference, masks).named_parameters())
    for name, gradient in gradients(shrink(model, masks)).items():
        torch.testing.assert_close(gradient, wanted_of_kept[name].detach(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "empty", [("heads/0", "heads/1"), ("neurons/0", "neurons/1"), ("heads/0", "neurons/0")], ids=["heads", "neurons", "a layer"]
)
def test_a_model_with_layers_that_lost_all_units_can_be_trained(variant, empty):
    model = random_model(variant)
    small = shrink(model, some_masks(model, empty=empty)).train()
    optimizer = torch.optim.AdamW(small.parameters(), lr=0.01)
    inputs = INPUTS | {"labels": torch.tensor([1, 1])}  # without attention both rows have the same first token and so the same output
    before = small(**inputs).loss.item()
    for _ in range(5):
        optimizer.zero_grad()
        small(**inputs).loss.backward()
        torch.nn.utils.clip_grad_norm_(small.parameters(), 1.0)
        optimizer.step()
    assert small(**inputs).loss.item() < before
    assert len(small.eval()(**inputs, output_attentions=True).attentions) == model.config.num_hidden_layers


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_units_that_these_tests_remove_change_the_output(variant):
    model = random_model(variant)
    for name, mask in some_masks(model).items():
        assert (outputs(masked(model, {name: torch.zeros_like(mask)})) - outputs(model)).abs().max() > 1e-3, name


def test_layers_may_keep_different_numbers_of_heads_and_neurons(model):
    masks = {"heads/0": torch.tensor([True, False, False, False]), "heads/1": torch.tensor([True, True, False, True])}
    masks |= {"neurons/1": torch.arange(64) < 5}
    small = Backbone(shrink(model, masks))
    assert [small.units()[name] for name in ("heads/0", "heads/1", "neurons/0", "neurons/1")] == [(1,), (3,), (64,), (5,)]
    assert tuple(small.layers[1].attention_output.weight.shape) in {(32, 24), (24, 32)}
    fused = small.layers[0].query is small.layers[0].value
    assert len(small.layers[0].query.bias if small.layers[0].query.bias is not None else small.layers[0].query.weight) == (
        24 if fused else 8
    )
    assert 5 in small.layers[1].ffn_out.weight.shape
    assert small.fingerprint() != Backbone(model).fingerprint()


def test_a_removed_head_also_loses_its_position_projections():
    model = random_model("deberta-v2")
    kept = torch.tensor([True, False, True, True])
    expanded = expand(Backbone(model), {"heads/0": kept})
    for name in ("pos_key_proj", "pos_query_proj", "query_proj"):
        assert expanded[f"encoder.layer.0.attention.self.{name}.bias"].tolist() == kept.repeat_interleave(6).tolist()
    attention = shrink(model, {"heads/0": kept}).deberta.encoder.layer[0].attention.self
    assert attention.pos_key_proj.weight.shape == attention.pos_query_proj.weight.shape == attention.query_proj.weight.shape == (18, 24)
    shared = random_model("deberta-v2 that shares keys")
    assert not any("pos_" in name for name in expand(Backbone(shared), {"heads/0": kept}))


def test_shrinking_does_not_change_the_model_its_config_or_the_random_state(model):
    masks = some_masks(model)
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    config, kind, state = model.config.to_dict(), type(model), torch.get_rng_state()
    small = shrink(model.train(), masks)
    assert small.training
    assert torch.equal(torch.get_rng_state(), state)
    assert type(model) is kind
    assert model.config.to_dict() == config
    assert not is_shrunk(model)
    assert masks_of(model) == {}
    with torch.no_grad():
        for parameter in small.parameters():
            parameter.fill_(7)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    ours = {"kept_heads", "kept_neurons", "model_type"}
    assert {key: value for key, value in small.config.to_dict().items() if key not in ours} == {
        key: value for key, value in config.items() if key not in ours
    }


def test_dtype_frozen_parameters_and_mode_are_kept(bert):
    bert.half().train()
    bert.bert.encoder.requires_grad_(False)
    for changed in (shrink(bert, some_masks(bert)), unshrink(shrink(bert, some_masks(bert)))):
        assert {parameter.dtype for parameter in changed.parameters()} == {torch.float16}
        assert not any(parameter.requires_grad for parameter in changed.bert.encoder.parameters())
        assert changed.classifier.weight.requires_grad
        assert all(module.training for module in changed.modules())


def test_a_model_stays_on_its_device(bert):
    small = shrink(bert.to("meta"), some_masks(bert))
    assert {tensor.device.type for model in (small, unshrink(small)) for tensor in model.state_dict().values()} == {"meta"}


@pytest.mark.parametrize("variant", VARIANTS)
def test_shrinking_a_shrunk_model_composes(variant):
    model = random_model(variant)
    first = shrink(model, some_masks(model, 1))
    second = some_masks(first, 2, empty=("heads/1",))
    twice = shrink(first, second)
    once = shrink(model, masks_of(twice))
    assert type(twice) is type(first) is type(once)
    assert all(torch.equal(tensor, once.state_dict()[name]) for name, tensor in twice.state_dict().items())
    assert {name: int(mask.sum()) for name, mask in masks_of(twice).items()} == {name: int(mask.sum()) for name, mask in second.items()}
    same_outputs(masked(first, second), twice, once, unshrink(twice))
    assert is_shrunk(first)
    assert not is_shrunk(unshrink(twice))


def test_a_mask_of_everything_and_no_mask_keep_everything(model):
    everything = {name: torch.ones_like(mask) for name, mask in some_masks(model).items()}
    for small in (shrink(model, everything), shrink(model, {})):
        assert masks_of(small).keys() == everything.keys()
        assert all(mask.all() for mask in masks_of(small).values())
        assert all(torch.equal(tensor, model.state_dict()[name]) for name, tensor in small.state_dict().items())


def test_unshrinking_a_model_that_was_not_shrunk_is_a_copy(bert):
    twin = unshrink(bert)
    assert type(twin) is type(bert)
    assert twin.classifier.weight is not bert.classifier.weight


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_deep_copy_of_a_shrunk_model_is_independent(variant):
    model = random_model(variant)
    small = shrink(model, some_masks(model, empty=("heads/0",)))
    before, twin = outputs(small), copy.deepcopy(small)
    assert masks_of(twin).keys() == masks_of(small).keys()
    smaller = shrink(twin, some_masks(twin, 3))
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.zero_()
    twin.config.kept_heads[0] = "f0"
    assert torch.equal(outputs(small), before)
    assert small.config.kept_heads[0] == "00"
    assert outputs(smaller).any()


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_base_of_a_shrunk_classifier_is_shrunk_too(variant):
    model = random_model(variant)
    masks = some_masks(model)
    base = shrink(model, masks).base_model
    assert is_shrunk(base)
    ids = {"input_ids": IDS, "attention_mask": INPUTS["attention_mask"]}
    for other in (unshrink(base), shrink(base, {}), shrink(model.base_model, masks)):
        torch.testing.assert_close(other(**ids)[0], base(**ids)[0], rtol=0, atol=1e-5)
    assert type(unshrink(base)) is type(model.base_model)


@pytest.mark.parametrize("variant", VARIANTS)
def test_parameters_are_contiguous_after_shrinking(variant, tmp_path):
    model = copy.deepcopy(random_model(variant))
    for parameter in model.parameters():
        if parameter.dim() == 2:
            parameter.data = parameter.data.t().contiguous().t()
    masks = {"heads/0": torch.tensor([True, False, True, False])}
    small = shrink(model, masks)
    assert all(parameter.is_contiguous() for parameter in (*small.parameters(), *unshrink(small).parameters()))
    small.save_pretrained(tmp_path)
    same_outputs(masked(model, masks), small, AutoModelForSequenceClassification.from_pretrained(tmp_path))


@pytest.mark.parametrize("variant", VARIANTS)
def test_tied_embeddings_stay_tied(variant, tmp_path):
    model = random_model(variant, auto=AutoModelForMaskedLM)
    model.tie_weights()
    small = shrink(model, some_masks(model))
    small.save_pretrained(tmp_path)
    for one in (small, AutoModelForMaskedLM.from_pretrained(tmp_path), unshrink(small)):
        assert one.get_output_embeddings().weight is one.get_input_embeddings().weight
        ids = {"input_ids": IDS, "attention_mask": INPUTS["attention_mask"]}
        torch.testing.assert_close(one(**ids).logits, masked(model, some_masks(model))(**ids).logits, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "mask", "message"),
    [
        (
            "weights/encoder.layer.0.attention.self.query.weight",
            torch.ones(32, 32, dtype=torch.bool),
            "is of single weights; only heads",
        ),
        (
            "heads/7",
            torch.ones(4, dtype=torch.bool),
            "which has heads/<layer> and neurons/<layer> for 2 layers",
        ),
        ("layers/0", torch.ones(1, dtype=torch.bool), "`layers/0` does not fit the model"),
        ("heads/0", torch.ones(3, dtype=torch.bool), r"`heads/0` \(3,\) does not fit: the layer has 4 heads, one value each"),
        ("heads/0", torch.arange(32) % 3 > 0, r"`heads/0` \(32,\) does not fit: the layer has 4 heads"),
        ("neurons/1", torch.ones(64, 32, dtype=torch.bool), r"`neurons/1` \(64, 32\) does not fit: the layer has 64 neurons"),
        ("heads/0", torch.tensor([1.0, 0.5, 0.0, 1.0]), "has the type torch.float32, not torch.bool; a unit is either kept or removed"),
    ],
    ids=["single weights", "no such layer", "no such group", "too few", "rows instead of heads", "a matrix", "part of a head"],
)
def test_an_invalid_mask_is_refused(bert, name, mask, message):
    with pytest.raises(UsageError, match=message) as caught:
        shrink(bert, {name: mask})
    assert "\n" not in str(caught.value)


def test_masks_of_the_original_do_not_fit_the_shrunk_model(bert):
    masks = {"heads/0": torch.tensor([True, False, True, False])}
    with pytest.raises(UsageError, match="the layer has 2 heads"):
        shrink(shrink(bert, masks), masks)


def test_a_model_with_parametrizations_is_not_resized(bert):
    attach_mask(Backbone(bert).layers[0].query)
    for change in (lambda: shrink(bert, {}), lambda: unshrink(bert)):
        with pytest.raises(ValueError, match="has a parametrization; detach it"):
            change()


class _Plugin:
    @hookimpl
    def ticketlab_backbones(self):
        class Silent(Bert):
            name = "silent"
            summary = "does not say where heads are split"
            model_types = ("silent-bert",)
            attention = ""

        return [Silent]


def test_an_adapter_without_an_attention_module_cannot_shrink(bert):
    with registry.using(registry.load(entry_points=False)) as current:
        current.register(_Plugin(), Source("test", "0"))
        bert.config.model_type = "silent-bert"
        with pytest.raises(UsageError, match="the adapter `silent` names no attention module"):
            shrink(bert, {"heads/0": torch.ones(4, dtype=torch.bool)})


def test_a_model_built_from_a_shrunk_config_has_the_shrunk_size():
    model = random_model("bert", auto=AutoModel)
    small = shrink(model, some_masks(model, empty=("heads/1",)))
    fresh = AutoModel.from_config(small.config)
    assert {name: p.shape for name, p in fresh.named_parameters()} == {name: p.shape for name, p in small.named_parameters()}
