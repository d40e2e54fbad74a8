"""The backbone: the prunable parts of a transformers encoder (weight matrices, attention heads, neurons)."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from attrs import frozen
from torch import Tensor, nn

from ticketlab.backbone.adapters import Adapter, adapter_for
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MATRICES = ("query", "key", "value", "attention_output", "ffn_in", "ffn_out")


@frozen(eq=False)
class Layer:
    """The six linear modules of one encoder layer. ``paths`` are their names in the base model, in the order of ``MATRICES``.

    ``per_head`` maps names in the base model to all modules whose rows belong to heads: query, key, value, and any others of the family.
    """

    paths: tuple[str, ...]
    per_head: Mapping[str, nn.Linear]
    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    attention_output: nn.Linear
    ffn_in: nn.Linear
    ffn_out: nn.Linear


class Backbone:
    """The prunable parts of ``model``, a transformers encoder with or without a head.

    Units are named ``group/name``: ``weights/encoder.layer.0.attention.self.query.weight``, ``heads/0``, ``neurons/0``. Matrices are
    named by their path in the base model, so that a ticket fits the encoder with any head. Nothing is copied: the returned modules and
    parameters are those of the model.

    :raises UsageError: no adapter supports the family, or the model lacks a module that its adapter names.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.base: nn.Module = model.base_model
        self.adapter: Adapter = adapter_for(model)
        self.num_heads = int(getattr(model.config, self.adapter.heads))
        self.head_dim = int(model.config.hidden_size) // self.num_heads
        self.layers = tuple(self._layer(index) for index in range(len(self._stack())))

    def _stack(self) -> nn.ModuleList | nn.Sequential:
        stack = self._submodule(self.adapter.layers)
        assert isinstance(stack, (nn.ModuleList, nn.Sequential))
        return stack

    def _submodule(self, path: str) -> nn.Module:
        try:
            return (self.model if path in self._outside_encoder else self.base).get_submodule(path)
        except AttributeError:
            raise UsageError(f"{type(self.base).__name__} has no module `{path}`, which the adapter `{self.adapter.name}` names") from None

    def _layer(self, index: int) -> Layer:
        prefix = f"{self.adapter.layers}.{index}"
        paths = tuple(f"{prefix}.{getattr(self.adapter, matrix)}" for matrix in MATRICES)
        linears = [self._linear(path) for path in paths]
        others = [path for path in (f"{prefix}.{name}" for name in self.adapter.per_head) if self._has(path)]
        per_head = dict(zip(paths[:3], linears[:3], strict=True)) | {path: self._linear(path) for path in others}
        for path, linear in per_head.items():
            if linear.out_features != linears[0].out_features:
                raise UsageError(
                    f"`{path}` has {linear.out_features} outputs and the query {linears[0].out_features}: "
                    "heads that share keys or values (grouped queries) cannot be pruned one by one"
                )
        return Layer(paths, per_head, *linears)

    def _has(self, path: str) -> bool:
        owner, _, name = path.rpartition(".")
        return hasattr(self._submodule(owner), name)

    def _linear(self, path: str) -> nn.Linear:
        module = self._submodule(path)
        if not isinstance(module, nn.Linear):
            raise UsageError(f"`{path}` is a {type(module).__name__}; only plain Linear modules can be pruned (a quantised model cannot)")
        return module

    @property
    def word_embeddings(self) -> nn.Module:
        """The module that turns token ids into word embeddings, before positions and types are added."""
        module = self.model.get_input_embeddings()
        assert isinstance(module, nn.Module)
        return module

    @property
    def max_length(self) -> int:
        """The maximum length of the model's input in tokens, including special tokens."""
        return self.adapter.max_length(self.model.config)

    @property
    def has_pooler(self) -> bool:
        """Whether the model has a pooler. It is prunable but not part of the structure."""
        pooler = self.adapter.pooler
        if self.adapter.pooler_in_head:
            return pooler in self._outside_encoder
        return bool(pooler) and getattr(self.base, pooler.partition(".")[0], None) is not None

    @property
    def inner_pooler(self) -> str:
        """The unit of the pooler if the family's encoder has one, even if this model lacks it; else empty."""
        pooler = self.adapter.pooler
        return f"weights/{pooler}.weight" if pooler and not self.adapter.pooler_in_head else ""

    @property
    def classifier(self) -> tuple[str, ...]:
        """The paths of the classifier's matrices in the whole model, from the encoder outwards; empty without a classifier."""
        return tuple(path for path in self._outside_encoder if path != self.adapter.pooler)

    @functools.cached_property
    def _outside_encoder(self) -> tuple[str, ...]:
        """The paths of the linear modules outside the encoder if the last one has an output per label; empty for any other head."""
        outputs = int(getattr(self.model.config, "num_labels", 0))
        inside = {id(module) for module in self.base.modules()}
        linear = {name: module for name, module in self.model.named_modules() if isinstance(module, nn.Linear) and id(module) not in inside}
        return tuple(linear) if linear and list(linear.values())[-1].out_features == outputs else ()

    def units(self, *, pooler: bool = False, classifier: bool = False) -> dict[str, tuple[int, ...]]:
        """Return every prunable group of units with its shape, in the order of the layers.

        ``weights/<matrix>``: (out, in); ``heads/<layer>``: (heads,); ``neurons/<layer>``: (neurons,). With ``pooler`` and ``classifier``,
        the matrices of the pooler and of the classifier follow the other matrices, if the model has them.
        """
        matrices = [(path, getattr(layer, name)) for layer in self.layers for path, name in zip(layer.paths, MATRICES, strict=True)]
        if pooler and self.has_pooler:
            matrices.append((self.adapter.pooler, self._linear(self.adapter.pooler)))
        if classifier:
            matrices += [(path, self._linear(path)) for path in self.classifier]
        units: dict[str, tuple[int, ...]] = {f"weights/{path}.weight": (m.out_features, m.in_features) for path, m in matrices}
        units |= {f"heads/{index}": (layer.query.out_features // self.head_dim,) for index, layer in enumerate(self.layers)}
        units |= {f"neurons/{index}": (layer.ffn_in.out_features,) for index, layer in enumerate(self.layers)}
        return units

    def module(self, name: str) -> nn.Linear:
        """Return the linear module of a unit ``weights/<matrix>``."""
        return self._linear(name.removeprefix("weights/").removesuffix(".weight"))

    def weight(self, name: str) -> nn.Parameter:
        """Return the parameter of a unit ``weights/<matrix>``; under a parametrization, the original one."""
        return self.parameter(name.removeprefix("weights/"))

    def parameter(self, path: str) -> nn.Parameter:
        """Return a parameter by its name in the base model; under a parametrization, the original one."""
        owner, _, attribute = path.rpartition(".")
        module = self._submodule(owner)
        parametrized = getattr(module, "parametrizations", None)
        if isinstance(parametrized, nn.ModuleDict) and attribute in parametrized:
            parameter = parametrized[attribute].original
        else:
            parameter = getattr(module, attribute)
        assert isinstance(parameter, nn.Parameter)
        return parameter

    def fingerprint(self) -> str:
        """Return the sha256 of the structure: model type, unit names and shapes, without head, pooler and embeddings."""
        structure = {"model_type": self.model.config.model_type, "units": self.units()}
        return hashlib.sha256(json.dumps(structure, sort_keys=True).encode()).hexdigest()

    def weights_hash(self) -> str:
        """Return the sha256 of the encoder's weights: names, types, shapes and bytes, without head and pooler."""
        pooler = self.adapter.pooler.partition(".")[0]
        state = {_plain_name(name): tensor for name, tensor in self.base.state_dict().items()}
        digest = hashlib.sha256()
        for name in sorted(state):
            if pooler and name.startswith(f"{pooler}."):
                continue
            digest.update(f"{name} {state[name].dtype} {tuple(state[name].shape)}\n".encode())
            digest.update(_bytes(state[name]))
        return digest.hexdigest()


def _plain_name(name: str) -> str:
    """Return a parameter's name without parametrizations: ``query.weight`` for ``query.parametrizations.weight.original``."""
    return name.replace(".parametrizations.", ".").removesuffix(".original") if ".parametrizations." in name else name


def _bytes(tensor: Tensor) -> memoryview:
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data
