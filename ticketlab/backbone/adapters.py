"""Adapters: where a model family keeps its heads, neurons and weight matrices.

An adapter is a list of names. To support another family, a plugin returns another subclass from the hook ``ticketlab_backbones``.
:mod:`ticketlab.backbone.families` has the built-in ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.backbone.slices import Slices
from ticketlab.core import registry
from ticketlab.core.component import Component
from ticketlab.core.errors import PluginError, UsageError

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PretrainedConfig, PreTrainedModel

SHRUNK = "ticketlab-"
"""Prefix of the ``model_type`` of shrunk (physically smaller) models, followed by that of the family."""
REQUIRED = ("layers", "query", "key", "value", "attention_output", "ffn_in", "ffn_out")


@frozen
class Adapter(Component):
    """The module paths of a family of encoders. ``layers`` and ``pooler`` are relative to the base model, the matrices to a layer.

    Override the methods where names do not suffice.
    """

    kind: ClassVar[str] = "backbone"
    model_types: ClassVar[tuple[str, ...]]
    """The values of ``model_type`` in the configs of the family."""
    layers: ClassVar[str]
    """The list of layers. A ``*`` stands for each member of a list of such lists. Layers that share a module are one layer."""
    query: ClassVar[str]
    """The matrix of the queries.

    ``query``, ``key`` and ``value`` may name the same module, a fused matrix: it has the outputs of all queries first, then those of all
    keys, then those of all values.
    """
    key: ClassVar[str]
    """The matrix of the keys."""
    value: ClassVar[str]
    """The matrix of the values."""
    attention_output: ClassVar[str]
    """The matrix that reads the output of the heads."""
    ffn_in: ClassVar[str]
    """The first matrix of the feed-forward network, whose outputs are the neurons."""
    ffn_out: ClassVar[str]
    """The second matrix of the feed-forward network, which reads the neurons."""
    gated: ClassVar[bool] = False
    """Whether ``ffn_in`` is a fused matrix with two outputs per neuron: those of all gates before or after all the others."""
    ffn_gate: ClassVar[str] = ""
    """The matrix of the gates, if it is a module of its own."""
    transposed: ClassVar[bool] = False
    """Whether the matrices are Conv1D modules instead of Linear ones, with weights (inputs, outputs)."""
    per_head: ClassVar[tuple[str, ...]] = ()
    """Additional modules of a layer. A model may lack them.

    They are linear ones, whose outputs belong to heads like those of the query, and embeddings with a column for each head.
    """
    per_head_inputs: ClassVar[tuple[str, ...]] = ()
    """Inputs of the attention module of shape (rows, heads, length, length) that all layers share.

    An example is a bias for relative positions. A shrunk layer gets those of its heads.
    """
    attention: ClassVar[str] = ""
    """The attention module of a layer, which shrinking needs. Without it models can be masked but not shrunk."""
    attention_heads: ClassVar[str] = "num_attention_heads"
    """The attribute of the attention module for its number of heads, if it has one."""
    attention_width: ClassVar[str] = "all_head_size"
    """The attribute of the attention module for the total width of its heads, if it has one."""
    pooler: ClassVar[str] = ""
    """The hidden layer that pruners mask with their setting of this name; empty for a family without one."""
    pooler_in_head: ClassVar[bool] = False
    """Whether the pooler is part of the classifier's head instead of the encoder.

    Its path is then relative to the whole model. All other linear modules of the head are the classifier.
    """
    heads: ClassVar[str] = "num_attention_heads"
    """The attribute of the config for the number of heads of a layer."""
    neurons: ClassVar[str] = "intermediate_size"
    """The attribute of the config for the number of neurons of a layer."""
    positions: ClassVar[str] = "max_position_embeddings"
    """The attribute of the config for the maximum length of an input."""
    decoder: ClassVar[bool] = False
    """Whether a text is classified from its last token.

    There may then be neither a padding token nor special ones around a text.
    """
    config_values: ClassVar[Mapping[str, Any]] = {}
    """Values that are set in the config of each loaded model, where it has an attribute of this name."""
    mlm_heads: ClassVar[tuple[str, ...]] = ()
    """Paths of the first module of the masked-language-model head; the first that exists is used. Empty for a family without one."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("model_types", "per_head", "per_head_inputs", "mlm_heads"):
            if not isinstance(getattr(cls, name, ()), tuple):
                raise TypeError(f"`{name}` of the adapter {cls.__name__} must be a tuple of names, not {getattr(cls, name)!r}")

    @property
    def matrices(self) -> tuple[str, ...]:
        """The paths of the matrices in a layer, each once, in the order of their units."""
        roles = (self.query, self.key, self.value, self.attention_output, self.ffn_in, self.ffn_gate, self.ffn_out)
        return tuple(dict.fromkeys(path for path in roles if path))

    def max_length(self, config: PretrainedConfig) -> int:
        """Return the maximum length of the model's input in tokens, including special tokens."""
        return int(getattr(config, self.positions))

    def num_layers(self, config: PretrainedConfig) -> int:
        """Return the number of different layers."""
        return int(config.num_hidden_layers)

    def num_heads(self, config: PretrainedConfig) -> int:
        """Return the number of heads of a layer of the full size."""
        return int(getattr(config, self.heads))

    def num_neurons(self, config: PretrainedConfig) -> int:
        """Return the number of neurons of a layer of the full size."""
        return int(getattr(config, self.neurons))

    def head_dim(self, config: PretrainedConfig) -> int:
        """Return the width of a head."""
        return int(getattr(config, "head_dim", None) or config.hidden_size // self.num_heads(config))

    def head_slices(self, head_dim: int) -> tuple[Slices, ...]:
        """Return where the heads are in the matrices of a layer. The last one is the attention output, which reads them."""
        projections = (self.query, self.key, self.value)
        written = [self._slices(path, True, head_dim, projections.count(path)) for path in dict.fromkeys(projections)]
        return (*written, self._slices(self.attention_output, False, head_dim))

    def neuron_slices(self) -> tuple[Slices, ...]:
        """Return where the neurons are in the matrices of a layer. The last one reads them."""
        written = [self._slices(self.ffn_in, True, blocks=2 if self.gated else 1)]
        written += [self._slices(self.ffn_gate, True)] if self.ffn_gate else []
        return (*written, self._slices(self.ffn_out, False))

    def _slices(self, path: str, outputs: bool, width: int = 1, blocks: int = 1) -> Slices:
        return Slices(path, outputs, width, blocks, self.transposed)

    def without_heads(self, attention: Any, hidden: Tensor, context: Tensor) -> Tensor:
        """Return the output of the attention module of a layer without heads, for its input ``hidden`` (rows, length, width).

        ``context`` is (rows, length, 0). By default the attention output, if it is part of the attention module, projects it. Override
        it for an attention module that does more after that: dropout, a layer norm.
        """
        inside = self.attention_output.startswith(f"{self.attention}.")
        path = self.attention_output.removeprefix(f"{self.attention}.")
        projected: Tensor = attention.get_submodule(path)(context) if inside else context
        return projected

    def layer_of(self, key: str) -> tuple[int, ...] | None:
        """Return the numbers in the name of a parameter or unit that tell its layer; None if it is in no layer."""
        lists = r"\.(\d+)\.".join(map(re.escape, self.layers.split(".*.")))
        found = re.search(rf"(?:^|[./]){lists}\.(\d+)\.", key)
        return tuple(map(int, found.groups())) if found else None


def adapter_for(model: PreTrainedModel) -> Adapter:
    """Return the registered adapter of a model's family.

    :raises UsageError: no adapter supports ``model.config.model_type``, and the message lists the supported families; or several do.
    """
    return adapter_of(model.config.model_type)


def adapter_of(model_type: str) -> Adapter:
    """Return the registered adapter of a family, by its ``model_type`` or that of its shrunk models. Raises as :func:`adapter_for`."""
    model_type = model_type.removeprefix(SHRUNK)
    classes, broken = _registered()
    found = [cls for cls in classes if model_type in cls.model_types]
    if len(found) > 1:
        both = " and ".join(f"`{cls.name}` of {source_of(cls)}" for cls in found)
        raise UsageError(f"the model type `{model_type}` has {len(found)} adapters, {both}; {_how_to_choose(found)}")
    if found:
        _check_names(found[0])
        return found[0]()
    known = sorted(known for cls in classes for known in cls.model_types)
    raise UsageError(
        f"no backbone adapter supports the model type `{model_type}`; supported are {', '.join(known)}"
        f"; a plugin can add a family with the hook ticketlab_backbones{broken}"
    )


def _how_to_choose(classes: Sequence[type[Adapter]]) -> str:
    """Return how to leave out all of several adapters but one."""
    sources = dict.fromkeys(entry.source for cls in classes if (entry := registry.current().entry_of(cls)) is not None)
    ways = [
        f"omit --plugin {source.label}" if source.code.places else f"add --no-plugin {source.name}"
        for source in sources
        if not source.is_built_in
    ]
    if len(sources) == 1:
        return f"remove one from {next(iter(sources)).label}"
    return f"leave one out: {' or '.join(ways)}"


def has_adapter(model_type: str) -> bool:
    """Return whether a registered adapter supports a family, by its ``model_type`` or that of its shrunk models."""
    return model_type.removeprefix(SHRUNK) in model_types()


def pads(model_type: str) -> bool:
    """Return whether rows of different lengths are known to give the same logits when they are padded to one length.

    They are not for a family without an adapter, and for a decoder that classifies from the last token.
    """
    return has_adapter(model_type) and not adapter_of(model_type).decoder


def model_types() -> list[str]:
    """Return every ``model_type`` that a registered adapter supports, sorted."""
    return sorted({model_type for cls in _registered()[0] for model_type in cls.model_types})


def source_of(adapter: Adapter | type[Adapter]) -> str:
    """Return where an adapter comes from: ``ticketlab``, a package with its version, or a file."""
    entry = registry.current().entry_of(adapter if isinstance(adapter, type) else type(adapter))
    return entry.source.label if entry else "an unregistered plugin"


def _check_names(cls: type[Adapter]) -> None:
    for name in REQUIRED:
        if not isinstance(getattr(cls, name, None), str):
            raise PluginError(
                f"the adapter `{cls.name}` of {source_of(cls)} has no `{name}`, the path of a module; it needs all of {REQUIRED}"
            )


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
