"""Opens the lab at a place that a user named: a directory, or the URL of an object store or another file system of fsspec."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from ticketlab.core import files
from ticketlab.lab.lab import Lab
from ticketlab.lab.mirror import make_mirror, mirror_at
from ticketlab.lab.store import is_url
from ticketlab.lab.stored_lab import StoredLab


def open_lab(place: str | Path) -> Lab:
    """Return the lab at a place: a directory, a URL, or the mirror of one (:mod:`ticketlab.lab.mirror`). Nothing is read yet.

    :raises TicketlabError: the URL is wrong, or its protocol needs a package that is missing.
    """
    if is_url(place):
        return _stored_lab(make_mirror(str(place)).root, os.getpid())
    root = files.expand(place)
    return Lab(root) if mirror_at(root) is None else _stored_lab(root, os.getpid())


def lab_folder(place: str | Path) -> Path:
    """Return the folder of the lab at a place. For a URL, it is the mirror, brought up to date with the runs and studies of the store.

    :raises TicketlabError: the URL is wrong, a package is missing, or the store does not answer.
    """
    lab = open_lab(place)
    if isinstance(lab, StoredLab) and is_url(place):
        lab.pull()
    return lab.root


@functools.cache
def _stored_lab(root: Path, process: int) -> StoredLab:
    mirror = mirror_at(root)
    assert mirror is not None
    return StoredLab(root, mirror=mirror)
