"""Every built-in stop rule passes the conformance tests; a new one is tested without further ado."""

from __future__ import annotations

from ticketlab.core import registry
from ticketlab.testing import StopRuleTests

BUILT_IN = registry.load(entry_points=False)
for _name in BUILT_IN.names("stop rule"):
    _cls = BUILT_IN.get("stop rule", _name)
    globals()[f"Test{_cls.__name__}"] = type(f"Test{_cls.__name__}", (StopRuleTests,), {"component": _cls, "__module__": __name__})
