"""Estimates of the memory of stages: what they grow with, and their order of magnitude."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ticketlab.stages.evaluate import Evaluate
from ticketlab.stages.search import SearchStage
from ticketlab.stages.train import Train
from ticketlab.studies import memory

BASE = {
    "model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
    "vocab_size": 30522, "max_position_embeddings": 512,
}  # fmt: skip


@pytest.fixture
def estimate(tmp_path: Path) -> Any:
    """Return the estimate of a stage of BERT-base in GB."""
    (tmp_path / "config.json").write_text(json.dumps(BASE))

    def of(stage: Any, max_length: int = 128) -> float:
        inputs: Any = SimpleNamespace(model=str(tmp_path), recipe=SimpleNamespace(max_length=max_length))
        found = memory.memory_of(stage, inputs)
        assert found is not None
        return found / 1e9

    return of


def test_a_training_of_bert_base_needs_some_gigabytes(estimate: Any) -> None:
    assert 5 < estimate(Train()) < 9  # 1 for the process, 1.7 for the weights, and 3 to 4 for the activations of 32 rows
    assert 1.3 < estimate(Evaluate()) < 3


def test_it_grows_with_the_batch_the_length_and_what_is_trained(estimate: Any) -> None:
    assert estimate(Train(batch_size=64)) > estimate(Train())
    assert estimate(Train(), 256) > estimate(Train())
    assert estimate(Train(), 4096) == estimate(Train(), 512)  # the model takes no longer inputs
    assert estimate(SearchStage(pruner="hard-concrete")) > estimate(Train())


def test_a_model_without_a_readable_config_has_no_estimate(tmp_path: Path) -> None:
    inputs: Any = SimpleNamespace(model=str(tmp_path / "none"), recipe=SimpleNamespace(max_length=128))
    assert memory.memory_of(Train(), inputs) is None
