"""Adapters: where a model family keeps its heads, neurons and weight matrices.

An adapter is a list of names. To support another family, a plugin returns another subclass from the hook ``ticketlab_backbones``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attrs import frozen

from ticketlab.core import registry
from ticketlab.core.component import Component
from ticketlab.core.errors import PluginError, UsageError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

SHRUNK = "ticketlab-"
"""Prefix of the ``model_type`` of shrunk (physically smaller) models, followed by that of the family."""


@frozen
class Adapter(Component):
    """The module paths of an encoder. ``layers`` and ``pooler`` are relative to the base model, the six linear modules to a layer.

    - ``heads``, ``neurons`` and ``positions`` are attributes of the model's config.
    - ``per_head`` lists additional linear modules whose rows belong to heads, like those of the query. A model may lack them.
    - ``pooler`` is the hidden layer that pruners mask with their setting of this name; empty for a family without one. With
      ``pooler_in_head`` it is part of the classifier's head instead of the encoder, and its path is relative to the whole model. All other
      linear modules of the head are the classifier.
    - ``attention``, ``attention_heads`` and ``attention_width`` are needed for shrinking: the attention module of a layer, and its
      attributes for the number of heads and their total width. Without ``attention`` models can be masked but not shrunk.
    """

    kind: ClassVar[str] = "backbone"
    model_types: ClassVar[tuple[str, ...]]
    layers: ClassVar[str]
    query: ClassVar[str]
    key: ClassVar[str]
    value: ClassVar[str]
    attention_output: ClassVar[str]
    ffn_in: ClassVar[str]
    ffn_out: ClassVar[str]
    per_head: ClassVar[tuple[str, ...]] = ()
    attention: ClassVar[str] = ""
    attention_heads: ClassVar[str] = "num_attention_heads"
    attention_width: ClassVar[str] = "all_head_size"
    pooler: ClassVar[str] = ""
    pooler_in_head: ClassVar[bool] = False
    heads: ClassVar[str] = "num_attention_heads"
    neurons: ClassVar[str] = "intermediate_size"
    positions: ClassVar[str] = "max_position_embeddings"
    mlm_heads: ClassVar[tuple[str, ...]] = ()
    """Paths of the first module of the masked-language-model head; the first that exists is used."""

    def max_length(self, config: PretrainedConfig) -> int:
        """Return the maximum length of the model's input in tokens, including special tokens."""
        return int(getattr(config, self.positions))


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


def adapter_for(model: PreTrainedModel) -> Adapter:
    """Return the registered adapter of a model's family.

    :raises UsageError: no adapter supports ``model.config.model_type``; the message lists the supported families.
    """
    return adapter_of(model.config.model_type)


def adapter_of(model_type: str) -> Adapter:
    """Return the registered adapter of a family, by its ``model_type`` or that of its shrunk models. Raises as :func:`adapter_for`."""
    model_type = model_type.removeprefix(SHRUNK)
    classes, broken = _registered()
    for cls in classes:
        if model_type in cls.model_types:
            return cls()
    known = sorted(known for cls in classes for known in cls.model_types)
    raise UsageError(
        f"no backbone adapter supports the model type `{model_type}`; supported are {', '.join(known)}"
        f"; a plugin can add a family with the hook ticketlab_backbones{broken}"
    )


def has_adapter(model_type: str) -> bool:
    """Return whether a registered adapter supports a family, by its ``model_type`` or that of its shrunk models."""
    return model_type.removeprefix(SHRUNK) in model_types()


def model_types() -> list[str]:
    """Return every ``model_type`` that a registered adapter supports, sorted."""
    return sorted({model_type for cls in _registered()[0] for model_type in cls.model_types})


def _registered() -> tuple[list[type[Adapter]], str]:
    """Return the adapters that can be imported, sorted by name, and the errors of those that cannot."""
    adapters: list[type[Adapter]] = []
    broken = ""
    current = registry.current()
    for name in current.names("backbone"):
        try:
            cls = current.get("backbone", name)
        except PluginError as problem:
            broken += f" ({problem})"
            continue
        assert issubclass(cls, Adapter)
        adapters.append(cls)
    return adapters, broken
