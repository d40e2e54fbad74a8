"""Adapters with a mistake fail in the conformance test that is about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import evolve, frozen
from support.suite_outcomes import failures_of
from third_party import families

from ticketlab.backbone.families import Bert, Roberta
from ticketlab.plugin import Adapter, Slices
from ticketlab.testing import AdapterTests


def variant(base: type[Adapter], *model_types: str, **facts: Any) -> type[Adapter]:
    own: dict[str, Any] = {"name": "variant", "summary": "a variant", "model_types": model_types, "__module__": __name__, **facts}
    return frozen(type("Variant", (base,), own))


@frozen
class HeadsInReverse(families.Megatron):
    """Names the heads of the output in another order than those of the queries, which no shape shows."""

    name: ClassVar[str] = "reverse"
    attention: ClassVar[str] = "attention.self"

    def head_slices(self, head_dim: int) -> tuple[Slices, ...]:
        *projections, output = Adapter.head_slices(self, head_dim)
        return (*(evolve(part, width=1, blocks=head_dim) for part in projections), output)


@frozen
class ForgottenBias(families.NeoX):
    """Returns zeros where the attention module without heads returns the bias of its output."""

    def without_heads(self, attention: Any, hidden: Any, context: Any) -> Any:
        return hidden * 0


BROKEN = [
    pytest.param(families.WrongLayout, "test_a_removed_unit_is_a_blocked_one", "the order of the rows of a fused matrix", id="layout"),
    pytest.param(HeadsInReverse, "test_a_removed_unit_is_a_blocked_one", "see `head_slices`", id="blocks of heads"),
    pytest.param(families.WrongLayout, "test_a_shrunk_model_computes_what_a_masked_one_does", "something else than a masked", id="shrunk"),
    pytest.param(ForgottenBias, "test_a_shrunk_model_computes_what_a_masked_one_does", "something else than a masked", id="no heads"),
    pytest.param(families.ForgottenGate, "test_every_matrix_of_a_layer_is_named", "names no matrix `mlp.gate_proj`", id="gate"),
    pytest.param(families.ForgottenGate, "test_a_shrunk_model_computes_what_a_masked_one_does", "cannot shrink `llama`", id="shrunk gate"),
    pytest.param(families.WrongModule, "test_a_shrunk_model_computes_what_a_masked_one_does", "selff", id="module"),
    pytest.param(families.WrongAttribute, "test_a_shrunk_model_computes_what_a_masked_one_does", "a shrunk model fails with", id="width"),
    pytest.param(families.WrongSize, "test_units_are_those_of_the_model", "ffn_size", id="size in the config"),
    pytest.param(
        variant(families.Megatron, "megatron-bert", key="attention.self.query"),
        "test_every_matrix_of_a_layer_is_named",
        "does not fit `megatron-bert`",
        id="keys taken for queries",
    ),
    pytest.param(variant(Bert, "data2vec-text"), "test_the_longest_input_is_that_of_the_model", "override `max_length`", id="positions"),
    pytest.param(variant(families.Llama, "llama", decoder=False), "test_padding_changes_nothing", "no padding token", id="decoder"),
    pytest.param(
        variant(Roberta, "data2vec-text", mlm_heads=("cls",)),
        "test_the_masked_language_model_head_is_named",
        "`mlm_heads` names cls",
        id="head",
    ),
    pytest.param(variant(Bert, "bert"), "test_each_model_type_has_this_adapter_alone", "has 2 adapters", id="taken"),
    pytest.param(variant(Bert), "test_each_model_type_has_this_adapter_alone", "model_types is empty", id="no type"),
]


@pytest.mark.parametrize(("component", "test", "message"), BROKEN)
def test_a_mistake_fails_in_the_test_about_it(component: type[Adapter], test: str, message: str, tmp_path: Path) -> None:
    failures = failures_of(AdapterTests, test, tmp_path, component=component)
    assert failures
    for text in failures.values():
        assert message in text, text
