"""A plugin file or folder imports its own modules, and never those of another plugin."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from ticketlab.core import registry
from ticketlab.core.errors import PluginError

PLUGIN = """
from typing import ClassVar
from attrs import frozen
from ticketlab.plugin import Pruner, hookimpl
{imports}

@frozen
class Mine(Pruner):
    name: ClassVar[str] = {name!r}
    summary: ClassVar[str] = SUMMARY

    def later(self):
        {later}

@hookimpl
def ticketlab_pruners():
    return [Mine]
"""
IMPORTS = [
    pytest.param("import helper\nSUMMARY = helper.VALUE", id="import"),
    pytest.param("import helper as other\nSUMMARY = other.VALUE", id="import as"),
    pytest.param("from helper import VALUE as SUMMARY", id="from import"),
    pytest.param("from . import helper\nSUMMARY = helper.VALUE", id="from . import"),
    pytest.param("from .helper import VALUE as SUMMARY", id="from . helper import"),
    pytest.param("import parts.one\nSUMMARY = parts.one.VALUE", id="import of a submodule"),
    pytest.param("from parts import one\nSUMMARY = one.VALUE", id="from a package import a submodule"),
    pytest.param("import chain\nSUMMARY = chain.VALUE", id="a helper that imports a helper"),
]


def write_plugin(folder: Path, value: str, name: str = "mine", *, imports: str = "import helper\nSUMMARY = helper.VALUE") -> Path:
    """Write a plugin file whose summary is ``value``, taken from modules beside it."""
    (folder / "parts").mkdir(parents=True)
    (folder / "helper.py").write_text(f"VALUE = {value!r}\n", encoding="utf-8")
    (folder / "chain.py").write_text("import helper\nVALUE = helper.VALUE\n", encoding="utf-8")
    (folder / "parts" / "__init__.py").touch()
    (folder / "parts" / "one.py").write_text("from helper import VALUE\n", encoding="utf-8")
    (folder / "late.py").write_text("import helper\nVALUE = helper.VALUE\nclass Thing:\n    pass\n", encoding="utf-8")
    file = folder / "my_plugin.py"
    file.write_text(PLUGIN.format(imports=imports, name=name, later="import late; return late.VALUE, late.Thing()"), encoding="utf-8")
    return file


@pytest.mark.parametrize("imports", IMPORTS)
def test_a_plugin_file_imports_what_is_beside_it(tmp_path: Path, imports: str) -> None:
    path = list(sys.path)
    loaded = registry.load([write_plugin(tmp_path / "a", "one", imports=imports)], entry_points=False)
    assert loaded.problems == []
    assert loaded.entry("pruner", "mine").summary == "one"
    assert sys.path == path
    assert {"my_plugin", "helper", "chain", "parts", "late"}.isdisjoint(sys.modules)


def test_two_plugins_have_a_helper_of_one_name_each(tmp_path: Path) -> None:
    files = [write_plugin(tmp_path / name, name, name) for name in ("one", "two")]
    loaded = registry.load(files, entry_points=False)
    made: list[Any] = [loaded.get("pruner", name)() for name in ("one", "two")]
    assert [one.summary for one in made] == ["one", "two"]
    assert [one.later()[0] for one in made] == ["one", "two"]  # a module that is imported when a method is called
    thing = made[1].later()[1]
    assert type(pickle.loads(pickle.dumps(thing))) is type(thing)  # as for a spawned process


def test_a_file_beside_a_plugin_replaces_no_module_of_the_standard_library(tmp_path: Path) -> None:
    file = write_plugin(tmp_path / "a", "one", imports="import json\nSUMMARY = json.dumps(1)")
    for name in ("json", "ticketlab"):
        (file.parent / f"{name}.py").write_text("def dumps(_): return 'beside'\n", encoding="utf-8")
    assert registry.load([file], entry_points=False).entry("pruner", "mine").summary == "1"


def test_a_changed_helper_is_imported_again(tmp_path: Path) -> None:
    file = write_plugin(tmp_path / "a", "one")
    before = registry.load([file], entry_points=False)
    (file.parent / "helper.py").write_text("VALUE = 'two'\n", encoding="utf-8")
    after = registry.load([file], entry_points=False)
    assert [loaded.entry("pruner", "mine").summary for loaded in (before, after)] == ["one", "two"]


def test_a_plugin_may_be_the_folder_of_a_package(tmp_path: Path) -> None:
    folder = tmp_path / "my_package"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from ticketlab.plugin import Lazy, hookimpl\n"
        "@hookimpl\ndef ticketlab_pruners():\n    return [Lazy('mine', 'mine', 'my_package.inner:Mine')]\n",
        encoding="utf-8",
    )
    (folder / "inner.py").write_text(
        "from my_package.values import SUMMARY\nfrom . import values\n" + PLUGIN.format(imports="", name="mine", later="return 0"),
        encoding="utf-8",
    )
    (folder / "values.py").write_text("SUMMARY = 'mine'\n", encoding="utf-8")
    for place in (folder, folder / "__init__.py"):
        loaded = registry.load([place], entry_points=False)
        assert loaded.problems == []
        assert loaded.get("pruner", "my_package:mine").summary == "mine"
    assert "my_package" not in sys.modules


def test_a_missing_helper_is_a_problem_that_names_the_line(tmp_path: Path) -> None:
    file = write_plugin(tmp_path / "a", "one", imports="\nimport nowhere_at_all")
    (problem,) = registry.load([file], entry_points=False).problems
    assert problem.message == (
        f"{file} does not load: ModuleNotFoundError: No module named 'nowhere_at_all' (my_plugin.py:6): "
        "install the package that has the module `nowhere_at_all`"
    )


def test_an_error_in_a_lazily_imported_module_names_the_line(tmp_path: Path) -> None:
    file = write_plugin(tmp_path / "a", "one")
    (file.parent / "late.py").write_text("\n\n1 / 0\n", encoding="utf-8")
    lazy = "from ticketlab.plugin import Lazy\n    return [Lazy('x', 'x', 'late:X')]"
    file.write_text(file.read_text(encoding="utf-8").replace("return [Mine]", lazy), encoding="utf-8")
    loaded = registry.load([file], entry_points=False)
    with pytest.raises(PluginError, match=r"pruner `x` of .*my_plugin\.py does not import: ZeroDivisionError: .* \(late\.py:3\)"):
        loaded.get("pruner", "x")
