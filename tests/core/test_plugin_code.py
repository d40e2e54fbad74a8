"""The version of a plugin follows its code: its own files, with the modules that they import, and nothing else."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ticketlab.core import registry
from ticketlab.core.plugin_code import digest, files_of
from ticketlab.core.plugin_source import PluginCode

PLUGIN = """
from typing import ClassVar
from attrs import frozen
from ticketlab.plugin import Pruner, hookimpl
{imports}

@frozen
class Mine(Pruner):
    name: ClassVar[str] = "mine"
    summary: ClassVar[str] = "mine"

    def later(self):
        import late

@hookimpl
def ticketlab_pruners():
    return [Mine]
"""


@pytest.fixture
def modules() -> Iterator[None]:
    """Forget what the test has imported."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("my_", "their_")):
            del sys.modules[name]


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def version_of_file(file: Path) -> str:
    loaded = registry.load([file], entry_points=False)
    assert loaded.problems == []
    return loaded.version(loaded.get("pruner", "mine")())


FILES = {
    "my.py": PLUGIN.format(imports="import helper"),
    "helper.py": "from . import deeper\n",
    "deeper.py": "",
    "late.py": "",
    "package/__init__.py": "",
    "unused.py": "",
    "notes.txt": "",
}


@pytest.mark.parametrize(
    ("changed", "counts"),
    [("my.py", True), ("helper.py", True), ("deeper.py", True), ("late.py", True), ("unused.py", False), ("notes.txt", False)],
)
def test_a_plugin_file_has_another_version_when_a_module_that_it_imports_changes(tmp_path: Path, changed: str, counts: bool) -> None:
    write(tmp_path, FILES)
    before = version_of_file(tmp_path / "my.py")
    assert version_of_file(tmp_path / "my.py") == before
    write(tmp_path, {changed: FILES[changed] + "# changed\n"})
    assert (version_of_file(tmp_path / "my.py") != before) is counts


def test_the_digest_is_that_of_contents_and_places(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "A", "b/c.py": "C"})
    parts = [("a.py", "A"), ("b/c.py", "C")]
    lines = "".join(f"{name} {hashlib.sha256(content.encode()).hexdigest()}\n" for name, content in parts)
    assert digest([tmp_path / "b" / "c.py", tmp_path / "a.py"]) == hashlib.sha256(lines.encode()).hexdigest()
    assert digest([tmp_path / "a.py"]) == hashlib.sha256(b"A").hexdigest()


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, *, editable: bool) -> Path:
    """Install a plugin of two packages and return the folder of its code. An editable one is beside its tests and other projects."""
    code = {
        "my_plugin/__init__.py": (
            "from ticketlab.plugin import Lazy, hookimpl\n"
            "@hookimpl\ndef ticketlab_pruners():\n    return [Lazy('mine', 'mine', 'my_plugin.inner:Mine')]\n"
        ),
        "my_plugin/inner.py": PLUGIN.format(imports="import my_parts"),
        "my_plugin/unused.py": "",
        "my_parts/__init__.py": "",
    }
    place, info = folder / ("src" if editable else "site-packages"), "my_plugin-1.0.dist-info"
    metadata = {
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: my-plugin\nVersion: 1.0\n",
        f"{info}/entry_points.txt": "[ticketlab]\nx = my_plugin\n",
        f"{info}/RECORD": "__editable__.pth,,\n" if editable else "".join(f"{name},,\n" for name in code),
    }
    write(place, code | {"their_package/__init__.py": "", "tests/test_it.py": ""})
    write(folder / "site-packages", metadata)
    for path in {place, folder / "site-packages"}:
        monkeypatch.syspath_prepend(path)
    return place


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("editable", [True, False], ids=["editable", "installed"])
@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ("my_plugin/inner.py", True),
        ("my_plugin/unused.py", True),
        ("my_parts/__init__.py", True),
        ("their_package/__init__.py", False),
        ("tests/test_it.py", False),
    ],
)
def test_an_installed_plugin_has_another_version_when_its_code_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, counts: bool, editable: bool
) -> None:
    place = install(tmp_path, monkeypatch, editable=editable)
    code = PluginCode(modules=("my_plugin",), distribution=importlib.metadata.distribution("my-plugin"))
    before = digest(files_of(code))
    assert digest(files_of(code)) == before
    write(place, {changed: (place / changed).read_text(encoding="utf-8") + "# changed\n"})
    assert (digest(files_of(code)) != before) is counts


@pytest.mark.usefixtures("modules")
def test_the_version_is_the_same_before_and_after_a_component_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, editable=True)
    loaded = registry.load()
    before = loaded.version_of(loaded.entry("pruner", "mine").source)
    assert "my_plugin.inner" not in sys.modules
    made = loaded.get("pruner", "mine")()
    again = registry.load()
    assert loaded.version(made) == again.version(made) == f"{before}/1"
    assert before.startswith("my-plugin==1.0 sha256:")


@pytest.mark.usefixtures("modules")
def test_code_that_was_imported_counts_as_it_was_until_it_is_imported_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook the code in memory computes the results, whatever has become of the file."""
    place = install(tmp_path, monkeypatch, editable=True)

    def version() -> str:
        loaded = registry.load()
        return loaded.version(loaded.get("pruner", "mine")())

    before = version()
    inner = place / "my_plugin" / "inner.py"
    inner.write_text(inner.read_text(encoding="utf-8") + "CHANGED = 1\n", encoding="utf-8")
    assert version() == before
    importlib.reload(sys.modules["my_plugin.inner"])
    assert version() != before
