"""Imports inside the package go downwards in the map of CONTRIBUTING.md, and never in a circle."""

from __future__ import annotations

import ast
import graphlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "ticketlab"
FILES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in sorted(PACKAGE.rglob("*.py"))}
"""The file of each module."""
PACKAGES = {name for name, path in FILES.items() if path.name == "__init__.py"}


def package_of(module: str) -> str:
    """Return the package of a module by its name in the map, such as ``attacks.engine``; of modules at the top ``ticketlab``."""
    package = module if module in PACKAGES else module.rpartition(".")[0]
    return package.removeprefix("ticketlab.")


def map_of_packages() -> dict[str, str]:
    """Return what each package holds, from the top of the map to the bottom."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## Map\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w.]+)` \| (.+) \|$", section, re.MULTILINE)
    assert len(rows) == len(dict(rows)), "a package has two lines"
    return dict(rows)


def imports(module: str) -> set[str]:
    """Return the modules of ticketlab that a module imports: at the top, in functions, and for type checking."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in FILES else str(node.module) for name in submodules}
    return {name for name in found if name.partition(".")[0] == "ticketlab"} - {module}


IMPORTS = {module: imports(module) for module in FILES}


def test_every_import_is_of_a_module_that_exists() -> None:
    assert {name for names in IMPORTS.values() for name in names} <= FILES.keys()


def test_the_map_has_every_package_and_no_other() -> None:
    assert set(map_of_packages()) == {package_of(module) for module in FILES}
    assert all(map_of_packages().values())


@pytest.mark.parametrize("package", map_of_packages())
def test_imports_go_downwards(package: str) -> None:
    order = list(map_of_packages())
    upwards = [
        f"{module} imports {name}"
        for module, names in IMPORTS.items()
        if package_of(module) == package
        for name in sorted(names)
        if order.index(package_of(name)) < order.index(package)
    ]
    assert upwards == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graphlib.TopologicalSorter(IMPORTS).prepare()  # raises CycleError, which names the circle
