"""The public names: all are documented, and documentation, examples and plugins use no others."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_origin

import pytest
from support.doc_blocks import ROOT, blocks, pages

import ticketlab
import ticketlab.plugin
import ticketlab.testing
from ticketlab.core import registry
from ticketlab.core.registry import HOOK_OF_KIND

PUBLIC_MODULES = ("ticketlab", "ticketlab.plugin", "ticketlab.testing", "ticketlab.auto", "ticketlab.figures")
MODULES = (ticketlab, ticketlab.plugin, ticketlab.testing)
NOT_PUBLIC = {
    "AttackExecution",
    "Cell",
    "Exported",
    "Factor",
    "Guesses",
    "Hold",
    "Hypothesis",
    "InputCoverage",
    "Number",
    "Overrides",
    "PartRun",
    "Picture",
    "PluginSelection",
    "Provenance",
    "Published",
    "Record",
    "Registry",
    "ResourceStatus",
    "Source",
    "Stage",
    "Tokens",
    "Tuning",
    "Verdict",
    "Workspace",
}
"""Classes that public functions take or return, but whose names nobody needs to import."""


def section(module: ModuleType) -> str:
    """Return the part of the reference about the names of a module."""
    if module is ticketlab.plugin:
        return (ROOT / "docs" / "reference" / "plugin.md").read_text(encoding="utf-8")
    text = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    parts = dict(re.findall(r"^## ([\w.]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    return parts[module.__name__]


def subsections(module: ModuleType) -> dict[str, str]:
    return dict(re.findall(r"^### (\w+)\n(.*?)(?=^###? |\Z)", section(module), re.MULTILINE | re.DOTALL))


def public_names() -> dict[str, Any]:
    return {name: getattr(module, name) for module in MODULES for name in module.__all__ if not name.startswith("__")}


def test_users_need_about_twenty_names() -> None:
    assert 12 <= len(ticketlab.__all__) <= 25
    for name in ("compose", "run", "evaluate", "attack", "Recipe", "Run", "Ticket", "hold", "export_model", "TicketlabError"):
        assert name in ticketlab.__all__


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_page_lists_the_names_of_the_module(module: ModuleType) -> None:
    names = {name for name in module.__all__ if not name.startswith("__")}
    if module is ticketlab.plugin:
        shared = names & set(ticketlab.__all__)
        intro = section(module).partition("\n## ")[0]
        assert shared <= set(re.findall(r"\[(\w+)\]", intro))
        names -= shared
    assert set(subsections(module)) == names


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_public_name_has_a_docstring_and_a_signature_on_the_page(module: ModuleType) -> None:
    for name, text in subsections(module).items():
        public = getattr(module, name)
        if get_origin(public) is None:  # an alias of a type has none
            assert vars(public).get("__doc__") if inspect.isclass(public) else public.__doc__, name
        assert text.rpartition("```")[2].strip(), name
        if inspect.isfunction(public) or (inspect.isclass(public) and "__init__" in vars(public) and inspect.signature(public).parameters):
            assert f"```python\n{name}(" in text, name


def test_every_name_is_the_one_that_its_module_defines() -> None:
    for module in MODULES:
        for name, home in getattr(module, "_EXPORTS", {}).items():
            assert getattr(module, name) is getattr(importlib.import_module(home), name)
            assert name in dir(module)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'ticketlab' has no attribute 'draw'"):
        _ = ticketlab.draw  # type: ignore[attr-defined]


def test_the_base_class_of_every_kind_of_component_is_public() -> None:
    builtin = registry.load(entry_points=False)
    public = set(public_names().values())
    for kind in HOOK_OF_KIND:
        for name in builtin.names(kind):
            base = next(cls for cls in reversed(builtin.get(kind, name).__mro__) if "kind" in vars(cls))
            assert base in public, f"{kind}: {base.__name__}"


def test_classes_in_public_signatures_are_public() -> None:
    """The contract of a component names nothing that its author cannot import."""
    public = public_names()
    unknown = {
        f"{name}: {word}"
        for name, thing in public.items()
        for annotation in annotations(thing)
        for word in re.findall(r"\b[A-Z]\w+", annotation)
        if word not in public and word not in NOT_PUBLIC and is_ticketlab_class(thing, word)
    }
    assert unknown == set()


def annotations(thing: Any) -> Iterator[str]:
    """Yield the annotations of a function, or of the public methods and fields of a class, inherited ones included."""
    if inspect.isfunction(thing):
        yield from map(str, inspect.get_annotations(thing).values())
    for cls in thing.__mro__ if inspect.isclass(thing) else ():
        if cls.__module__.partition(".")[0] != "ticketlab":
            continue
        yield from (str(annotation) for name, annotation in inspect.get_annotations(cls).items() if not name.startswith("_"))
        for name, value in vars(cls).items():
            function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if inspect.isfunction(function) and (name == "__call__" or not name.startswith("_")):
                yield from map(str, inspect.get_annotations(function).values())


def is_ticketlab_class(thing: Any, word: str) -> bool:
    """Return whether the modules of ``thing`` and of its bases import or define a class of this name in ticketlab."""
    modules = {cls.__module__ for cls in thing.__mro__} if inspect.isclass(thing) else {thing.__module__}
    for module in modules:
        if module.partition(".")[0] != "ticketlab":
            continue
        found = getattr(sys.modules[module], word, None)
        if found is None:  # imported for type checking alone
            source = inspect.getsource(sys.modules[module])
            match = re.search(rf"from (ticketlab[\w.]*) import [^\n]*\b{word}\b", source)
            found = getattr(importlib.import_module(match[1]), word) if match else None
        if inspect.isclass(found) and found.__module__.partition(".")[0] == "ticketlab":
            return True
    return False


def sources() -> dict[str, str]:
    """Return the Python code of pages, examples and plugins, by where it is."""
    code = {
        f"{page.relative_to(ROOT)}:{block.line}": block.body for page in pages() for block in blocks(page) if block.language == "python"
    }
    files = [*(ROOT / "examples").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]
    return code | {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}


def test_documentation_examples_and_plugins_import_public_modules_alone() -> None:
    deeper = []
    for place, code in sources().items():
        for node in ast.walk(ast.parse(code)):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            deeper += [f"{place}: {name}" for name in modules if name.partition(".")[0] == "ticketlab" and name not in PUBLIC_MODULES]
    assert deeper == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_name_public_modules_alone(page: Path) -> None:
    """Every dotted name that begins with ``ticketlab.`` is a public module, or a name in one."""
    public = {f"{module.__name__}.{name}" for module in MODULES for name in module.__all__} | set(PUBLIC_MODULES)
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"(?<![\w./-])ticketlab(?:\.[A-Za-z_]\w*)+", text)
    unknown = {name for name in named if not any(name == known or name.startswith(f"{known}.") for known in public - {"ticketlab"})}
    assert unknown == set()
