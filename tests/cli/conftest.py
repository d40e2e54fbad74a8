from __future__ import annotations

from pathlib import Path

import pytest

PLUGIN = '''
"""A pruner that scores units by their distance from the middle of their matrix."""

from typing import ClassVar

from attrs import frozen

from ticketlab.plugin import hookimpl, setting
from ticketlab.pruners.base import Pruner


@frozen
class Middle(Pruner):
    """Not a good pruner."""

    name: ClassVar[str] = "middle"
    summary: ClassVar[str] = "score units by their distance from the middle"

    power: float = setting(2.0, above=0, help="exponent of the distance", unit="1")


@hookimpl
def ticketlab_pruners():
    return [Middle]
'''


@pytest.fixture(autouse=True)
def _own_registry(own_registry: None) -> None:
    """Isolate the registry, because commands load plugins."""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "middle_plugin.py"
    path.write_text(PLUGIN, encoding="utf-8")
    return path


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An installed plugin that raises ImportError."""
    info = tmp_path / "broken_plugin-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.2\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[ticketlab]\nbroken = broken_plugin\n", encoding="utf-8")
    (tmp_path / "broken_plugin.py").write_text("import a_package_that_is_not_here\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return "broken-plugin 1.2"
