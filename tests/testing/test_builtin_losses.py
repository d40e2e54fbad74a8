"""Every built-in loss passes the conformance tests; a new one is tested without further ado."""

from __future__ import annotations

from ticketlab.core import registry
from ticketlab.testing import LossTests

BUILT_IN = registry.load(entry_points=False)
for _name in BUILT_IN.names("loss"):
    _cls = BUILT_IN.get("loss", _name)
    globals()[f"Test{_cls.__name__}"] = type(f"Test{_cls.__name__}", (LossTests,), {"component": _cls, "__module__": __name__})
