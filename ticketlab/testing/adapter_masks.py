"""The conformance tests of adapters about masks: a unit is everything that it takes with it, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from ticketlab.backbone.masks import attach_mask, detach_mask, expand, zero_removed
from ticketlab.backbone.matrices import is_matrix
from ticketlab.testing.adapter_suite import AdapterSuite
from ticketlab.testing.models.example_masks import random_masks, single_units
from ticketlab.testing.models.noisy_model import ROUNDING, gated, logits, loss_gradients, quiet_logits, same
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.reported_errors import reported_errors


class AdapterMaskTests(AdapterSuite):
    """Part of :class:`ticketlab.testing.AdapterTests`."""

    def test_every_matrix_of_a_layer_is_named(self, folder: Path) -> None:
        """A matrix that the adapter forgets keeps what is removed from the others."""
        backbone = self._backbone(folder)
        named = {part.path for layer in backbone.layers for part in (*layer.heads, *layer.neurons)}
        named |= {path for layer in backbone.layers for path in layer.matrices}
        for layer in backbone.layers:
            for path, module in backbone.base.get_submodule(layer.path).named_modules():
                if is_matrix(module) and path not in self.unpruned:
                    require(
                        f"{layer.path}.{path}" in named,
                        f"`{self.component.name}` names no matrix `{path}`, which is in a layer: name it by its role, such as "
                        "`ffn_gate`, or in `per_head` if its outputs belong to heads, or in `unpruned` of the test if it is never pruned",
                    )

    def test_units_are_those_of_the_model(self, folder: Path) -> None:
        """Each unit is found once, its shape is that of the model, and its size is the one in the config."""
        backbone = self._backbone(folder)
        adapter, config, units = backbone.adapter, backbone.model.config, backbone.units()
        layers = len(backbone.layers)
        with reported_errors():
            stated = {method: getattr(adapter, method)(config) for method in ("num_layers", "num_heads", "num_neurons")}
        for method, actual in (("num_layers", layers), ("num_heads", units["heads/0"][0]), ("num_neurons", units["neurons/0"][0])):
            require(
                stated[method] == actual, f"`{method}` of the config is {stated[method]}, and the model has {actual}: override `{method}`"
            )
        structured = [name for name in units if not name.startswith("weights/")]
        require(
            structured == [f"{group}/{index}" for group in ("heads", "neurons") for index in range(layers)],
            f"the structured units are {structured}: there must be heads and neurons of each of the {layers} layers",
        )
        weights = {name: backbone.weight(name) for name in units if name.startswith("weights/")}
        require(len({id(weight) for weight in weights.values()}) == len(weights), "two paths of the adapter name the same matrix")
        for name, weight in weights.items():
            require(tuple(weight.shape) == units[name], f"`{name}` is {tuple(weight.shape)}, and its unit {units[name]}")
        for index, layer in enumerate(backbone.layers):
            numbers = {adapter.layer_of(f"weights/{path}.weight") for path in layer.matrices}
            require(
                len(numbers) == 1 and None not in numbers,
                f"`layer_of` gives the matrices of layer {index} the numbers {numbers}: it must return those of one layer",
            )
        outside = backbone.word_embeddings
        name = next(name for name, module in backbone.base.named_modules() if module is outside)
        require(adapter.layer_of(f"{name}.weight") is None, f"`layer_of` takes the word embeddings `{name}` for a part of a layer")

    def test_a_removed_unit_is_a_blocked_one(self, folder: Path, model: Any) -> None:
        """A unit whose parameters are zero has the effect of one whose output is blocked: the layout of the matrices is right."""
        backbone = self._backbone(folder, model)
        whole = quiet_logits(model)
        for name, mask in single_units(backbone):
            group, _, index = name.partition("/")
            layer = backbone.layers[int(index)]
            part = layer.head_reader if group == "heads" else layer.neuron_reader
            with gated([(backbone.base.get_submodule(part.path), part, mask.float())]):
                blocked = quiet_logits(model)
            removed = quiet_logits(self._masked(model, {name: mask}))
            slices = "head_slices" if group == "heads" else "neuron_slices"
            require(
                same(removed, blocked, whole),
                f"removing one of `{name}` changes something else than what `{part.path}` reads from it: the order of the rows of a fused "
                f"matrix is another, or a matrix is missing; see `{slices}`, `gated` and `per_head`",
            )

    def test_every_layer_affects_the_logits(self, folder: Path, model: Any) -> None:
        """What is removed is used: a model whose parts are computed elsewhere ignores masks."""
        backbone = self._backbone(folder, model)
        whole = quiet_logits(model)
        for name, shape in backbone.units().items():
            changed = quiet_logits(self._masked(model, {name: torch.zeros(shape, dtype=torch.bool)}))
            require(
                bool((changed - whole).abs().max() > ROUNDING),
                f"the logits do not depend on `{name}`: its modules are not those that the model computes with (see `config_values`)",
            )

    def test_what_is_removed_gets_no_gradient(self, folder: Path, model: Any) -> None:
        """The parameters that a removed unit takes with it are all of those that only it uses."""
        backbone = self._backbone(folder, model)
        masks = random_masks(backbone, 0)
        zero_removed(backbone, masks)
        gradients = loss_gradients(model)
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        for name, kept in expand(backbone, masks).items():
            left = gradients[names[id(backbone.parameter(name))]][~kept]
            require(
                not left.numel() or float(left.abs().max()) <= ROUNDING,
                f"removed entries of `{name}` get a gradient: another matrix still passes on what the removed units compute",
            )

    def test_gates_of_every_unit_get_a_gradient(self, folder: Path, model: Any) -> None:
        """Pruners train gates of heads, neurons and weights by the gradient of the loss."""
        backbone = self._backbone(folder, model)
        units = backbone.units()
        gates = {name: torch.ones(shape, requires_grad=True) for name, shape in units.items()}
        readers = [
            (backbone.base.get_submodule(part.path), part, gates[f"{group}/{index}"])
            for index, layer in enumerate(backbone.layers)
            for group, part in (("heads", layer.head_reader), ("neurons", layer.neuron_reader))
        ]
        matrices = {name: backbone.module(name) for name in units if name.startswith("weights/")}
        masks = {name: attach_mask(matrix) for name, matrix in matrices.items()}
        for name, mask in masks.items():
            mask.effective = backbone.weight(name).detach() * gates[name]
        with gated(readers):
            torch.autograd.backward(nn.functional.cross_entropy(logits(model), torch.tensor([0, 1, 2])))
        for matrix in matrices.values():
            detach_mask(matrix)
        for name, gate in gates.items():
            reached = gate.grad is not None and bool(gate.grad.isfinite().all()) and bool(gate.grad.any())
            require(reached, f"the gate of `{name}` gets no finite gradient: the model does not compute with the named modules")
