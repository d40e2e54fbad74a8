"""A package of every kind, all installed in one environment: they are listed, pass their tests, and the commands of their READMEs work."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from ticketlab.resources import textattack_import
from ticketlab.scaffold.kinds import KINDS
from ticketlab.testing import tiny_model

pytestmark = [pytest.mark.system, pytest.mark.timeout(1500)]
ROOT = Path(__file__).parents[2]
NAMES = {option: f"my-{option}" for option in KINDS}
"""The name of the plugin of each kind."""
RUN_COMMANDS = """
import json, sys
from click.testing import CliRunner
from ticketlab.cli.main import cli
for arguments in json.loads(sys.stdin.read()):
    done = CliRunner().invoke(cli, arguments, prog_name="ticketlab")
    print(json.dumps({"code": done.exit_code, "stdout": done.stdout, "stderr": done.stderr}))
"""
"""Runs commands in one process, which imports torch once."""


@frozen
class Installed:
    """Generated packages, installed in an environment that reuses the packages of this one."""

    folder: Path
    python: Path

    def run(self, *arguments: str | Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run Python in the environment."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TICKETLAB_STRICT_PLUGINS": "1", "TICKETLAB_LAB": str(self.folder / "lab")}
        environment["MYPYPATH"] = os.pathsep.join(str(package / "src") for package in self.packages())
        return subprocess.run(
            [self.python, *arguments], input=stdin, capture_output=True, text=True, check=False, cwd=self.folder, env=environment
        )

    def packages(self) -> list[Path]:
        """Return the folders of the packages."""
        return sorted(self.folder.glob("ticketlab-*"))


@pytest.fixture(scope="module")
def installed(generate: Callable[..., Path]) -> Installed:
    for option, name in NAMES.items():
        folder = generate(name, option).parent
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    others = [path for path in sys.path if path.endswith("-packages")]
    (site / "others.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in others), encoding="utf-8")
    found = Installed(folder, python)
    done = found.run("-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", *found.packages())
    assert done.returncode == 0, done.stderr
    return found


def test_each_is_listed_with_its_package(installed: Installed) -> None:
    done = installed.run("-m", "ticketlab", "plugins", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    listed: dict[str, Any] = json.loads(done.stdout)
    assert listed["problems"] == []
    found = {
        (one["kind"], one["name"]): one["source"]
        for one in [*listed["components"], *({"kind": "recipe", **one} for one in listed["recipes"])]
    }
    for option, name in NAMES.items():
        if option != "listener":
            assert found[KINDS[option].kind, name] == f"ticketlab-{name} 0.1.0"
    assert "ticketlab-my-listener 0.1.0" in {source["name"] for source in listed["sources"]}


def test_their_types_are_strict(installed: Installed) -> None:
    packages = installed.packages()
    paths = [path for package in packages for path in (package / "src", *(package / "tests").glob("test_my_*.py"))]
    paths.append(packages[0] / "tests" / "test_plugin.py")  # the same module in each
    done = installed.run("-m", "mypy", "--config-file", packages[0] / "pyproject.toml", *paths)
    assert done.returncode == 0, done.stdout


def test_all_pass_their_tests(installed: Installed) -> None:
    done = installed.run("-m", "pytest", "-q", "--import-mode=importlib", *(package / "tests" for package in installed.packages()))
    assert done.returncode == 0, done.stdout


def commands(readme: Path) -> list[list[str]]:
    """Return the ``ticketlab`` commands of a README as words."""
    (block,) = re.findall(r"^## Use\n\n```bash\n(.*?)^```$", readme.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [words[1:] for line in block.splitlines() if (words := shlex.split(line))[0] == "ticketlab"]


def small(words: Sequence[str], package: Path, model: Path) -> list[str]:
    """Return a command with a tiny model and few examples."""
    found = [str(package / word) if word.endswith(".toml") else word for word in words]
    for index, word in enumerate(found):
        if word == "--model":
            found[index + 1] = str(model)
        elif word == "--n":
            found[index + 1] = "4"
    return [*found, "--set", "train_rows=48"] if found[0] == "run" else found


def test_the_commands_of_the_readmes_work(installed: Installed, tmp_path: Path) -> None:
    model = tiny_model("bert", tmp_path / "bert")
    found = [(package, words) for package in installed.packages() for words in commands(package / "README.md")]
    if not textattack_import.installed():
        found = [(package, words) for package, words in found if package.name != "ticketlab-my-attack"]
    assert len(found) >= len(NAMES) - 1
    done = installed.run("-c", RUN_COMMANDS, stdin=json.dumps([small(words, package, model) for package, words in found]))
    assert done.returncode == 0, done.stderr
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    failed = [
        f"{package.name}: {shlex.join(words)}: {outcome['stderr']}"
        for (package, words), outcome in zip(found, outcomes, strict=True)
        if outcome["code"]
    ]
    assert failed == []
    written = [path.read_text(encoding="utf-8") for path in (installed.folder / "lab" / "runs").glob("*/my-listener.csv")]
    assert len(written) > 1  # it listens to every run
    assert all(text.startswith("task,seed,stage,step,loss\n") for text in written)
