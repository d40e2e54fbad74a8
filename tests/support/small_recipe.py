"""A recipe that runs in seconds."""

import importlib.util

import pytest

needs_textattack = pytest.mark.skipif(importlib.util.find_spec("textattack") is None, reason="textattack is not installed")

TABLE = {
    "finetune": {"kind": "train", "epochs": 2, "lr": 1e-3, "batch_size": 8},
    "search": {
        "kind": "search", "start": "finetune", "epochs": 2, "batch_size": 8,
        "adversary": {"name": "freelb", "steps": 2},
    },
    "draw": {"kind": "draw", "sparsity": 0.3},
    "retrain": {"kind": "train", "ticket": "draw", "epochs": 2, "lr": 1e-3, "batch_size": 8},
    "evaluate": {"kind": "evaluate", "model": "retrain"},
    "attack": {"kind": "attack", "model": "retrain", "attacks": ["deepwordbug"], "examples": 8},
}  # fmt: skip


def without_cost(value):
    """Return results without the costs, which differ between runs."""
    if isinstance(value, dict):
        return {key: without_cost(item) for key, item in value.items() if key != "cost"}
    return [without_cost(item) for item in value] if isinstance(value, list) else value
