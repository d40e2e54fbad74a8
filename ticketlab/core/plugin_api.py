"""The version of the plugin API, and which plugins are accepted.

A plugin states the version that it is written for by a constant of its entry module, ``TICKETLAB_API = "1.0"``. It is read from the source
before the module is imported, because a plugin for a later version may fail in any way when it is.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType

from ticketlab.core import module_specs
from ticketlab.core.errors import PluginError
from ticketlab.core.plugin_source import FIRST_API, shown_path
from ticketlab.core.version import __version__

API_VERSION = "1.0"
"""The version of the plugin API of this ticketlab, ``MAJOR.MINOR``.

Plugins that are written for the same major version and this minor version or an earlier one are loaded; others are refused.
"""
CONSTANT = "TICKETLAB_API"
VERSION = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})")
HOW = f'write it as `{CONSTANT} = "{API_VERSION}"`, once and at the top level of the module'


def of_module(name: str) -> str | None:
    """Return the version that a module states in its source, without importing it; None if it has no source.

    :raises PluginError: the constant is not a version.
    """
    spec = module_specs.find(name)
    if spec is None or spec.loader is None or not hasattr(spec.loader, "get_source"):
        return None
    if spec.origin is not None and Path(spec.origin).is_file():
        return of_file(Path(spec.origin)) if spec.origin.endswith(".py") else None
    source = spec.loader.get_source(name)  # in an archive
    return None if source is None else _stated(source.encode(), name)


def of_file(file: Path) -> str:
    """Return the version that a Python file states.

    :raises PluginError: the constant is not a version.
    """
    return _stated(file.read_bytes(), shown_path(file))


def check(version: str) -> None:
    """Check that plugins written for a version can be loaded.

    :raises PluginError: they cannot.
    """
    written_for, here = _numbers(version), _numbers(API_VERSION)
    if written_for[0] == here[0] and written_for <= here:
        return
    what = (
        "upgrade ticketlab, or install an earlier version of the plugin" if written_for > here else "install a later version of the plugin"
    )
    raise PluginError(f"it is written for plugin API {version}, and this is ticketlab {__version__} with {API_VERSION}: {what}")


def check_imported(module: ModuleType | None, stated: str | None) -> None:
    """Check that an imported module has the version that its source states; that of a module without source is None.

    :raises PluginError: it has another, which was computed or imported, or one that is refused.
    """
    value = vars(module).get(CONSTANT) if module is not None else None
    if value is None or value == stated:
        return
    if stated is not None or not isinstance(value, str) or not VERSION.fullmatch(value):
        raise PluginError(f"`{CONSTANT}` is {value!r} when it is imported, and its source does not say so: {HOW}")
    check(value)


def _numbers(version: str) -> tuple[int, int]:
    major, minor = version.split(".")
    return int(major), int(minor)


def _stated(source: bytes, where: str) -> str:
    if CONSTANT.encode() not in source:
        return FIRST_API
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return FIRST_API  # importing the plugin reports it
    found = [node for node in ast.walk(tree) if _binds(node)]
    if not found:
        return FIRST_API
    node = found[0]
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    literal = value.value if isinstance(value, ast.Constant) else None
    if len(found) > 1 or node not in tree.body or not isinstance(literal, str) or not VERSION.fullmatch(literal):
        line = getattr(found[-1], "lineno", 1)
        raise PluginError(f"`{CONSTANT}` is not a version of the plugin API: {HOW} ({where}:{line})")
    return literal


def _binds(node: ast.AST) -> bool:
    """Return whether a statement gives the constant a value."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return any((alias.asname or alias.name) == CONSTANT for alias in node.names)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else []
    return any(isinstance(name, ast.Name) and name.id == CONSTANT for target in targets for name in ast.walk(target))
