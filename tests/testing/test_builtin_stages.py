"""Every built-in stage passes the conformance tests, and so does that of a third party; a new one is tested without further ado."""

from __future__ import annotations

from typing import Any

from support.small_recipe import needs_textattack
from third_party.quantise_stage import Quantise

from ticketlab.core import registry
from ticketlab.testing import StageTests

TRAINING = {"epochs": 1, "batch_size": 8}
FACTS: dict[str, dict[str, Any]] = {
    "train": {"required": {**TRAINING, "lr": 1e-3}},
    "search": {"required": {**TRAINING, "pruner": "hard-concrete"}},
    "bias": {"required": {"folds": 2}, "pairs": True},
    "attack": {"required": {"examples": 3}, "unbounded": ("sample_seed",)},
    "measure": {"required": {"batch_sizes": [1], "repeats": 1}, "measured": ("passes", "latency_1")},
}
"""Settings with which a stage takes seconds."""
BUILT_IN = registry.load(entry_points=False)
for _name in BUILT_IN.names("stage"):
    _cls = BUILT_IN.get("stage", _name)
    _suite = type(f"Test{_cls.__name__}", (StageTests,), {"component": _cls, "__module__": __name__, **FACTS.get(_name, {})})
    globals()[_suite.__name__] = needs_textattack(_suite) if _name == "attack" else _suite


class TestQuantise(StageTests):
    component = Quantise
    settings = ({"bits": 4},)
