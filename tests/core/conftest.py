from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ticketlab.core.registry import Registry


@pytest.fixture(autouse=True)
def _builtins_only(builtins_only: Registry) -> None:
    """Ignore installed plugins."""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Install a package ``stating`` 2.0 whose entry module has the given text, and return the file."""

    def install(text: str | bytes, module: str = "stating.entry", requires: Sequence[str] = ()) -> Path:
        site = tmp_path / "site"
        info = site / "stating-2.0.dist-info"
        info.mkdir(parents=True)
        required = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: stating\nVersion: 2.0\n{required}", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[ticketlab]\nstating = {module}\n", encoding="utf-8")
        file = site.joinpath(*module.split(".")).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.parent != site:
            (file.parent / "__init__.py").write_text("", encoding="utf-8")
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        monkeypatch.syspath_prepend(site)
        importlib.invalidate_caches()
        return file

    known = set(sys.modules)
    yield install
    for name in set(sys.modules) - known:
        if name.startswith("stating"):
            del sys.modules[name]
