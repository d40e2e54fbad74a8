"""The version of the plugin API that a plugin states, in files, folders and installed packages."""

from __future__ import annotations

import compileall
from pathlib import Path
from typing import Any

import pytest

import ticketlab.plugin
from ticketlab.core import plugin_api, registry
from ticketlab.core.version import __version__

HERE = f"and this is ticketlab {__version__} with 1.0"
LATER = f"it is written for plugin API {{}}, {HERE}: upgrade ticketlab, or install an earlier version of the plugin"
EARLIER = f"it is written for plugin API {{}}, {HERE}: install a later version of the plugin"
MALFORMED = (
    '`TICKETLAB_API` is not a version of the plugin API: write it as `TICKETLAB_API = "1.0"`, once and at the top level of the module ({})'
)
EXITS = "\nraise SystemExit(3)\n"
CASES = [
    pytest.param('TICKETLAB_API = "1.3"' + EXITS, LATER.format("1.3"), id="a later minor version"),
    pytest.param('TICKETLAB_API: str = "2.0"' + EXITS, LATER.format("2.0"), id="a later major version"),
    pytest.param('TICKETLAB_API = "1.10"' + EXITS, LATER.format("1.10"), id="numbers are not compared as text"),
    pytest.param('TICKETLAB_API = "0.9"' + EXITS, EARLIER.format("0.9"), id="an earlier major version"),
    pytest.param("TICKETLAB_API = 1.0" + EXITS, MALFORMED.format("{}:1"), id="a number"),
    pytest.param('\nTICKETLAB_API = "1.0.0"' + EXITS, MALFORMED.format("{}:2"), id="three numbers"),
    pytest.param('TICKETLAB_API = "01.0"' + EXITS, MALFORMED.format("{}:1"), id="a leading zero"),
    pytest.param(f'TICKETLAB_API = "1.{"9" * 5000}"' + EXITS, MALFORMED.format("{}:1"), id="a number of 5000 digits"),
    pytest.param('TICKETLAB_API = f"{1}.0"' + EXITS, MALFORMED.format("{}:1"), id="an expression"),
    pytest.param('TICKETLAB_API = "1.0"\nTICKETLAB_API = "2.0"' + EXITS, MALFORMED.format("{}:2"), id="two of them"),
    pytest.param('if True:\n    TICKETLAB_API = "1.0"' + EXITS, MALFORMED.format("{}:2"), id="in a condition"),
    pytest.param("from ticketlab.plugin import API_VERSION as TICKETLAB_API" + EXITS, MALFORMED.format("{}:1"), id="imported"),
    pytest.param(
        'globals()["TICKETLAB_" + "API"] = "2.0"\n',
        "`TICKETLAB_API` is '2.0' when it is imported, and its source does not say so: "
        'write it as `TICKETLAB_API = "1.0"`, once and at the top level of the module',
        id="computed where it cannot be seen",
    ),
]


def problems(loaded: registry.Registry) -> list[str]:
    return [problem.message for problem in loaded.problems if "stating" in problem.source]


@pytest.mark.parametrize(("text", "message"), CASES)
def test_an_installed_plugin_is_refused_in_one_line(install: Any, text: str, message: str) -> None:
    install(text)
    loaded = registry.load()
    assert problems(loaded) == [f"stating 2.0 does not load: {message.format('stating/entry.py')}"]
    assert loaded.get("pruner", "magnitude").name == "magnitude"


@pytest.mark.parametrize("folder", [False, True], ids=["a file", "a folder"])
@pytest.mark.parametrize(("text", "message"), CASES)
def test_a_named_plugin_is_refused_in_one_line(tmp_path: Path, text: str, message: str, folder: bool) -> None:
    place = tmp_path / ("stating" if folder else "stating.py")
    file = place / "__init__.py" if folder else place
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    loaded = registry.load([place], entry_points=False)
    assert problems(loaded) == [f"{place} does not load: {message.format('stating/__init__.py' if folder else 'stating.py')}"]


@pytest.mark.parametrize("module", ["stating", "stating.entry"])
@pytest.mark.parametrize(
    "text", ["", '"""TICKETLAB_API is not set."""\n', 'TICKETLAB_API = "1.0"\n', '# coding: latin-1\nTICKETLAB_API = "1.0"\n']
)
def test_a_plugin_of_this_version_is_loaded(install: Any, text: str, module: str) -> None:
    install(text, module)
    loaded = registry.load()
    assert problems(loaded) == []
    assert {source.label: source.api for source in loaded.sources}["stating 2.0"] == "1.0"


@pytest.mark.parametrize(("version", "message"), [("1.0", []), ("1.3", [f"stating 2.0 does not load: {LATER.format('1.3')}"])])
def test_a_module_without_source_is_checked_after_its_import(install: Any, version: str, message: list[str]) -> None:
    file = install(f'TICKETLAB_API = "{version}"\n')
    compileall.compile_file(str(file), quiet=2, legacy=True)
    file.unlink()
    assert problems(registry.load()) == message


def test_an_earlier_minor_version_is_loaded(install: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_api, "API_VERSION", "1.12")
    install('TICKETLAB_API = "1.9"\n')
    assert problems(registry.load()) == []


def test_the_version_is_public_and_shown(invoke: Any, install: Any, own_registry: None) -> None:
    install('TICKETLAB_API = "1.0"\n')
    assert ticketlab.plugin.API_VERSION == plugin_api.API_VERSION
    assert "stating 2.0 is written for plugin API 1.0" in invoke("plugins").stdout
    assert '"api": "1.0"' in invoke("plugins", "--json").stdout
    assert '"plugin_api": "1.0"' in invoke("doctor", "--json").stdout
