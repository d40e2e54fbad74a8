"""What the driver of an execution on Ray tells all nodes: its session, plugins and versions, and how to recognise its lab."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.core import package_versions, registry, temporary
from ticketlab.core.errors import TicketlabError
from ticketlab.executors.base import Session


@contextlib.contextmanager
def described(session: Session, plugins: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the description, which holds until the end of the block. ``plugins`` are those that are sent.

    :raises TicketlabError: the lab cannot be written.
    """
    with _token(session.lab) as token:
        yield {
            "name": os.urandom(8).hex(),
            "session": session.to_table(),
            "plugins": plugins,
            "versions": package_versions.computing_versions(),
            "plugin_packages": _plugin_packages(),
            "token": token,
            "directory": str(Path.cwd()),
            "imports_from_directory": bool({"", str(Path.cwd())}.intersection(sys.path)),
        }


@contextlib.contextmanager
def _token(lab: str) -> Iterator[str]:
    """Write a file into a lab that is a directory, and yield its path: a node that does not find it there has another directory."""
    if "://" in lab:
        yield ""
        return
    place = Path(lab).absolute() / "shared"
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary.sweep_temporaries_of(place)
    token = temporary.temporary_path(place)
    try:
        token.touch()
    except OSError as problem:
        raise TicketlabError(f"{lab}: {problem.strerror}") from None
    try:
        yield str(token)
    finally:
        token.unlink(missing_ok=True)


def _plugin_packages() -> dict[str, str]:
    """Return the names and versions of the packages that plugins have been loaded from."""
    found = [source.code.distribution for source in registry.current().sources]
    return {package.name: package.version for package in found if package is not None}
