"""The adapters of the model families that ticketlab supports itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.backbone.adapters import Adapter

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PretrainedConfig


@frozen
class Bert(Adapter):
    """BERT.

    Pooler: `pooler.dense`, part of the pre-trained encoder. Classifier: `classifier`.
    """

    name: ClassVar[str] = "bert"
    summary: ClassVar[str] = "BERT"
    model_types: ClassVar[tuple[str, ...]] = ("bert",)
    layers: ClassVar[str] = "encoder.layer"
    attention: ClassVar[str] = "attention.self"
    query: ClassVar[str] = "attention.self.query"
    key: ClassVar[str] = "attention.self.key"
    value: ClassVar[str] = "attention.self.value"
    attention_output: ClassVar[str] = "attention.output.dense"
    ffn_in: ClassVar[str] = "intermediate.dense"
    ffn_out: ClassVar[str] = "output.dense"
    pooler: ClassVar[str] = "pooler.dense"
    mlm_heads: ClassVar[tuple[str, ...]] = ("cls",)


@frozen
class Roberta(Bert):
    """RoBERTa and the families that share its code.

    Classifier: `classifier.dense` and `classifier.out_proj`, both newly initialised. Classifiers have no pooler.
    """

    name: ClassVar[str] = "roberta"
    summary: ClassVar[str] = "RoBERTa"
    model_types: ClassVar[tuple[str, ...]] = ("roberta", "xlm-roberta", "camembert")
    mlm_heads: ClassVar[tuple[str, ...]] = ("lm_head",)

    def max_length(self, config: PretrainedConfig) -> int:
        """Return the maximum length of the model's input. Positions start after the padding index."""
        return int(config.max_position_embeddings - config.pad_token_id - 1)


@frozen
class Electra(Bert):
    """ELECTRA.

    Classifier: `classifier.dense` and `classifier.out_proj`, both newly initialised. There is no pooler.
    """

    name: ClassVar[str] = "electra"
    summary: ClassVar[str] = "ELECTRA"
    model_types: ClassVar[tuple[str, ...]] = ("electra",)
    pooler: ClassVar[str] = ""
    mlm_heads: ClassVar[tuple[str, ...]] = ("generator_predictions",)


@frozen
class DistilBert(Adapter):
    """DistilBERT.

    Pooler: `pre_classifier`, newly initialised, as in the published code of SRNets. Classifier: `classifier`.
    """

    name: ClassVar[str] = "distilbert"
    summary: ClassVar[str] = "DistilBERT"
    model_types: ClassVar[tuple[str, ...]] = ("distilbert",)
    layers: ClassVar[str] = "transformer.layer"
    attention: ClassVar[str] = "attention"
    attention_heads: ClassVar[str] = "n_heads"
    attention_width: ClassVar[str] = "dim"
    query: ClassVar[str] = "attention.q_lin"
    key: ClassVar[str] = "attention.k_lin"
    value: ClassVar[str] = "attention.v_lin"
    attention_output: ClassVar[str] = "attention.out_lin"
    ffn_in: ClassVar[str] = "ffn.lin1"
    ffn_out: ClassVar[str] = "ffn.lin2"
    pooler: ClassVar[str] = "pre_classifier"
    pooler_in_head: ClassVar[bool] = True
    neurons: ClassVar[str] = "hidden_dim"
    mlm_heads: ClassVar[tuple[str, ...]] = ("vocab_transform",)


@frozen
class DebertaV2(Bert):
    """DeBERTa, versions 2 and 3. Relative positions have their own projections unless ``share_att_key`` is set.

    Pooler: `pooler.dense`, newly initialised with the classifier. Classifier: `classifier`.
    """

    name: ClassVar[str] = "deberta-v2"
    summary: ClassVar[str] = "DeBERTa-v2 and -v3"
    model_types: ClassVar[tuple[str, ...]] = ("deberta-v2",)
    query: ClassVar[str] = "attention.self.query_proj"
    key: ClassVar[str] = "attention.self.key_proj"
    value: ClassVar[str] = "attention.self.value_proj"
    per_head: ClassVar[tuple[str, ...]] = ("attention.self.pos_key_proj", "attention.self.pos_query_proj")
    pooler: ClassVar[str] = "pooler.dense"
    pooler_in_head: ClassVar[bool] = True
    mlm_heads: ClassVar[tuple[str, ...]] = ("cls", "lm_predictions")


@frozen
class MPNet(Bert):
    """MPNet. All layers share a bias for each head and relative position; a shrunk layer reads that of its heads.

    Classifier: `classifier.dense` and `classifier.out_proj`, both newly initialised. Classifiers have no pooler.
    """

    name: ClassVar[str] = "mpnet"
    summary: ClassVar[str] = "MPNet"
    model_types: ClassVar[tuple[str, ...]] = ("mpnet",)
    attention: ClassVar[str] = "attention.attn"
    query: ClassVar[str] = "attention.attn.q"
    key: ClassVar[str] = "attention.attn.k"
    value: ClassVar[str] = "attention.attn.v"
    attention_output: ClassVar[str] = "attention.attn.o"
    per_head_inputs: ClassVar[tuple[str, ...]] = ("position_bias",)
    mlm_heads: ClassVar[tuple[str, ...]] = ("lm_head",)

    def max_length(self, config: PretrainedConfig) -> int:
        """Return the maximum length of the model's input. Positions start at 2, whatever the padding token."""
        return int(config.max_position_embeddings) - 2


@frozen
class Albert(Adapter):
    """ALBERT. Layers that share a module are one layer: a unit is kept or removed in all of them.

    Pooler: `pooler`, part of the pre-trained encoder. Classifier: `classifier`.
    """

    name: ClassVar[str] = "albert"
    summary: ClassVar[str] = "ALBERT"
    model_types: ClassVar[tuple[str, ...]] = ("albert",)
    layers: ClassVar[str] = "encoder.albert_layer_groups.*.albert_layers"
    attention: ClassVar[str] = "attention"
    query: ClassVar[str] = "attention.query"
    key: ClassVar[str] = "attention.key"
    value: ClassVar[str] = "attention.value"
    attention_output: ClassVar[str] = "attention.dense"
    ffn_in: ClassVar[str] = "ffn"
    ffn_out: ClassVar[str] = "ffn_output"
    pooler: ClassVar[str] = "pooler"
    mlm_heads: ClassVar[tuple[str, ...]] = ("predictions",)

    def num_layers(self, config: PretrainedConfig) -> int:
        """Return the number of different layers: one in each group, unless ``inner_group_num`` is set."""
        return int(config.num_hidden_groups * config.inner_group_num)

    def without_heads(self, attention: Any, hidden: Tensor, context: Tensor) -> Tensor:
        """Return the output of the attention module, which includes the residual connection and its layer norm."""
        normalised: Tensor = attention.LayerNorm(hidden + attention.output_dropout(attention.dense(context)))
        return normalised


@frozen
class ModernBert(Adapter):
    """ModernBERT. Queries, keys and values are one matrix, and so are the two inputs of a gated feed-forward network.

    Classifier: `head.dense`, part of the pre-trained masked-language-model head, and `classifier`. There is no pooler.
    """

    name: ClassVar[str] = "modernbert"
    summary: ClassVar[str] = "ModernBERT"
    model_types: ClassVar[tuple[str, ...]] = ("modernbert",)
    layers: ClassVar[str] = "layers"
    attention: ClassVar[str] = "attn"
    attention_heads: ClassVar[str] = "num_heads"
    query: ClassVar[str] = "attn.Wqkv"
    key: ClassVar[str] = "attn.Wqkv"
    value: ClassVar[str] = "attn.Wqkv"
    attention_output: ClassVar[str] = "attn.Wo"
    ffn_in: ClassVar[str] = "mlp.Wi"
    ffn_out: ClassVar[str] = "mlp.Wo"
    gated: ClassVar[bool] = True
    config_values: ClassVar[Mapping[str, Any]] = {"reference_compile": False}  # compiled parts would ignore masks and hooks
    mlm_heads: ClassVar[tuple[str, ...]] = ("head",)

    def without_heads(self, attention: Any, hidden: Tensor, context: Tensor) -> Tensor:
        """Return the output of the attention module, which includes dropout."""
        dropped: Tensor = attention.out_drop(attention.Wo(context))
        return dropped


@frozen
class GPT2(Adapter):
    """GPT-2 as a classifier. Queries, keys and values are one matrix; matrices are Conv1D modules.

    Its tokenizer has no padding token: training pads with the end-of-text token. Classifier: `score`, newly initialised, from the last
    token of a text. There is no pooler.
    """

    name: ClassVar[str] = "gpt2"
    summary: ClassVar[str] = "GPT-2"
    model_types: ClassVar[tuple[str, ...]] = ("gpt2",)
    layers: ClassVar[str] = "h"
    attention: ClassVar[str] = "attn"
    attention_heads: ClassVar[str] = "num_heads"
    attention_width: ClassVar[str] = "split_size"
    query: ClassVar[str] = "attn.c_attn"
    key: ClassVar[str] = "attn.c_attn"
    value: ClassVar[str] = "attn.c_attn"
    attention_output: ClassVar[str] = "attn.c_proj"
    ffn_in: ClassVar[str] = "mlp.c_fc"
    ffn_out: ClassVar[str] = "mlp.c_proj"
    transposed: ClassVar[bool] = True
    decoder: ClassVar[bool] = True
    heads: ClassVar[str] = "n_head"
    neurons: ClassVar[str] = "n_inner"
    positions: ClassVar[str] = "n_positions"

    def num_neurons(self, config: PretrainedConfig) -> int:
        """Return the number of neurons of a layer: four times the width, unless ``n_inner`` is set."""
        return int(config.n_inner or 4 * config.n_embd)

    def without_heads(self, attention: Any, hidden: Tensor, context: Tensor) -> Tensor:
        """Return the output of the attention module, which includes dropout."""
        dropped: Tensor = attention.resid_dropout(attention.c_proj(context))
        return dropped
