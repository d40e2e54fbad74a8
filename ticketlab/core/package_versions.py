"""The versions of Python and of the packages that results depend on."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
from pathlib import Path

COMPUTING = ("ticketlab", "torch", "transformers", "datasets", "tokenizers", "numpy", "safetensors", "textattack")
"""The packages that compute results."""
RECORDED = (*COMPUTING, "pluggy", "attrs")
"""The packages whose versions are recorded with a run."""


@functools.cache
def version(package: str) -> str | None:
    """Return the version of an installed package; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def computing_versions() -> dict[str, str]:
    """Return the versions of Python, of the packages of :data:`COMPUTING`, and of the code of ticketlab, which a checkout changes."""
    installed = {package: version(package) or "not installed" for package in COMPUTING}
    return {"Python": platform.python_version(), **installed, "the code of ticketlab": _digest_of_code()}


def differences(there: dict[str, str], here: dict[str, str]) -> list[str]:
    """Return ``"PACKAGE THERE (here HERE)"`` for each package that has another version there."""
    return [f"{name} {there.get(name, 'not installed')} (here {mine})" for name, mine in here.items() if there.get(name) != mine]


@functools.cache
def _digest_of_code() -> str:
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(f"{file.relative_to(root)}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
