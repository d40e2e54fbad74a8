from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ticketlab.core.errors import ResourceError
from ticketlab.tuning.space import Range
from ticketlab.tuning.store import open_store


def test_without_optuna_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    store = open_store(tmp_path / "a.db", {}, {"penalty": Range(1, 2)}, lower_is_better=False, sampler_seed=0)
    with pytest.raises(ResourceError, match=r'needs the package optuna; `pip install "ticketlab\[tune\]"`'):
        store.__enter__()
