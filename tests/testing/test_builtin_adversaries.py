"""Every built-in adversary passes the conformance tests; a new one is tested without further ado."""

from __future__ import annotations

from ticketlab.core import registry
from ticketlab.testing import AdversaryTests

BUILT_IN = registry.load(entry_points=False)
for _name in BUILT_IN.names("adversary"):
    _cls = BUILT_IN.get("adversary", _name)
    globals()[f"Test{_cls.__name__}"] = type(f"Test{_cls.__name__}", (AdversaryTests,), {"component": _cls, "__module__": __name__})
