"""Generated packages: their style, and that each file is what the others say."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ticketlab.core import hookspecs
from ticketlab.core.plugin_api import API_VERSION
from ticketlab.scaffold.kinds import KINDS
from ticketlab.scaffold.names import LONGEST


def test_every_kind_of_component_can_be_generated() -> None:
    assert {kind.kind for kind in KINDS.values()} == {*hookspecs.HOOK_OF_KIND, "listener", "recipe"}


@pytest.fixture(scope="module")
def packages(generate: Callable[..., Path]) -> Path:
    """Packages of each kind and of all, with short and with the longest names, and two others."""
    for letter, option in zip("abcdefghijklmnopqrstuvwxyz", KINDS, strict=False):
        generate(f"my-{option}", option)
        generate(letter * LONGEST, option)
    generate("q", *KINDS)
    generate("z" * LONGEST, *KINDS)
    generate("q-1", "loss")
    return generate("pair", "listener", "recipe").parent


def test_generated_code_has_the_style_that_its_package_declares(packages: Path) -> None:
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *command, "--no-cache", packages], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_names_and_paths_agree(packages: Path) -> None:
    for folder in packages.iterdir():
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        ((name, module),) = project["entry-points"]["ticketlab"].items()
        assert (project["name"], folder.name, module) == (f"ticketlab-{name}", f"ticketlab-{name}", f"ticketlab_{name.replace('-', '_')}")
        source = folder / "src" / module
        assert (source / "py.typed").is_file()
        entry = (source / "__init__.py").read_text(encoding="utf-8")
        assert f'TICKETLAB_API = "{API_VERSION}"\n' in entry
        assert "import torch" not in entry
        for file in (source / "__init__.py", *source.glob("*.py"), *(folder / "tests").glob("*.py")):
            ast.parse(file.read_text(encoding="utf-8"))
        workflow = yaml.safe_load((folder / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
        assert workflow["jobs"]["checks"]["steps"][1]["with"]["python-version"] == "${{ matrix.python }}"
        readme = (folder / "README.md").read_text(encoding="utf-8")
        assert readme.startswith(f"# ticketlab-{name}\n")
        assert f"pip install ticketlab-{name}\n" in readme
        assert "\n\n\n" not in readme


def test_the_conformance_suite_of_each_component_is_three_lines(packages: Path) -> None:
    for option, kind in KINDS.items():
        test = (packages / f"ticketlab-my-{option}" / "tests" / f"test_my_{option.replace('-', '_')}.py").read_text(encoding="utf-8")
        if kind.suite:
            name = f"My{option.title().replace('-', '')}"
            assert f"\n\nclass Test{name}({kind.suite}):\n    component = {name}\n" in test


def test_guides_of_the_readme_exist() -> None:
    docs = Path(__file__).parents[2] / "docs" / "howto"
    for kind in KINDS.values():
        assert (docs / f"{kind.guide}.md").is_file(), kind.guide


def test_plugins_of_all_kinds_in_one_package_are_loaded(packages: Path, own_registry: None, invoke: Callable[..., Any]) -> None:
    folder = packages / "ticketlab-q" / "src" / "ticketlab_q"
    for option, kind in KINDS.items():
        if kind.is_component and (option != "attack" or importlib.util.find_spec("textattack")):
            done = invoke("show", option, "q", "--plugin", folder)
            assert (done.exit_code, done.stderr) == (0, ""), done.stderr
    assert invoke("recipes", "show", "q", "--plugin", folder).exit_code == 0
