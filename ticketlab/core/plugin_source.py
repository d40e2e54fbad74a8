"""Where components come from: ticketlab itself, an installed package, or a file."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

from attrs import Factory, field, frozen

BUILT_IN = "built-in"
HASHED = "sha256:"
"""The version of code that has no other begins with this."""
FIRST_API = "1.0"
"""The version of the plugin API that a plugin is written for if it does not say so."""


@frozen
class PluginCode:
    """Where the code of a plugin is; :mod:`ticketlab.core.plugin_code` reads it.

    ``places`` are single files and folders of packages that were named themselves. ``modules`` are names of modules, and ``distribution``
    is the installed package that they belong to; they are looked up when the files are needed, so listing a plugin reads nothing.
    """

    places: tuple[Path, ...] = ()
    modules: tuple[str, ...] = ()
    distribution: importlib.metadata.Distribution | None = field(default=None, eq=False)


@frozen
class Source:
    """Where a component comes from.

    ``label`` is what messages call it and ``version`` the version that is recorded. ``name`` stands before the colon in ``PACKAGE:NAME``:
    the name of the installed package or the stem of the file. ``code`` is where the files are that its components are imported from.
    ``api`` is the version of the plugin API that it is written for.
    """

    label: str
    version: str
    name: str = field(default=Factory(lambda self: self.label.partition(" ")[0], takes_self=True))
    code: PluginCode = field(factory=PluginCode)
    api: str = field(default=FIRST_API, eq=False)

    @property
    def is_built_in(self) -> bool:
        """Whether it is ticketlab itself."""
        return self.version == BUILT_IN

    def is_called(self, name: str) -> bool:
        """Return whether a user means this source by a name: case, ``-``, ``_`` and ``.`` make no difference, as for packages."""
        return canonical(name) == canonical(self.name)


def canonical(name: str) -> str:
    """Return the name of a package in the form in which names are compared."""
    return re.sub(r"[-_.]+", "-", name).casefold()


def shown_path(file: Path) -> str:
    """Return the path of a file from the outermost package that it is in."""
    folder = file.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return str(file.relative_to(folder))
