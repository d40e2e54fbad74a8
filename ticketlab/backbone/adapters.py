"""Where a model family keeps its heads, neurons and weight matrices.

An adapter is a page of names. Another family is another subclass, returned by the hook ``ticketlab_backbones``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attrs import frozen

from ticketlab import registry
from ticketlab.component import Component
from ticketlab.errors import PluginError, UsageError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel


@frozen
class Adapter(Component):
    """Module paths of an encoder: ``layers`` and ``pooler`` seen from the base model, the six linear modules seen from a layer.

    ``heads`` and ``positions`` name attributes of the model's config. A family without a pooler leaves ``pooler`` empty.
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
    pooler: ClassVar[str] = ""
    heads: ClassVar[str] = "num_attention_heads"
    positions: ClassVar[str] = "max_position_embeddings"

    def max_length(self, config: PretrainedConfig) -> int:
        """Return the most tokens that the model takes, special tokens included."""
        return int(getattr(config, self.positions))


@frozen
class Bert(Adapter):
    """BERT."""

    name: ClassVar[str] = "bert"
    summary: ClassVar[str] = "BERT"
    model_types: ClassVar[tuple[str, ...]] = ("bert",)
    layers: ClassVar[str] = "encoder.layer"
    query: ClassVar[str] = "attention.self.query"
    key: ClassVar[str] = "attention.self.key"
    value: ClassVar[str] = "attention.self.value"
    attention_output: ClassVar[str] = "attention.output.dense"
    ffn_in: ClassVar[str] = "intermediate.dense"
    ffn_out: ClassVar[str] = "output.dense"
    pooler: ClassVar[str] = "pooler.dense"


@frozen
class Roberta(Bert):
    """RoBERTa and the families that took its code over."""

    name: ClassVar[str] = "roberta"
    summary: ClassVar[str] = "RoBERTa"
    model_types: ClassVar[tuple[str, ...]] = ("roberta", "xlm-roberta", "camembert")

    def max_length(self, config: PretrainedConfig) -> int:
        """Return the most tokens that the model takes; positions count from after the padding index."""
        return int(config.max_position_embeddings - config.pad_token_id - 1)


@frozen
class Electra(Bert):
    """ELECTRA."""

    name: ClassVar[str] = "electra"
    summary: ClassVar[str] = "ELECTRA"
    model_types: ClassVar[tuple[str, ...]] = ("electra",)
    pooler: ClassVar[str] = ""


@frozen
class DistilBert(Adapter):
    """DistilBERT."""

    name: ClassVar[str] = "distilbert"
    summary: ClassVar[str] = "DistilBERT"
    model_types: ClassVar[tuple[str, ...]] = ("distilbert",)
    layers: ClassVar[str] = "transformer.layer"
    query: ClassVar[str] = "attention.q_lin"
    key: ClassVar[str] = "attention.k_lin"
    value: ClassVar[str] = "attention.v_lin"
    attention_output: ClassVar[str] = "attention.out_lin"
    ffn_in: ClassVar[str] = "ffn.lin1"
    ffn_out: ClassVar[str] = "ffn.lin2"


def adapter_for(model: PreTrainedModel) -> Adapter:
    """Return the registered adapter of a model's family.

    :raises UsageError: no adapter knows ``model.config.model_type``; the message lists the families that one does.
    """
    return adapter_of(model.config.model_type)


def adapter_of(model_type: str) -> Adapter:
    """Return the registered adapter of a family, by transformers' ``model_type``. Raises as :func:`adapter_for`."""
    known: list[str] = []
    broken = ""
    current = registry.current()
    for name in current.names("backbone"):
        try:
            cls = current.get("backbone", name)
        except PluginError as problem:
            broken += f" ({problem})"
            continue
        assert issubclass(cls, Adapter)
        if model_type in cls.model_types:
            return cls()
        known += cls.model_types
    raise UsageError(
        f"no backbone adapter knows the model type `{model_type}`; supported are {', '.join(sorted(known))}"
        f"; a plugin can add a family by the hook ticketlab_backbones{broken}"
    )
