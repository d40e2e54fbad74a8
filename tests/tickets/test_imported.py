"""Masks from elsewhere: names, shapes and values, and the tickets made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.families import FAMILIES
from torch import Tensor
from torch.nn.utils import prune

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier, load_encoder
from ticketlab.core.errors import UsageError
from ticketlab.tickets.ticket import HEADS_PER_LAYER, Ticket

QUERY, OUTPUT = "encoder.layer.0.attention.self.query", "encoder.layer.1.output.dense"


@pytest.fixture
def model(tiny: dict[str, Path]) -> Any:
    return load_classifier(str(tiny["bert"]), ("bad", "good"), 0)[0]


@pytest.fixture
def mask(model: Any) -> Callable[[str], Tensor]:
    """Return a random mask for the matrix of a module in the base model."""
    generator = torch.Generator().manual_seed(0)

    def make(path: str) -> Tensor:
        return torch.rand(Backbone(model).weight(f"weights/{path}.weight").shape, generator=generator) > 0.5

    return make


NAMINGS = {
    "of the parameter in the whole model": lambda path: f"bert.{path}.weight",
    "of the parameter in the base model": lambda path: f"{path}.weight",
    "of the module": lambda path: path,
    "of the unit": lambda path: f"weights/{path}.weight",
    "of prune's buffer": lambda path: f"bert.{path}.weight_mask",
    "of prune's buffer in the base model": lambda path: f"{path}.weight_mask",
}
KINDS = {
    "bool": lambda mask: mask,
    "float32": lambda mask: mask.float(),
    "bfloat16": lambda mask: mask.bfloat16(),
    "uint8": lambda mask: mask.byte(),
    "numpy": lambda mask: mask.numpy(),
    "numpy float64": lambda mask: mask.numpy().astype(np.float64),
    "not contiguous": lambda mask: mask.numpy()[:, ::-1][:, ::-1],
}


@pytest.mark.parametrize("name", NAMINGS.values(), ids=NAMINGS)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_names_and_types_do_not_matter(model: Any, mask: Callable[[str], Tensor], name: Any, kind: Any) -> None:
    query, output = mask(QUERY), mask(OUTPUT)
    ticket = Ticket.from_masks(model, {name(QUERY): kind(query), name(OUTPUT): kind(output)})
    assert torch.equal(ticket.masks[f"weights/{QUERY}.weight"], query)
    assert torch.equal(ticket.masks[f"weights/{OUTPUT}.weight"], output)


def test_matrices_without_a_mask_are_kept_whole_and_listed(model: Any, mask: Callable[[str], Tensor]) -> None:
    backbone, query = Backbone(model), mask(QUERY)
    ticket = Ticket.from_masks(model, {QUERY: query}, {"note": "mine"})
    matrices = [name for name in backbone.units() if name.startswith("weights/")]
    assert set(ticket.masks) == set(matrices)
    others = [name for name in matrices if name != f"weights/{QUERY}.weight"]
    assert ticket.provenance == {"imported": True, HEADS_PER_LAYER: backbone.num_heads, "kept_whole": others, "note": "mine"}
    assert ticket.total() - ticket.kept() == query.numel() - int(query.sum())
    assert (ticket.structure, ticket.found_on, ticket.rewind_to) == (backbone.fingerprint(), *[backbone.weights_hash()] * 2)
    assert (ticket.head, ticket.labels) == ({}, ())


def test_masks_of_heads_and_neurons_have_a_row_for_each_layer(model: Any) -> None:
    units = Backbone(model).units()
    layers, (heads,), (neurons,) = len(Backbone(model).layers), units["heads/0"], units["neurons/0"]
    head_mask = torch.ones(layers, heads)
    head_mask[1, 0] = 0
    neuron_mask = torch.ones(layers, neurons)
    neuron_mask[0, 3:5] = 0
    ticket = Ticket.from_masks(model, {"head_mask": head_mask, "neuron_mask": neuron_mask})
    assert ticket.masks["heads/0"].tolist() == [True] * heads
    assert ticket.masks["heads/1"].tolist() == [False] + [True] * (heads - 1)
    assert (~ticket.masks["neurons/0"]).nonzero().flatten().tolist() == [3, 4]
    small = ticket.shrink(model)
    assert small.num_parameters() < model.num_parameters()
    only = Ticket.from_masks(model, {"heads": head_mask.numpy().astype(np.int64)})
    assert only.groups == ("heads",)


def test_the_masks_of_the_classifier_bring_the_classifier(model: Any) -> None:
    name = next(iter(Backbone(model).classifier))
    kept = torch.rand(Backbone(model).weight(f"weights/{name}.weight").shape) > 0.5
    ticket = Ticket.from_masks(model, {f"{name}.weight": kept})
    assert ticket.labels == ("bad", "good")
    backbone = Backbone(model)
    assert f"weights/{name}.weight" in ticket.masks_on(backbone)


def test_the_ticket_of_a_classifier_in_half_precision_is_the_same_after_it_was_saved(model: Any, tmp_path: Path) -> None:
    name = f"{next(iter(Backbone(model).classifier))}.weight"
    for dtype in (torch.bfloat16, torch.float16):
        half = model.to(dtype)
        ticket = Ticket.from_masks(half, {name: torch.rand(half.get_parameter(name).shape) > 0.5})
        ticket.save(tmp_path / "half.safetensors")
        loaded = Ticket.load(tmp_path / "half.safetensors")
        assert loaded == ticket
        assert f"weights/{name}" in loaded.masks_on(Backbone(half))


def pruned(model: Any, paths: tuple[str, ...] = (QUERY, OUTPUT)) -> dict[str, Tensor]:
    """Prune modules of a model, and return their masks."""
    modules = [model.base_model.get_submodule(path) for path in paths]
    prune.global_unstructured([(module, "weight") for module in modules], prune.L1Unstructured, amount=0.3)
    return {f"weights/{path}.weight": module.weight_mask.bool() for path, module in zip(paths, modules, strict=True)}


def test_a_model_under_torch_prune_and_its_state_dict_give_the_same_ticket(model: Any) -> None:
    before = Backbone(model).weights_hash()
    expected = Ticket.from_masks(model, pruned(model), {"imported_from": "torch.nn.utils.prune"})
    state = model.state_dict()
    live = Ticket.from_pruned(model)
    assert live == expected
    assert live.found_on == live.rewind_to == before
    assert Ticket.from_masks(model, state, {"imported_from": "torch.nn.utils.prune"}) == live
    assert state.keys() == model.state_dict().keys()


def test_a_ticket_of_a_pruned_model_zeroes_the_same_weights(model: Any, tiny: dict[str, Path]) -> None:
    masks = pruned(model)
    ticket = Ticket.from_pruned(model)
    other, _ = load_classifier(str(tiny["bert"]), ("bad", "good"), 0)
    ticket.apply(other)  # without a warning, since it is for these weights
    for name, mask in masks.items():
        weight = Backbone(other).weight(name)
        path = name.removeprefix("weights/").removesuffix(".weight")
        assert torch.equal(weight, model.base_model.get_submodule(path).weight)
        assert torch.equal(weight == 0, ~mask | (weight == 0))


def test_a_model_without_masks_is_refused(model: Any) -> None:
    pruned(model)
    for path in (QUERY, OUTPUT):
        prune.remove(model.base_model.get_submodule(path), "weight")
    with pytest.raises(UsageError, match=r"no masks of torch.nn.utils.prune; after prune.remove only zeros are left"):
        Ticket.from_pruned(model)


def ones(model: Any, path: str) -> Tensor:
    return torch.ones(Backbone(model).weight(f"weights/{path}.weight").shape)


def test_masks_of_ones_of_other_parameters_are_ignored(model: Any) -> None:
    given = {
        f"{QUERY}.weight": ones(model, QUERY),
        f"{QUERY}.bias_mask": torch.ones(32),
        "bert.embeddings.LayerNorm.weight": torch.ones(32),
    }
    assert Ticket.from_masks(model, given) == Ticket.from_masks(model, {QUERY: ones(model, QUERY)})


def changed(tensor: Tensor, value: float, number: int = 1) -> Tensor:
    tensor = tensor.clone()
    tensor.view(-1)[:number] = value
    return tensor


REFUSED: dict[str, tuple[Callable[[Any], Mapping[str, Any]], str]] = {
    "scores": (lambda model: {QUERY: changed(ones(model, QUERY), 0.3, 7)}, rf"`{QUERY}`: 7 of \d+ values are neither 0 nor 1, such as 0.3"),
    "nan": (lambda model: {QUERY: changed(ones(model, QUERY), float("nan"), 2)}, "2 of .* neither 0 nor 1, such as nan"),
    "two": (lambda model: {QUERY: changed(ones(model, QUERY).int(), 2)}, "1 of .* neither 0 nor 1, such as 2"),
    "almost one": (lambda model: {QUERY: changed(ones(model, QUERY), 1 - 1e-7)}, "1 of .* neither 0 nor 1"),
    "a list": (lambda model: {QUERY: [[1]]}, "a mask must be a tensor or an array of numbers, not list"),
    "an array of text": (lambda model: {QUERY: np.array(["1"])}, "a mask must be a tensor or an array of numbers, not ndarray"),
    "transposed": (
        lambda model: {OUTPUT: ones(model, OUTPUT).T},
        rf"`{OUTPUT}`: its shape is .*: it is transposed .*; transpose all masks, also the square ones",
    ),
    "another size": (lambda model: {QUERY: torch.ones(3, 5)}, r"its shape is \(3, 5\), and that of the model's \(\d+, \d+\)"),
    "a flat mask": (lambda model: {QUERY: ones(model, QUERY).flatten()}, "is it from a model of another size"),
    "a misspelled name": (
        lambda model: {name: ones(model, QUERY) for name in (f"bert.{QUERY.replace('query', 'qerry')}.weight", "a", "b", "c")},
        rf"called `bert.{QUERY.replace('query', 'qerry')}.weight`, `a`, `b` and 1 more; did you mean `{QUERY}.weight`",
    ),
    "twice": (lambda model: {QUERY: ones(model, QUERY), f"bert.{QUERY}.weight": ones(model, QUERY)}, "are both masks of"),
    "too few layers": (lambda model: {"head_mask": torch.ones(1, 2)}, r"its shape is \(1, 2\), and a mask of the model's heads has"),
    "a bias": (
        lambda model: {QUERY: ones(model, QUERY), f"{QUERY}.bias": changed(torch.ones(32), 0, 5)},
        "removes 5 of 32 values of a parameter",
    ),
    "nothing": (lambda model: {}, "there is no mask of a weight matrix"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_mask_of_the_model_is_refused(model: Any, given: Callable[[Any], Mapping[str, Any]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Ticket.from_masks(model, given(model))


def test_an_encoder_without_a_head_is_enough(tiny: dict[str, Path]) -> None:
    encoder = load_encoder(str(tiny["bert"]))
    assert Ticket.from_masks(encoder, {f"bert.{QUERY}.weight": ones(encoder, QUERY)}).sparsity() == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_of_every_family_may_be_pruned(tiny: dict[str, Path], family: str) -> None:
    model, _ = load_classifier(str(tiny[family]), ("bad", "good"), 0)
    before = Backbone(model).weights_hash()
    modules = {path: model.base_model.get_submodule(path) for layer in Backbone(model).layers for path in layer.matrices}
    prune.global_unstructured([(module, "weight") for module in modules.values()], prune.L1Unstructured, amount=0.25)
    expected = {f"weights/{path}.weight": module.weight_mask.bool() for path, module in modules.items()}
    ticket = Ticket.from_pruned(model)
    assert ticket.masks.keys() == expected.keys()
    assert all(torch.equal(ticket.masks[name], mask) for name, mask in expected.items())
    assert ticket.kept() == ticket.total() - round(0.25 * ticket.total())
    assert ticket.found_on == before


@pytest.mark.parametrize("family", FAMILIES)
def test_the_names_of_parameters_are_those_of_every_family(tiny: dict[str, Path], family: str) -> None:
    model, _ = load_classifier(str(tiny[family]), ("bad", "good"), 0)
    units = {name for name in Backbone(model).units(pooler=True, classifier=True) if name.startswith("weights/")}
    parameters = {name: torch.ones_like(value) for name, value in model.named_parameters()}
    ticket = Ticket.from_masks(model, parameters)
    assert set(ticket.masks) == units
    assert ticket.provenance["kept_whole"] == []
