"""Data laid out as NLTK's downloader leaves it: a folder or a zip file, found without importing NLTK and read without its downloader."""

from __future__ import annotations

import hashlib
import os
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ticketlab.core import files

_SYSTEM = ("share", "lib")


def find(resource: str, asked: str | None, *, among: Sequence[str] = (), file: str) -> str | None:
    """Return where ``resource`` (``corpora/wordnet``) is, or None: a folder that holds ``file``, or a zip file that does.

    ``asked`` is that place, or a folder in which it lies as on NLTK's data path or in one of ``among``; None looks in ``among``, then on
    NLTK's data path.
    """
    if asked is None:
        candidates = [*map(Path, among), *(place / resource for place in search_path())]
    else:
        place = files.expand(asked)
        candidates = [place, place / resource, *(place / inside.lstrip("/") for inside in among)]
    places = (form for candidate in candidates for form in (candidate, Path(f"{candidate}.zip")))
    return next((str(place) for place in places if _holds(place, file)), None)


def lacking(resource: str, asked: str, *, among: Sequence[str] = (), file: str) -> str:
    """Return why :func:`find` finds nothing where it was ``asked`` to look."""
    place = files.expand(asked)
    if not place.is_dir():
        return f"it is no zip file with {place.stem}/{file} in it" if place.is_file() else "there is no such folder"
    folders = ("", f"{resource}/", *(f"{inside.lstrip('/')}/" for inside in among))
    looked = ", ".join(f"{folder}{file}" for folder in folders)
    return f"the folder has neither {looked} nor {resource}.zip"


def search_path() -> list[Path]:
    """Return the folders in which NLTK looks for data, first choice first."""
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
    """Return the content of a file of what :func:`find` found; OSError or KeyError when it is not there."""
    path = Path(place)
    if path.is_dir():
        return (path / file).read_bytes()
    with zipfile.ZipFile(path) as archive:
        return archive.read(f"{path.stem}/{file}")


def digest(place: str, names: Sequence[str]) -> str:
    """Return the sha256 of the files of these names; of those that are there."""
    found = hashlib.sha256()
    for name in names:
        if _holds(Path(place), name):
            found.update(name.encode() + hashlib.sha256(read(place, name)).digest())
    return f"sha256:{found.hexdigest()}"


def _holds(place: Path, file: str) -> bool:
    try:
        if place.is_dir():
            return (place / file).is_file()
        if place.suffix != ".zip" or not place.is_file():
            return False
        with zipfile.ZipFile(place) as archive:
            return f"{place.stem}/{file}" in archive.namelist()
    except (OSError, zipfile.BadZipFile):  # a folder of somebody else, too
        return False
