"""Every built-in objective passes the conformance tests; a new one is tested without further ado."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core import registry
from ticketlab.testing import ObjectiveTests

BUILT_IN = registry.load(entry_points=False)
REQUIRED = {"mlm": {"text": str(Path(__file__).with_name("sentences.txt"))}}
"""Settings without which an objective cannot be used."""
SETTINGS = {"mlm": ({"mask_ratio": 0.5, "shortest": 1},)}

for _name in BUILT_IN.names("objective"):
    _cls = BUILT_IN.get("objective", _name)
    _attributes = {"component": _cls, "required": REQUIRED.get(_name, {}), "settings": SETTINGS.get(_name, ()), "__module__": __name__}
    globals()[f"Test{_cls.__name__}"] = type(f"Test{_cls.__name__}", (ObjectiveTests,), _attributes)
