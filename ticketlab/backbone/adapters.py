"""Where a model family keeps its heads, neurons and weight matrices.

An adapter is a page of names. Another family is another subclass, returned by the hook ``ticketlab_backbones``.
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
"""What the ``model_type`` of a physically smaller model begins with; the family's own follows."""


@frozen
class Adapter(Component):
    """Module paths of an encoder: ``layers`` and ``pooler`` seen from the base model, the six linear modules seen from a layer.

    ``heads``, ``neurons`` and ``positions`` name attributes of the model's config. ``pooler`` is the hidden layer that pruners take with
    their setting of this name; with ``pooler_in_head`` it is part of the classifier's head, not of the encoder, and seen from the whole
    model. A family without one leaves it empty. All other linear modules of the head are its classifier. Shrinking needs three facts more:
    ``attention``, the module that a layer splits into heads, and the attributes in which that keeps the number of its heads and their
    width together; without them a model is masked and not shrunk. ``per_head`` lists further linear modules whose rows belong to the
    heads, as the query's do; a model may lack them.
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
    """Where the masked language model's head begins, seen from the model: the first of these modules that there is."""

    def max_length(self, config: PretrainedConfig) -> int:
        """Return the most tokens that the model takes, special tokens included."""
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
    """RoBERTa and the families that took its code over.

    Classifier: `classifier.dense` and `classifier.out_proj`, both newly drawn. Classifiers have no pooler.
    """

    name: ClassVar[str] = "roberta"
    summary: ClassVar[str] = "RoBERTa"
    model_types: ClassVar[tuple[str, ...]] = ("roberta", "xlm-roberta", "camembert")
    mlm_heads: ClassVar[tuple[str, ...]] = ("lm_head",)

    def max_length(self, config: PretrainedConfig) -> int:
        """Return the most tokens that the model takes; positions count from after the padding index."""
        return int(config.max_position_embeddings - config.pad_token_id - 1)


@frozen
class Electra(Bert):
    """ELECTRA.

    Classifier: `classifier.dense` and `classifier.out_proj`, both newly drawn. There is no pooler.
    """

    name: ClassVar[str] = "electra"
    summary: ClassVar[str] = "ELECTRA"
    model_types: ClassVar[tuple[str, ...]] = ("electra",)
    pooler: ClassVar[str] = ""
    mlm_heads: ClassVar[tuple[str, ...]] = ("generator_predictions",)


@frozen
class DistilBert(Adapter):
    """DistilBERT.

    Pooler: `pre_classifier`, newly drawn, as SRNets' published code has it. Classifier: `classifier`.
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
    """DeBERTa, versions 2 and 3: relative positions have projections of their own unless ``share_att_key``.

    Pooler: `pooler.dense`, newly drawn with the classifier. Classifier: `classifier`.
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

    :raises UsageError: no adapter knows ``model.config.model_type``; the message lists the families that one does.
    """
    return adapter_of(model.config.model_type)


def adapter_of(model_type: str) -> Adapter:
    """Return the registered adapter of a family, by its own ``model_type`` or its shrunk models'. Raises as :func:`adapter_for`."""
    model_type = model_type.removeprefix(SHRUNK)
    classes, broken = _registered()
    for cls in classes:
        if model_type in cls.model_types:
            return cls()
    known = sorted(known for cls in classes for known in cls.model_types)
    raise UsageError(
        f"no backbone adapter knows the model type `{model_type}`; supported are {', '.join(known)}"
        f"; a plugin can add a family by the hook ticketlab_backbones{broken}"
    )


def has_adapter(model_type: str) -> bool:
    """Say whether a registered adapter knows a family, by its own ``model_type`` or its shrunk models'."""
    return model_type.removeprefix(SHRUNK) in model_types()


def model_types() -> list[str]:
    """Return every ``model_type`` that a registered adapter knows, sorted."""
    return sorted({model_type for cls in _registered()[0] for model_type in cls.model_types})


def _registered() -> tuple[list[type[Adapter]], str]:
    """Return the adapters that import, in the order of their names, and what is wrong with those that do not."""
    found: list[type[Adapter]] = []
    broken = ""
    current = registry.current()
    for name in current.names("backbone"):
        try:
            cls = current.get("backbone", name)
        except PluginError as problem:
            broken += f" ({problem})"
            continue
        assert issubclass(cls, Adapter)
        found.append(cls)
    return found, broken
