"""Checks the files of a finished stage by size and hash, so that a damaged file is never used.

The hashes are in the stage's ``result.json``, under ``sealed``, along with a hash of the result itself. This file is written last,
atomically. Each process hashes a file once, when it first reads it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ticketlab.core import files, progress
from ticketlab.core.errors import Damaged
from ticketlab.lab import mirror
from ticketlab.lab.file_hash import hash_of
from ticketlab.lab.layout import RESULT, SEALED

KEY = re.compile("[0-9a-f]{64}")
"""The name of a stage's folder."""
DEEPEST = 2
"""The maximum number of folders between a stage's folder and one of its files."""


def keys_in(text: str) -> list[str]:
    """Return what may be keys of stages in a text, such as the path of a stage's folder in a recipe."""
    return re.findall(rf"(?<![0-9a-f]){KEY.pattern}(?![0-9a-f])", text)


def seal(folder: Path, result: Mapping[str, Any], *, without: Collection[str] = ()) -> dict[str, Any]:
    """Return a stage's result with the sizes and hashes of the files in its folder, except hidden ones and those named in ``without``."""
    inside = sorted(path for path in folder.rglob("*") if path.is_file())
    names = [path.relative_to(folder) for path in inside]
    listed = [name for name in names if not any(part.startswith(".") for part in name.parts) and str(name) not in (RESULT, *without)]
    sizes_and_hashes = {name.as_posix(): [(folder / name).stat().st_size, hash_of(folder / name)] for name in listed}
    return {**result, SEALED: {"files": sizes_and_hashes, "result": _hash_of_result(result)}}


def read_result(path: Path) -> dict[str, Any]:
    """Return the result of a finished stage, without its hashes.

    :raises Damaged: the file is not what the stage wrote.
    """
    result, _ = _read(path)
    return result


def check(path: Path) -> None:
    """Check a file of a finished stage, or all its files in a folder. Paths outside a stage pass.

    In the mirror of a lab at a URL, files that are not there yet are fetched first.

    :raises Damaged: a file is missing or not what the stage wrote.
    """
    if path.name == RESULT:
        return
    written = files.expand(path)
    mirror.fetch(written)
    found = next((located for place in (written.absolute(), written.resolve()) if (located := _stage_of(place))), None)
    if found is None:
        return
    stage, wanted = found
    try:
        _, left = _read(stage / RESULT)
    except Damaged:
        if KEY.fullmatch(stage.name):
            raise
        return  # a file of this name that no stage wrote
    if left is None:
        if KEY.fullmatch(stage.name):
            _warn_unsealed()
        return
    for name, (size, digest) in left.items():
        if wanted in (".", name) or name.startswith(f"{wanted}/"):
            _compare(stage, name, size, digest)


def _stage_of(path: Path) -> tuple[Path, str] | None:
    """Return the folder of the stage that contains a path, and the path inside it; None if no stage does."""
    stage = next((place for place in (path, *path.parents[: DEEPEST + 1]) if (place / RESULT).is_file()), None)
    return None if stage is None else (stage, path.relative_to(stage).as_posix())


def _compare(stage: Path, name: str, size: int, digest: str) -> None:
    path = stage / name
    if not path.is_file():
        raise _damaged(path, stage, "is missing")
    if path.stat().st_size != size or hash_of(path) != digest:
        raise _damaged(path, stage, "is damaged: it is not what the stage wrote")


def _damaged(path: Path, stage: Path, how: str) -> Damaged:
    return Damaged(f"{path} {how}; delete {stage}, and the stage is computed again")


def _read(path: Path) -> tuple[dict[str, Any], dict[str, tuple[int, str]] | None]:
    """Return a result and the sizes and hashes stored with it, which are None if an earlier version wrote it."""
    state = path.stat()
    return _read_once(path, state.st_size, state.st_mtime_ns)


@functools.lru_cache(maxsize=4096)
def _read_once(path: Path, size: int, changed: int) -> tuple[dict[str, Any], dict[str, tuple[int, str]] | None]:
    try:
        result = files.read_json(path)
        sealed = result.pop(SEALED, None)
        if sealed is None:
            return result, None
        if sealed["result"] != _hash_of_result(result):
            raise ValueError
        return result, {str(name): (int(size), str(digest)) for name, (size, digest) in sealed["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _damaged(path, path.parent, "is damaged") from None


def _hash_of_result(result: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(result, sort_keys=True).encode(), digest_size=16).hexdigest()


@functools.cache
def _warn_unsealed() -> None:
    progress.say("some stages of the lab were finished before ticketlab stored hashes of their files: damage to them is not detected")
