"""Third-party components, and those in plugins, are written as an outside author writes them: with public names, strictly typed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "third_party"
PLUGINS = ROOT / "plugins"
FILES = sorted([*FOLDER.glob("*.py"), *PLUGINS.glob("*/src/**/*.py"), *PLUGINS.glob("*/tests/**/*.py")])
PUBLIC = {"ticketlab", "ticketlab.plugin", "ticketlab.testing"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_third_parties_import_public_names_only(file: Path) -> None:
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    assert {module for module in modules if module.partition(".")[0] == "ticketlab"} <= PUBLIC


@pytest.mark.slow
@pytest.mark.system
def test_what_the_documentation_tells_authors_to_write_passes_strict_type_checks() -> None:
    """Such as a class variable of the documented type where a base class declares it."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml", str(FOLDER)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
