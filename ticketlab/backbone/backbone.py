"""The backbone: the prunable parts of a transformers encoder (weight matrices, attention heads, neurons)."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import torch
from attrs import evolve, frozen
from torch import Tensor, nn

from ticketlab.backbone.adapters import Adapter, adapter_for, source_of
from ticketlab.backbone.matrices import Matrix, is_matrix, is_transposed
from ticketlab.backbone.original_state import original_parameter, original_state
from ticketlab.backbone.slices import Slices
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ROLES = ("query", "key", "value", "attention_output", "ffn_in", "ffn_out")


@frozen(eq=False)
class Layer:
    """One layer of the encoder. Paths are relative to the base model."""

    path: str
    """The path of the layer."""
    matrices: Mapping[str, Matrix]
    """Its matrices by path, each once, in the order of their units. A unit ``weights/<path>.weight`` is one of them."""
    heads: tuple[Slices, ...]
    """Where the heads are in the modules of the layer, those of the family that are no matrices included.

    The last one, :attr:`head_reader`, is the matrix that reads them: what it multiplies is the output of the heads.
    """
    neurons: tuple[Slices, ...]
    """Where the neurons are in the modules of the layer.

    The last one, :attr:`neuron_reader`, is the matrix that reads them: what it multiplies is the activation of the neurons.
    """
    query: Matrix
    """The matrix of the queries. In a fused matrix, ``query``, ``key`` and ``value`` are the same module."""
    key: Matrix
    """The matrix of the keys."""
    value: Matrix
    """The matrix of the values."""
    attention_output: Matrix
    """The matrix that reads the heads."""
    ffn_in: Matrix
    """The first matrix of the feed-forward network."""
    ffn_out: Matrix
    """The second matrix of the feed-forward network, which reads the neurons."""

    @property
    def head_reader(self) -> Slices:
        """The inputs of the attention output: the columns of a Linear, the rows of a Conv1D."""
        return self.heads[-1]

    @property
    def neuron_reader(self) -> Slices:
        """The inputs of the second feed-forward matrix."""
        return self.neurons[-1]


class Backbone:
    """The prunable parts of ``model``, a transformers encoder with or without a head.

    Units are named ``group/name``: ``weights/encoder.layer.0.attention.self.query.weight``, ``heads/0``, ``neurons/0``. Matrices are
    named by their path in the base model, so that a ticket fits the encoder with any head. Nothing is copied: the returned modules and
    parameters are those of the model.

    :raises UsageError: no adapter supports the family, or the model lacks a module that its adapter names.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        """The model."""
        self.base: nn.Module = model.base_model
        """The model without its head."""
        self.adapter: Adapter = adapter_for(model)
        """The adapter of its family."""
        self.num_heads = self._config_value("num_heads", self.adapter.heads)
        """The number of heads of a layer of the full size."""
        self.head_dim = self._config_value("head_dim", "hidden_size")
        """The width of a head."""
        self.layers = tuple(self._layer(path) for path in self._layer_paths())
        """The layers of the encoder."""

    def _config_value(self, method: str, attribute: str) -> int:
        """Return a size from the model's config, by a method of the adapter."""
        try:
            value: int = getattr(self.adapter, method)(self.model.config)
        except (AttributeError, TypeError, ValueError, ZeroDivisionError) as problem:
            raise self._wrong(f"reads `{attribute}` of the config of {type(self.model).__name__} ({problem})") from None
        return value

    def _wrong(self, problem: str) -> UsageError:
        """Return the error of an adapter that does not fit the model."""
        adapter = self.adapter
        return UsageError(
            f"the adapter `{adapter.name}` of {source_of(adapter)} does not fit `{self.model.config.model_type}`: it {problem}"
        )

    def _layer_paths(self) -> list[str]:
        """Return the paths of the layers, in the order of their numbers in the names of units."""
        paths = [""]
        for part in self.adapter.layers.split(".*."):
            lists = [f"{path}.{part}".removeprefix(".") for path in paths]
            paths = [f"{path}.{index}" for path in lists for index in range(len(self._list(path)))]
        return paths

    def _list(self, path: str) -> nn.ModuleList | nn.Sequential:
        found = self._submodule(path)
        if not isinstance(found, (nn.ModuleList, nn.Sequential)):
            raise self._wrong(f"names `{path}` as the list of layers (`layers`), which is a {type(found).__name__}")
        return found

    def _submodule(self, path: str) -> nn.Module:
        try:
            return (self.model if path in self._outside_encoder else self.base).get_submodule(path)
        except AttributeError:
            raise self._wrong(f"names `{path}`, and {type(self.base).__name__} has no such module") from None

    def _layer(self, path: str) -> Layer:
        adapter = self.adapter
        matrices = {f"{path}.{name}": self._matrix(f"{path}.{name}") for name in adapter.matrices}
        for name, matrix in matrices.items():
            if is_transposed(matrix) != adapter.transposed:
                setting = f"`transposed` is {adapter.transposed}"
                raise self._wrong(
                    f"takes `{name}` for a {'Conv1D' if adapter.transposed else 'Linear'}, not {type(matrix).__name__} ({setting})"
                )
        *writers, reader = (evolve(part, path=f"{path}.{part.path}") for part in adapter.head_slices(self.head_dim))
        others = [self._per_head(f"{path}.{name}") for name in adapter.per_head if self._has(f"{path}.{name}")]
        neurons = tuple(evolve(part, path=f"{path}.{part.path}") for part in adapter.neuron_slices())
        roles = {role: matrices[f"{path}.{getattr(adapter, role)}"] for role in ROLES}
        layer = Layer(path, matrices, (*writers, *others, reader), neurons, **roles)
        weights = {name: original_parameter(matrix) for name, matrix in matrices.items()}
        weights |= {part.path: original_parameter(self._submodule(part.path)) for part in others}
        self._check_sizes("heads", layer.heads, weights)
        self._check_sizes("neurons", layer.neurons, weights)
        return layer

    def _per_head(self, path: str) -> Slices:
        """Return where the heads are in a module of ``per_head``."""
        module = self._submodule(path)
        if isinstance(module, nn.Embedding):
            return Slices(path, outputs=True, transposed=True)
        return Slices(path, outputs=True, width=self.head_dim, transposed=is_transposed(self._matrix(path)))

    def _check_sizes(self, group: str, parts: tuple[Slices, ...], weights: Mapping[str, nn.Parameter]) -> None:
        """Refuse modules that have room for different numbers of units. ``weights`` has those of the modules by path.

        :raises UsageError: they have.
        """
        reader = parts[-1]
        units = reader.units(weights[reader.path])
        for part in parts:
            size = int(weights[part.path].shape[part.dimension])
            if size == units * part.width * part.blocks:
                continue
            side = "outputs" if part.outputs else "inputs"
            where = f"`{part.path}` has {size} {side}, and `{reader.path}` reads {units} {group}"
            if group == "heads" and part.blocks == 1 and size < units * part.width:
                raise UsageError(
                    f"{where} of width {part.width}: heads that share keys or values (grouped queries) cannot be pruned one by one"
                )
            layout = f"{counted(part.blocks, 'block')} of {units} x {part.width}"
            raise self._wrong(f"expects {layout} in a module, but {where} (see `gated`, `ffn_gate`, fused matrices and `head_dim`)")

    def _has(self, path: str) -> bool:
        owner, _, name = path.rpartition(".")
        return hasattr(self._submodule(owner), name)

    def _matrix(self, path: str) -> Matrix:
        module = self._submodule(path)
        if not is_matrix(module):
            raise UsageError(f"`{path}` is a {type(module).__name__}; only plain Linear modules can be pruned (a quantised model cannot)")
        return cast(Matrix, module)

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

        ``weights/<matrix>``: the shape of the weight, (out, in) or for a Conv1D (in, out); ``heads/<layer>``: (heads,);
        ``neurons/<layer>``: (neurons,). With ``pooler`` and ``classifier``,
        the matrices of the pooler and of the classifier follow the other matrices, if the model has them.
        """
        matrices = {path: matrix for layer in self.layers for path, matrix in layer.matrices.items()}
        if pooler and self.has_pooler:
            matrices[self.adapter.pooler] = self._matrix(self.adapter.pooler)
        if classifier:
            matrices |= {path: self._matrix(path) for path in self.classifier}
        units: dict[str, tuple[int, ...]] = {
            f"weights/{path}.weight": tuple(original_parameter(matrix).shape) for path, matrix in matrices.items()
        }
        units |= {
            f"heads/{index}": (layer.head_reader.units(original_parameter(layer.attention_output)),)
            for index, layer in enumerate(self.layers)
        }
        units |= {
            f"neurons/{index}": (layer.neuron_reader.units(original_parameter(layer.ffn_out)),) for index, layer in enumerate(self.layers)
        }
        return units

    def module(self, name: str) -> Matrix:
        """Return the module of a unit ``weights/<matrix>``."""
        return self._matrix(name.removeprefix("weights/").removesuffix(".weight"))

    def weight(self, name: str) -> nn.Parameter:
        """Return the parameter of a unit ``weights/<matrix>``; under a parametrization or torch's pruning, the original one."""
        return self.parameter(name.removeprefix("weights/"))

    def parameter(self, path: str) -> nn.Parameter:
        """Return a parameter by its name in the base model; under a parametrization or torch's pruning, the original one."""
        owner, _, attribute = path.rpartition(".")
        return original_parameter(self._submodule(owner), attribute)

    def fingerprint(self) -> str:
        """Return the sha256 of the structure: model type, unit names and shapes, without head, pooler and embeddings."""
        structure = {"model_type": self.model.config.model_type, "units": self.units()}
        return hashlib.sha256(json.dumps(structure, sort_keys=True).encode()).hexdigest()

    def weights_hash(self) -> str:
        """Return the sha256 of the encoder's weights: names, types, shapes and bytes, without head and pooler."""
        pooler = self.adapter.pooler.partition(".")[0]
        state = {_plain_name(name): tensor for name, tensor in original_state(self.base).items()}
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
