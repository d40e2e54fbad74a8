"""Every built-in adapter passes the conformance tests, and so do those of a third party; a new one is tested without further ado."""

from __future__ import annotations

from pathlib import Path

import pytest
from third_party import families
from transformers import AutoConfig

from ticketlab.core import registry
from ticketlab.testing import AdapterTests
from ticketlab.testing.trials.workspace import Workspace

CONFIG = AutoConfig.for_model("gpt_neox", hidden_size=24, num_hidden_layers=3, num_attention_heads=2, intermediate_size=10)
EXPORTED = ("bert", "gpt2")
"""Adapters whose models are exported with every run of the tests, and Llama below: an export takes seconds."""


@pytest.mark.system
def exported(self: AdapterTests, workspace: Workspace, tmp_path: Path) -> None:
    """Export the others."""
    AdapterTests.test_a_shrunk_model_is_exported_to_onnx(self, workspace, tmp_path)


BUILT_IN = registry.load(entry_points=False)
for _name in BUILT_IN.names("backbone"):
    _cls = BUILT_IN.get("backbone", _name)
    _facts = {} if _name in EXPORTED else {"test_a_shrunk_model_is_exported_to_onnx": exported}
    globals()[f"Test{_cls.__name__}"] = type(f"Test{_cls.__name__}", (AdapterTests,), {"component": _cls, "__module__": __name__, **_facts})


class TestLlama(AdapterTests):
    component = families.Llama


class TestNeoX(AdapterTests):
    component = families.NeoX
    test_a_shrunk_model_is_exported_to_onnx = exported
    models = ("gpt_neox", CONFIG)


class TestMegatron(AdapterTests):
    component = families.Megatron
    test_a_shrunk_model_is_exported_to_onnx = exported
