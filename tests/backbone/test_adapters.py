"""Layouts of heads and neurons, worked out on paper, and the errors of adapters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from third_party import families
from transformers import AutoConfig, AutoModel

from ticketlab.backbone.adapters import Adapter, adapter_of
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.families import Bert
from ticketlab.backbone.masks import expand
from ticketlab.backbone.shrinking import shrink
from ticketlab.backbone.slices import Slices
from ticketlab.core import registry
from ticketlab.core.errors import PluginError, UsageError
from ticketlab.core.hookspecs import hookimpl
from ticketlab.core.plugin_source import Source
from ticketlab.core.registry import Registry

SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 3, "vocab_size": 20}
IDS = torch.tensor([[5, 6, 7, 8]])


class Plugin:
    def __init__(self, *classes: type[Adapter]) -> None:
        self.classes = classes

    @hookimpl
    def ticketlab_backbones(self) -> tuple[type[Adapter], ...]:
        return self.classes


def registered(*classes: type[Adapter]) -> Registry:
    current = registry.load(entry_points=False)
    current.register(Plugin(*classes), Source("their-plugin 1.0", "1"))
    return current


def backbone_of(model_type: str, **sizes: object) -> Backbone:
    with torch.device("meta"):
        return Backbone(AutoModel.from_config(AutoConfig.for_model(model_type, **(SIZES | sizes))))


def test_slices_lay_units_out_in_blocks() -> None:
    fused = Slices("qkv", outputs=True, width=2, blocks=3)
    assert fused.spread(torch.tensor([1, 2])).tolist() == [1, 1, 2, 2] * 3
    assert fused.total(torch.arange(12)).tolist() == [0 + 1 + 4 + 5 + 8 + 9, 2 + 3 + 6 + 7 + 10 + 11]
    assert fused.along(torch.tensor([1, 2])).shape == (12, 1)
    assert fused.units(torch.empty(12, 5)) == 2


@pytest.mark.parametrize(("outputs", "transposed", "dimension"), [(True, False, 0), (False, False, 1), (True, True, 1), (False, True, 0)])
def test_the_weight_of_a_conv1d_is_transposed(outputs: bool, transposed: bool, dimension: int) -> None:
    assert Slices("c_fc", outputs, transposed=transposed).dimension == dimension


def removed(backbone: Backbone, unit: str, size: int, gone: int) -> dict[str, list[int] | tuple[list[int], list[int]]]:
    """Return which entries of each parameter, rows and columns, a removed unit takes with it."""
    mask = torch.arange(size) != gone
    found: dict[str, list[int] | tuple[list[int], list[int]]] = {}
    for name, kept in expand(backbone, {unit: mask}).items():
        if kept.dim() == 1:
            found[name] = (~kept).nonzero().flatten().tolist()
        else:
            rows, columns = (~kept).all(1), (~kept).all(0)
            found[name] = rows.nonzero().flatten().tolist(), columns.nonzero().flatten().tolist()
    return found


def test_a_head_of_modernbert_has_rows_in_three_blocks_and_a_neuron_in_two() -> None:
    # Width 8, 2 heads of width 4: Wqkv has 24 rows, blocks of 8. 3 neurons: Wi has 6 rows, blocks of 3.
    backbone = backbone_of("modernbert", pad_token_id=0)
    assert removed(backbone, "heads/1", 2, 1) == {
        "layers.1.attn.Wqkv.weight": ([4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23], []),
        "layers.1.attn.Wo.weight": ([], [4, 5, 6, 7]),
    }
    assert removed(backbone, "neurons/0", 3, 2) == {"layers.0.mlp.Wi.weight": ([2, 5], []), "layers.0.mlp.Wo.weight": ([], [2])}
    assert list(backbone.units())[:4] == [f"weights/layers.0.{name}.weight" for name in ("attn.Wqkv", "attn.Wo", "mlp.Wi", "mlp.Wo")]


def test_a_head_of_gpt2_has_columns_in_three_blocks_and_rows_of_the_output() -> None:
    with torch.device("meta"):
        backbone = Backbone(AutoModel.from_config(AutoConfig.for_model("gpt2", n_embd=8, n_layer=1, n_head=2, vocab_size=20)))
    assert removed(backbone, "heads/0", 2, 0) == {
        "h.0.attn.c_attn.weight": ([], [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19]),
        "h.0.attn.c_attn.bias": [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19],
        "h.0.attn.c_proj.weight": ([0, 1, 2, 3], []),
    }
    assert backbone.units()["neurons/0"] == (32,)  # four times the width
    assert removed(backbone, "neurons/0", 32, 5) == {
        "h.0.mlp.c_fc.weight": ([], [5]),
        "h.0.mlp.c_fc.bias": [5],
        "h.0.mlp.c_proj.weight": ([5], []),
    }
    assert backbone.units()["weights/h.0.attn.c_attn.weight"] == (8, 24)


def test_albert_has_one_mask_for_all_layers_that_share_a_module() -> None:
    backbone = backbone_of("albert", num_hidden_layers=6, num_hidden_groups=2, inner_group_num=2, embedding_size=4)
    path = "encoder.albert_layer_groups.{}.albert_layers.{}"
    assert [layer.path for layer in backbone.layers] == [path.format(group, inner) for group in (0, 1) for inner in (0, 1)]
    assert [name for name in backbone.units() if name.startswith("heads/")] == [f"heads/{index}" for index in range(4)]
    last = path.format(1, 1)
    assert list(removed(backbone, "neurons/3", 3, 1)) == [f"{last}.{name}" for name in ("ffn.weight", "ffn.bias", "ffn_output.weight")]


def test_layers_of_mpnet_keep_the_bias_that_they_share() -> None:
    backbone = backbone_of("mpnet")
    assert not any("relative" in name for name in expand(backbone, {"heads/0": torch.tensor([False, True])}))


@pytest.mark.parametrize(
    ("cls", "model_type", "message"),
    [
        (families.Megatron, "megatron-bert", "the adapter `megatron` names no attention module"),
        (families.WrongModule, "megatron-bert", "`megatron` of their-plugin 1.0 cannot shrink `megatron-bert` models: .*selff"),
        (families.WrongAttribute, "megatron-bert", "cannot shrink `megatron-bert` models: a shrunk model fails with RuntimeError: "),
        (families.WrongSize, "megatron-bert", "cannot shrink .* its `num_neurons` fails on the config: .*ffn_size"),
        (families.WrongLayout, "gpt_neox", "cannot shrink .* a shrunk model computes something else than a masked one"),
        (families.ForgottenGate, "llama", "cannot shrink `llama` models: a shrunk model fails with RuntimeError"),
    ],
)
def test_an_adapter_that_cannot_shrink_says_what_is_wrong_with_it(cls: type[Adapter], model_type: str, message: str) -> None:
    with registry.using(registered(cls)):
        config = AutoConfig.for_model(model_type, **(SIZES | {"num_hidden_layers": 2, "intermediate_size": 6, "pad_token_id": 0}))
        model = AutoModel.from_config(config)
        with pytest.raises(UsageError, match=message) as caught:
            shrink(model, {"heads/0": torch.tensor([False, True])})
        assert "\n" not in str(caught.value)
        assert "damaged" not in str(caught.value)


def variant(name: str, base: type[Adapter] = families.Megatron, **facts: Any) -> type[Adapter]:
    return type("Variant", (base,), {"name": name, "summary": name, **facts})


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"heads": "n_heads"}, "reads `n_heads` of the config"),
        ({"layers": "encoder"}, "names `encoder` as the list of layers .*, which is a MegatronBertEncoder"),
        ({"layers": "encoder.layers"}, "names `encoder.layers`, and MegatronBertModel has no such module"),
        ({"ffn_in": "intermediate.dens"}, r"names `encoder.layer.0.intermediate.dens`"),
        ({"transposed": True}, "takes `encoder.layer.0.attention.self.query` for a Conv1D, not Linear"),
        ({"gated": True}, "expects 2 blocks of 3 x 1 in a module, but `encoder.layer.0.intermediate.dense` has 3 outputs"),
        ({"value": "attention.self.key"}, "expects 2 blocks of 2 x 4 in a module, but `encoder.layer.0.attention.self.key` has 8 outputs"),
    ],
)
def test_a_wrong_adapter_is_named_when_a_model_is_loaded(facts: dict[str, Any], message: str) -> None:
    with registry.using(registered(variant("wrong", **facts))):
        with pytest.raises(
            UsageError, match=f"the adapter `wrong` of their-plugin 1.0 does not fit `megatron-bert`: it {message}"
        ) as caught:
            backbone_of("megatron-bert")
        assert "\n" not in str(caught.value)


def test_two_adapters_for_one_model_type_are_refused_with_both_sources() -> None:
    theirs = variant("a-better-bert", Bert)
    with registry.using(registered(theirs)):
        with pytest.raises(UsageError, match=r"has 2 adapters, `a-better-bert` of their-plugin 1.0 and `bert` of ticketlab") as caught:
            adapter_of("bert")
        assert "\n" not in str(caught.value)
        assert adapter_of("roberta").name == "roberta"
    with (
        registry.using(registered(variant("bert", Bert))),
        pytest.raises(UsageError, match="`bert` of ticketlab and `bert` of their-plugin"),
    ):
        adapter_of("bert")
    assert str(caught.value).endswith("; leave one out: add --no-plugin their-plugin")
    mine, other = variant("mine"), variant("other")
    with (
        registry.using(registered(mine, other)),
        pytest.raises(UsageError, match=r"`mine` of their-plugin 1.0 and .*; remove one"),
    ):
        adapter_of("megatron-bert")


def test_of_two_adapters_in_files_one_is_left_out_by_its_option(tmp_path: Path) -> None:
    adapter = (Path(__file__).parents[1] / "third_party" / "failing.py").read_text(encoding="utf-8")
    files = [tmp_path / "one.py", tmp_path / "two.py"]
    for file in files:
        file.write_text(adapter, encoding="utf-8")
    with registry.using(registry.load(files, entry_points=False)), pytest.raises(UsageError) as caught:
        adapter_of("failing")
    assert str(caught.value).endswith(f"; leave one out: omit --plugin {files[0]} or omit --plugin {files[1]}")


def test_one_name_instead_of_a_tuple_of_names_is_refused() -> None:
    """A type `bert` would be found in the text `megatron-bert`."""
    with pytest.raises(TypeError, match=r"`model_types` of the adapter Variant must be a tuple of names, not 'megatron-bert'"):
        variant("one", model_types="megatron-bert")


def test_an_adapter_without_a_path_is_refused() -> None:
    bare = type("Bare", (Adapter,), {"name": "bare", "summary": "", "model_types": ("megatron-bert",), "layers": "encoder.layer"})
    with registry.using(registered(bare)), pytest.raises(PluginError, match=r"the adapter `bare` of their-plugin 1.0 has no `query`"):
        adapter_of("megatron-bert")
