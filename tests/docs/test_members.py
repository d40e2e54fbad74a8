"""Every public class attribute, field, property and method has a description, in the code and on the page."""

from __future__ import annotations

import functools
import re
from typing import ClassVar

import pytest
from attrs import field, frozen
from support.doc_blocks import ROOT


class Private:
    """A base class that is not public."""

    size: int = 2
    """The size."""

    def grow(self) -> None:
        """Make it larger."""


@frozen
class Public(Private):
    """A public class."""

    kind: ClassVar[str] = "shape"
    """The kind."""
    silent: ClassVar[int]
    width: float = field(default=1.5)
    """The width.

    It is in metres.
    """

    @property
    def area(self) -> float:
        """The area."""
        return self.width

    @functools.cached_property
    def weight(self) -> float:
        """The weight."""
        return self.width

    def undescribed(self) -> None: ...

    def _hidden(self) -> None: ...


class Derived(Public):
    """A class whose base class is public."""

    kind: ClassVar[str] = "square"

    def __init__(self, side: int) -> None:
        self.side = side
        """The side."""
        self._area = side * side

    def __len__(self) -> int:
        return 1

    def __call__(self, times: int) -> int:
        """Return a multiple."""
        return times * self.side


@pytest.fixture(autouse=True)
def docs(docs_modules: None) -> None: ...


def facts(cls: type, public: list[type]) -> list[tuple[str, str, str, str, str]]:
    from members import members

    return [(member.name, member.kind, member.type, member.default, member.about) for member in members(cls, public)]


def test_members_of_a_base_class_that_is_not_public_are_those_of_the_class() -> None:
    assert facts(Public, [Public]) == [
        ("size", "attribute", "int", "2", "The size."),
        ("grow", "method", "", "", "Make it larger."),
        ("kind", "class attribute", "str", "'shape'", "The kind."),
        ("silent", "class attribute", "int", "", ""),
        ("width", "field", "float", "1.5", "The width.\n\nIt is in metres."),
        ("weight", "property", "float", "", "The weight."),
        ("area", "property", "float", "", "The area."),
        ("undescribed", "method", "", "", ""),
    ]


def test_members_of_a_public_base_class_are_inherited() -> None:
    from members import inherited

    assert facts(Derived, [Public, Derived]) == [
        ("kind", "class attribute", "str", "'square'", "The kind."),
        ("__call__", "method", "", "", "Return a multiple."),
        ("side", "attribute", "int", "", "The side."),
    ]
    assert inherited(Derived, [Public, Derived]) == {Public: ["size", "grow", "width", "weight", "area"]}


def test_every_public_member_is_described() -> None:
    from members import members
    from python_pages import public_classes

    public = public_classes()
    assert len(public) > 60
    bare = [f"{cls.__name__}.{member.name}" for cls in public for member in members(cls, public) if not member.about]
    assert bare == [], "write what each is: in its docstring, or in a string after an attribute"


def test_every_public_member_is_in_the_reference() -> None:
    from members import members
    from python_pages import public_classes, qualified

    public = public_classes()
    pages = [(ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") for name in ("python.md", "plugin.md")]
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^###? |\Z)", "\n".join(pages), re.MULTILINE | re.DOTALL))
    for cls in public:
        listed = {re.split(r"[(:`]", line.removeprefix("- `"))[0] for line in sections[cls.__name__].splitlines()}
        named = {
            qualified(cls.__name__, member).partition("(")[0] if member.kind == "method" else member.name for member in members(cls, public)
        }
        assert named <= listed, cls.__name__
