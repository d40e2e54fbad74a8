"""The code of a plugin: the files that its components are imported from, and the hash of them that is part of the keys of results."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from pathlib import Path
from types import ModuleType

from attrs import frozen

from ticketlab.core.plugin_source import PluginCode

SITE = ("site-packages", "dist-packages")
NEVER_BESIDE = frozenset({*sys.stdlib_module_names, "ticketlab"})
"""Modules that a file beside a plugin does not replace."""


def files_of(code: PluginCode, modules: Iterable[str] = (), *, imported: bool = True) -> list[Path]:
    """Return a plugin's own files, sorted. ``modules`` are further modules that it imports components from.

    These are the files that the installer recorded, all files of its packages, and the modules beside them that they import. They follow
    from what is on the disk and not from what has been imported, so that a key is the same before and after its use. ``imported`` is that
    of :func:`digest`.
    """
    found = set(code.places)
    found |= {place for module in {*code.modules, *modules} if (place := _place_of(module)) is not None}
    specs = _specs() if imported else {}
    todo, files = list(found), set[Path]()
    while todo:
        place = todo.pop()
        own = set(_files_in(place))
        files |= own
        if _is_site(place.parent):
            files |= _recorded(code.distribution)
        elif place.is_file() or place not in code.places:  # a package that was named itself cannot import what is beside it
            names = {name for file in own for name in _content(file, specs).imports(beside_file=place.is_file())}
            new = {there for name in names if (there := beside(place.parent, name)) is not None} - found
            found |= new
            todo += new
    return sorted(files)


def digest(files: Collection[Path], *, imported: bool = True) -> str:
    """Return the sha256 of the content of files and of their places relative to each other; of a single file it is that of its content.

    Files that have been imported count as they were then, since results are computed by the code in memory, whatever has become of the
    file in the meantime; pass ``imported=False`` before importing them again.
    """
    specs = _specs() if imported else {}
    hashes = {file: _content(file, specs).sha256 for file in sorted(files)}
    if len(hashes) == 1:
        return next(iter(hashes.values()))
    outermost = min((file.parent for file in hashes), key=lambda folder: len(folder.parts), default=Path())
    names = {file: file.relative_to(outermost) if file.is_relative_to(outermost) else file.name for file in hashes}
    return hashlib.sha256("".join(f"{names[file]} {sha256}\n" for file, sha256 in hashes.items()).encode()).hexdigest()


def beside(folder: Path, name: str) -> Path | None:
    """Return the file of the module, or the folder of the package, of this name in a folder; None if a plain import finds another."""
    if name in NEVER_BESIDE:
        return None
    if (folder / name / "__init__.py").is_file():
        return folder / name
    file = folder / f"{name}.py"
    return file if file.is_file() else None


def _place_of(module: str) -> Path | None:
    """Return the file, or the folder of the outermost package, that contains a module; None if it is not in files."""
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        try:
            spec = importlib.util.find_spec(".".join(parts[:length]))
        except (ImportError, ValueError, AttributeError):
            return None
        if spec is None:
            return None
        if spec.origin is not None and Path(spec.origin).is_file():
            return Path(spec.origin).parent if spec.submodule_search_locations is not None else Path(spec.origin)
    return None  # built into the interpreter, in an archive, or a namespace without code


@functools.lru_cache(maxsize=64)
def _is_site(folder: Path) -> bool:
    """Return whether packages are installed in a folder, so that what is beside a package belongs to others."""
    return folder.name in SITE or any(folder.glob("*.dist-info"))


def _recorded(distribution: importlib.metadata.Distribution | None) -> set[Path]:
    """Return the code files that an installer recorded for a package."""
    files = (distribution.files if distribution is not None else None) or ()
    return {path for file in files if _is_code(path := Path(str(file.locate()))) and path.is_file()}


def _is_code(file: Path) -> bool:
    return file.suffix == ".py" or file.name.endswith(tuple(EXTENSION_SUFFIXES))


def _files_in(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    else:
        yield from (file for file in place.rglob("*") if _is_code(file) and file.is_file())


@frozen
class _Content:
    """What a file contains: its hash, and the outermost names of the modules that it imports, in functions too."""

    sha256: str
    absolute: frozenset[str] = frozenset()
    relative: frozenset[str] = frozenset()

    def imports(self, *, beside_file: bool) -> frozenset[str]:
        """Return the names that may be beside the plugin. For a single file, ``from . import helper`` is the same as ``import helper``."""
        return self.absolute | self.relative if beside_file else self.absolute


_when_imported: dict[Path, tuple[ModuleSpec, _Content]] = {}


def _content(file: Path, specs: Mapping[str, ModuleSpec]) -> _Content:
    """Return the content of a file. It is read again if its size or modification time changes, and the module in ``specs`` does."""
    spec = specs.get(str(file))
    known = _when_imported.get(file)
    if spec is not None and known is not None and known[0] is spec:
        return known[1]
    stat = file.stat()
    content = _read(file, stat.st_size, stat.st_mtime_ns)
    if spec is not None:
        _when_imported[file] = (spec, content)
    return content


def _specs() -> dict[str, ModuleSpec]:
    """Return the specs of the imported modules by their files."""
    specs = (module.__dict__.get("__spec__") for module in list(sys.modules.values()) if isinstance(module, ModuleType))
    return {spec.origin: spec for spec in specs if isinstance(spec, ModuleSpec) and spec.origin}


@functools.lru_cache(maxsize=4096)
def _read(file: Path, size: int, changed: int) -> _Content:
    content = file.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    try:
        tree = ast.parse(content) if file.suffix == ".py" else ast.Module([], [])
    except (SyntaxError, ValueError):
        return _Content(sha256)  # loading the plugin reports it
    absolute: set[str] = set()
    relative: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            absolute |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            (absolute if node.level == 0 else relative).update(name.partition(".")[0] for name in names)
    return _Content(sha256, frozenset(absolute), frozenset(relative))
