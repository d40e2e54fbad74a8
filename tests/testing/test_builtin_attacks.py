"""Every built-in attack passes the conformance tests, if its resources are on this machine; a new one is tested without further ado."""

from __future__ import annotations

from typing import Any

from ticketlab.core import registry
from ticketlab.testing import AttackTests

FACTS: dict[str, dict[str, Any]] = {
    "textfooler": {"required": {"min_similarity": 0.5}},
    "textbugger": {"required": {"min_similarity": 0.5}},
    "bert-attack": {"required": {"candidates": 4, "combinations": 100, "min_similarity": -1.0}},
    "bae": {"required": {"candidates": 4, "min_similarity": -1.0}},
    "textattack": {"required": {"recipe": "Pruthi2019"}},
}
"""Settings with which an attack succeeds on tiny resources."""
BUILT_IN = registry.load(entry_points=False)
for _name in BUILT_IN.names("attack"):
    _cls = BUILT_IN.get("attack", _name)
    _facts = {"component": _cls, "__module__": __name__, **FACTS.get(_name, {})}
    globals()[f"Test{_cls.__name__}"] = type(f"Test{_cls.__name__}", (AttackTests,), _facts)
