"""Every built-in pruner passes the conformance tests; a new one is tested without further ado."""

from __future__ import annotations

from ticketlab.core import registry
from ticketlab.testing import PrunerTests

BUILT_IN = registry.load(entry_points=False)
for _name in BUILT_IN.names("pruner"):
    _cls = BUILT_IN.get("pruner", _name)
    globals()[f"Test{_cls.__name__}"] = type(f"Test{_cls.__name__}", (PrunerTests,), {"component": _cls, "__module__": __name__})
