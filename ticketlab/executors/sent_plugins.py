"""Plugins named by a path, as JSON values: another machine writes their files to a folder of its own and loads them from there.

A key contains the hash of a plugin's files and of their places relative to each other, so it is the same on both machines.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.core import plugin_code, temporary
from ticketlab.core.errors import UsageError
from ticketlab.core.plugin_files import INIT
from ticketlab.core.plugin_source import PluginCode

MOST_BYTES = 64 * 2**20
"""The size of the files of all plugins together that is sent at most."""
NEVER_SENT = ("__pycache__", ".git")


def pack(places: Iterable[str]) -> list[dict[str, Any]]:
    """Return plugin files and folders as JSON values: a file with the modules beside it that it imports, a folder with all that is in it.

    :raises UsageError: they are too large to be sent.
    """
    packed = [_pack(Path(place).resolve()) for place in places]
    size = sum(len(content) for plugin in packed for content in plugin["files"].values()) * 3 // 4
    if size > MOST_BYTES:
        raise UsageError(
            f"the plugins of --plugin have {size / 2**20:.0f} MB, and at most {MOST_BYTES // 2**20} MB are sent to other machines: "
            "install them there as packages instead"
        )
    return packed


def unpack(plugins: Sequence[Mapping[str, Any]], folder: Path) -> tuple[str, ...]:
    """Write packed plugins below ``folder``, each in a folder named by its hash unless it is there already, and return their paths."""
    return tuple(_unpack(plugin, folder) for plugin in plugins)


def _pack(place: Path) -> dict[str, Any]:
    place = place.parent if place.name == INIT else place
    files = set(plugin_code.files_of(PluginCode(places=(place,)), imported=False))
    if place.is_dir():
        files |= {file for file in place.rglob("*") if file.is_file() and not set(NEVER_SENT) & set(file.relative_to(place).parts)}
    root = Path(os.path.commonpath([place.parent, *(file.parent for file in files)]))
    contents = {file.relative_to(root).as_posix(): base64.b64encode(file.read_bytes()).decode("ascii") for file in sorted(files)}
    return {"place": place.relative_to(root).as_posix(), "files": contents}


def _unpack(plugin: Mapping[str, Any], folder: Path) -> str:
    digest = hashlib.sha256(json.dumps(plugin, sort_keys=True).encode()).hexdigest()[:32]
    target = folder / digest
    if not all((target / name).is_file() for name in plugin["files"]):
        written = temporary.temporary_path(target)
        for name, content in plugin["files"].items():
            file = written / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(base64.b64decode(content))
        try:
            written.rename(target)
        except OSError:  # another process has just written it, or a part of it was deleted
            for name in plugin["files"]:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (written / name).replace(target / name)
            shutil.rmtree(written)
    return str(target / plugin["place"])
