"""Every built-in metric passes the conformance tests, and so does that of a third party; a new one is tested without further ado."""

from __future__ import annotations

from third_party.supported_f1 import SupportedF1

from ticketlab.core import registry
from ticketlab.testing import MetricTests

BUILT_IN = registry.load(entry_points=False)
for _name in BUILT_IN.names("metric"):
    _cls = BUILT_IN.get("metric", _name)
    globals()[f"Test{_cls.__name__}"] = type(f"Test{_cls.__name__}", (MetricTests,), {"component": _cls, "__module__": __name__})


class TestSupportedF1(MetricTests):
    component = SupportedF1
    settings = ({"support": 30},)
