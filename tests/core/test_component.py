"""Declarations of a component that would be ignored are refused: unknown precisions and outputs."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen

from ticketlab.core.component import components_in
from ticketlab.plugin import Adversary, Loss, Pruner, component


@pytest.mark.parametrize(
    ("base", "attribute", "value", "message"),
    [
        pytest.param(Loss, "required_inputs", ("labels",), "some of bias, teacher", id="an unknown input"),
        pytest.param(Loss, "required_outputs", ("logits",), "some of hidden_states", id="an unknown output"),
        pytest.param(Pruner, "required_outputs", ["hidden_states"], "must be a tuple", id="a list"),
        pytest.param(Adversary, "precisions", ("fp16",), "some of fp32, bf16", id="an unknown precision"),
    ],
)
def test_names_that_are_unknown_are_refused(base: type, attribute: str, value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=rf"Theirs.{attribute} must be a tuple of {message}|Theirs.{attribute} {message}"):
        type("Theirs", (base,), {attribute: value})


def test_components_of_components_are_found() -> None:
    @frozen
    class Around(Adversary):
        name = "around"
        summary = "around another"
        inner: Adversary = component("adversary", "freelb", help="the other one")

    @frozen
    class Twice(Adversary):
        name = "twice"
        summary = "around two"
        first: Adversary = component("adversary", "fgm", help="one")
        second: Adversary = component("adversary", "none", help="the other")

    assert [part.name for part in components_in(Twice(second=Around()))] == ["fgm", "around", "freelb"]
