"""plugins/ticketlab-snip, installed and found through its entry point."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ticketlab import Ticket

pytestmark = pytest.mark.system
PACKAGE = Path(__file__).parents[2] / "plugins" / "ticketlab-snip"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed plugin; nothing is downloaded."""
    folder = tmp_path_factory.mktemp("site")
    if all(importlib.util.find_spec(module) for module in ("hatchling", "pip")):
        source = shutil.copytree(PACKAGE, tmp_path_factory.mktemp("source") / "plugin")
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", folder, source]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    else:
        _install_by_hand(folder)
    return folder


def _install_by_hand(folder: Path) -> None:
    """Install a pure Python package without an installer."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.copytree(PACKAGE / "src" / "ticketlab_snip", folder / "ticketlab_snip")
    info = folder / f"ticketlab_snip-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8")
    points = [f"{name} = {target}\n" for name, target in project["entry-points"]["ticketlab"].items()]
    (info / "entry_points.txt").write_text("[ticketlab]\n" + "".join(points), encoding="utf-8")


@pytest.fixture
def ticketlab(installed: Path, invoke: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command in a process that has the plugin installed."""
    monkeypatch.syspath_prepend(installed)
    monkeypatch.setenv("TICKETLAB_STRICT_PLUGINS", "1")
    yield invoke
    for name in [name for name in sys.modules if name.partition(".")[0] == "ticketlab_snip"]:
        del sys.modules[name]


def test_the_plugin_is_listed_with_its_package(ticketlab: Any) -> None:
    done = ticketlab("plugins", "--json")
    assert done.stderr == ""
    listed = {one["name"]: one["source"] for one in json.loads(done.stdout)["components"]}
    assert listed["snip"] == "ticketlab-snip 0.1.0"


def test_installed_plugins_can_be_disabled(ticketlab: Any) -> None:
    assert "snip" not in ticketlab("plugins", "--no-plugins").stdout


def test_the_plugin_finds_a_ticket_under_an_adversary(ticketlab: Any, quick: list[str], tmp_path: Path) -> None:
    settings = ["--pruner", "snip", "--adversary", "freelb", "--set", "search.pruner.batches=1", "--set", "search.batch_size=24"]
    done = ticketlab("run", *quick, *settings, "--json")
    assert done.exit_code == 0, done.stderr
    stages: dict[str, Any] = json.loads(done.stdout)["tasks"]["reviews"]["0"]
    assert stages["search"]["search"]["steps"] == 0
    assert stages["draw"]["ticket"]["achieved"] == pytest.approx(0.3, abs=1e-4)
    (path,) = (tmp_path / "lab" / "runs").glob("ticket-*/tickets/*.safetensors")
    assert Ticket.load(path).provenance["pruner"] == "snip"
