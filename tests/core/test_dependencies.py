"""The declared dependencies of the package."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

OTHER_NAMES = {"sklearn": "scikit-learn", "PIL": "pillow", "vl_convert": "vl-convert-python"}
BROUGHT_BY = {"tokenizers": "transformers", "Levenshtein": "textattack", "markupsafe": "jinja2"}
"""Packages that are installed with a declared dependency, by its name."""


def _imported() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for file in sorted((ROOT / "ticketlab").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            found |= {name.partition(".")[0]: file for name in names}
    return {name: file for name, file in found.items() if name not in sys.stdlib_module_names}


def _project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _name(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def test_every_imported_package_is_a_declared_dependency():
    project = _project()
    declared = {_name(line) for lines in (project["dependencies"], *project["optional-dependencies"].values()) for line in lines}

    def is_declared(name: str) -> bool:
        return name == "ticketlab" or OTHER_NAMES.get(name, name).replace("_", "-") in declared or BROUGHT_BY.get(name) in declared

    assert {name: str(file.relative_to(ROOT)) for name, file in _imported().items() if not is_declared(name)} == {}


@pytest.mark.parametrize("name", BROUGHT_BY)
def test_transitive_dependencies_are_required_by_their_parent(name):
    try:
        lines = importlib.metadata.requires(BROUGHT_BY[name]) or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{BROUGHT_BY[name]} is not installed")
    assert name.lower() in {_name(line).removeprefix("python-") for line in lines if "extra ==" not in line}


def test_the_oldest_and_the_newest_supported_major_version_of_transformers_are_tested():
    (line,) = [line for line in _project()["dependencies"] if _name(line) == "transformers"]
    oldest, above = re.search(r">=(\d+)", line), re.search(r"<(\d+)", line)
    pinned = [
        re.search(r"^transformers==(\d+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        for name in ("constraints.txt", "constraints-core.txt")
    ]
    assert [int(found[1]) for found in pinned] == [int(oldest[1]), int(above[1]) - 1]
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.findall(r"-c (constraints[\w-]*\.txt) torch==\S+ -e", steps) == ["constraints.txt", "constraints-core.txt"]
