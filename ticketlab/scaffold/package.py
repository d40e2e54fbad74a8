"""The files of a generated package."""

from __future__ import annotations

import ast
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.core.errors import UsageError
from ticketlab.core.files import expand
from ticketlab.core.plugin_api import API_VERSION
from ticketlab.core.version import __version__
from ticketlab.scaffold.kinds import LISTENER, RECIPE, PluginKind
from ticketlab.scaffold.names import Names
from ticketlab.scaffold.render import render

EXPORTED = ("TICKETLAB_API", "ticketlab_on_log")
"""The public names of an entry module with a listener."""


@frozen
class Part:
    """The plugin of one kind in a package."""

    names: Names
    kind: PluginKind
    alone: bool
    """Whether it is the only one in its package: then its module has the name of the package."""

    @property
    def module(self) -> str:
        """The name of its module inside the package."""
        return self.names.component.replace("-", "_") if self.alone else self.kind.module

    @property
    def class_name(self) -> str:
        """The name of its class."""
        return self.names.class_name + ("" if self.alone else self.kind.option.title().replace("-", ""))

    @property
    def full_module(self) -> str:
        """The name to import."""
        return f"{self.names.module}.{self.module}"

    def values(self) -> dict[str, Any]:
        """Return what its templates are filled with."""
        family = None
        if self.kind.kind == "backbone":
            from ticketlab.scaffold.families import free_family

            family = free_family()
        return {
            "name": self.names.component,
            "kind": self.kind.kind,
            "option": self.kind.option,
            "guide": self.kind.guide,
            "hook": self.kind.hook,
            "is_component": self.kind.is_component,
            "listed": self.kind.is_component or self.kind.kind == RECIPE,
            "class_name": self.class_name,
            "component_module": self.full_module,
            "target": f"{self.full_module}:{self.class_name}",
            "summary": family.title if family else self.kind.summary,
            "about": f"the adapter of {family.title}" if family else self.kind.summary,
            "family": family,
            "data_file": f"{self.module}.csv",
            "recipe_file": f"{self.module}.toml",
            "module_of_package": self.names.module,
        }


def parts_of(names: Names, kinds: Sequence[PluginKind]) -> list[Part]:
    """Return the plugins of a package."""
    return [Part(names, kind, alone=len(kinds) == 1) for kind in kinds]


def package_files(names: Names, parts: Sequence[Part], author: str = "") -> dict[str, str]:
    """Return the text of each file of a package, by its path. ``author`` is a TOML table, or empty.

    :raises UsageError: the name of a class is one that its module has for something else.
    """
    values = {part.kind.option: part.values() for part in parts}
    source, tests = f"src/{names.module}", "tests"
    components = [values[part.kind.option] for part in parts if part.kind.is_component]
    module_of = {part.kind.kind: part.module for part in parts}
    extras = sorted({part.kind.extra for part in parts} - {""})
    kinds = ", ".join(part.kind.kind for part in parts)
    about = values[parts[0].kind.option]["about"] if len(parts) == 1 else f"{names.component}: {kinds}"
    usages = list(dict.fromkeys(part.kind.usage.format(name=names.component) for part in parts))
    common = {"package": names.package, "name": names.component, "module": names.module}
    files = {
        "pyproject.toml": render(
            "package/pyproject.toml",
            **common,
            description=f"{about} (for ticketlab)",
            author=author,
            extras=f"[{','.join(extras)}]" if extras else "",
            version=".".join(__version__.split(".")[:2]),
        ),
        "README.md": render(
            "package/README.md",
            **common,
            parts=list(values.values()),
            components=components,
            stage="stage" in module_of,
            usages=usages,
            demo=any("--model demo" in usage for usage in usages),
        ),
        ".gitignore": render("package/gitignore"),
        ".github/workflows/ci.yml": render("package/ci.yml"),
        f"{source}/__init__.py": render(
            "package/init.py",
            **common,
            api=API_VERSION,
            components=components,
            recipe=f"{module_of[RECIPE]}.toml" if RECIPE in module_of else "",
            listener=module_of.get(LISTENER, ""),
            exported=sorted([*EXPORTED, *(part["hook"] for part in components), *(["ticketlab_recipes"] if RECIPE in module_of else [])]),
        ),
        f"{source}/py.typed": "",
    }
    for part in parts:
        files |= _files_of(part, values[part.kind.option], source, tests)
    files[f"{tests}/test_plugin.py"] = render("package/test_plugin.py", **common)
    return dict(sorted(files.items()))


def _files_of(part: Part, values: Mapping[str, Any], source: str, tests: str) -> dict[str, str]:
    folder = part.kind.option
    files = {f"{tests}/test_{part.module}.py": render(f"{folder}/test.py", **values)}
    if part.kind.kind == RECIPE:
        return files | {f"{source}/{part.module}.toml": render(f"{folder}/recipe.toml", **values)}
    code = render(f"{folder}/component.py", **values)
    _check_class_name(part, code)
    files[f"{source}/{part.module}.py"] = code
    if part.kind.kind == "task":
        files[f"{source}/{values['data_file']}"] = render(f"{folder}/data.csv")
    if part.kind.kind == "stage":
        files[f"{part.names.component}.toml"] = render(f"{folder}/example.toml", **values)
    return files


def _check_class_name(part: Part, code: str) -> None:
    """Refuse the name of a class that its module has for something else, such as ``Search``."""
    found: list[str] = []
    for node in ast.parse(code).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found += [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.ClassDef):
            found.append(node.name)
    if found.count(part.class_name) > 1:
        raise UsageError(
            f"`{part.names.component}` would be the class `{part.class_name}`, and its module has something else of that name; choose "
            f"another name, such as `my-{part.names.component}`"
        )


def check_folder(folder: Path) -> None:
    """Check that a package can be written to a folder: it is new or empty.

    :raises UsageError: it has files, or is a file.
    """
    folder = expand(folder)
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder}: the folder is not empty; choose another one (--folder)")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: it is a file; choose another folder (--folder)")


def write_package(folder: Path, files: Mapping[str, str]) -> None:
    """Write all files of a package, or none if one cannot be written. Raises the errors of :func:`check_folder`, and OSError."""
    folder = expand(folder)
    check_folder(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    written = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        written.chmod(0o777 & ~_umask())
        for name, text in files.items():
            path = written / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if folder.exists():  # an empty folder, in which a shell may be
            for entry in written.iterdir():
                entry.replace(folder / entry.name)
            written.rmdir()
        else:
            written.replace(folder)
    except BaseException:
        shutil.rmtree(written, ignore_errors=True)
        raise


def _umask() -> int:
    import os

    umask = os.umask(0)
    os.umask(umask)
    return umask
