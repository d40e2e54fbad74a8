"""NLTK data (a folder or a zip file, as NLTK's downloader writes it), found without importing NLTK and without downloads."""

from __future__ import annotations

import hashlib
import os
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ticketlab.core import files

_SYSTEM = ("share", "lib")


def find(resource: str, folder: str | None, *, among: Sequence[str] = (), file: str) -> str | None:
    """Return the path of ``resource`` (such as ``corpora/wordnet``), a folder or a zip file that contains ``file``, or None.

    ``folder`` is the resource itself, or a folder laid out like NLTK's data path or like the root of ``among``. With None, ``among`` and
    then NLTK's data path are searched.
    """
    if folder is None:
        candidates = [*map(Path, among), *(place / resource for place in search_path())]
    else:
        place = files.expand(folder)
        candidates = [place, place / resource, *(place / inside.lstrip("/") for inside in among)]
    places = (form for candidate in candidates for form in (candidate, Path(f"{candidate}.zip")))
    return next((str(place) for place in places if _holds(place, file)), None)


def why_missing(resource: str, folder: str, *, among: Sequence[str] = (), file: str) -> str:
    """Return why :func:`find` finds nothing in ``folder``."""
    place = files.expand(folder)
    if not place.is_dir():
        return f"it is not a zip file that contains {place.stem}/{file}" if place.is_file() else "there is no such folder"
    prefixes = ("", f"{resource}/", *(f"{inside.lstrip('/')}/" for inside in among))
    searched = ", ".join(f"{prefix}{file}" for prefix in prefixes)
    return f"the folder has neither {searched} nor {resource}.zip"


def search_path() -> list[Path]:
    """Return the folders in which NLTK looks for data, in its order."""
    named = [place for place in os.environ.get("NLTK_DATA", "").split(os.pathsep) if place]
    loaded = sys.modules.get("nltk.data")
    standard = [
        *getattr(loaded, "path", ()),
        "~/nltk_data",
        *(f"{sys.prefix}{part}/nltk_data" for part in ("", *(f"/{name}" for name in _SYSTEM))),
        *(f"/usr{local}/{name}/nltk_data" for name in _SYSTEM for local in ("", "/local")),
    ]
    return [files.expand(place) for place in dict.fromkeys([*named, *standard])]


def read(place: str, file: str) -> bytes:
    """Return the content of a file of a resource that :func:`find` found; raises OSError or KeyError if it is missing."""
    path = Path(place)
    if path.is_dir():
        return (path / file).read_bytes()
    with zipfile.ZipFile(path) as archive:
        return archive.read(f"{path.stem}/{file}")


def digest(place: str, names: Sequence[str]) -> str:
    """Return the sha256 of those of the named files that exist."""
    total = hashlib.sha256()
    for name in names:
        if _holds(Path(place), name):
            total.update(name.encode() + hashlib.sha256(read(place, name)).digest())
    return f"sha256:{total.hexdigest()}"


def _holds(place: Path, file: str) -> bool:
    try:
        if place.is_dir():
            return (place / file).is_file()
        if place.suffix != ".zip" or not place.is_file():
            return False
        with zipfile.ZipFile(place) as archive:
            return f"{place.stem}/{file}" in archive.namelist()
    except (OSError, zipfile.BadZipFile):  # also raised for folders without permission
        return False
