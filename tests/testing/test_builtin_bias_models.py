"""Every built-in bias model passes the conformance tests; a new one is tested without further ado."""

from __future__ import annotations

from ticketlab.core import registry
from ticketlab.testing import BiasModelTests

BUILT_IN = registry.load(entry_points=False)
for _name in BUILT_IN.names("bias model"):
    _cls = BUILT_IN.get("bias model", _name)
    globals()[f"Test{_cls.__name__}"] = type(f"Test{_cls.__name__}", (BiasModelTests,), {"component": _cls, "__module__": __name__})
