"""The mirror of a lab at a URL: a folder of this machine that is laid out as a lab and has what this machine needs of it.

A file in it names the store. Everything that reads a lab reads the mirror; :func:`fetch` makes files available there that it lacks.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from pathlib import Path

from attrs import frozen

from ticketlab.core import files
from ticketlab.core.errors import Damaged, TicketlabError, UsageError
from ticketlab.lab import lease
from ticketlab.lab.file_hash import hash_of
from ticketlab.lab.layout import RESULT, RUNS, SEALED, STAGES, STUDIES, stage_folder, stage_name
from ticketlab.lab.store import Store, open_store

MARKER = ".store.json"
MARKER_LEASE = ".store.lease"
CACHE = "TICKETLAB_LAB_CACHE"
"""The environment variable for the folder of all mirrors."""
REPEAT = "run the same command again, and the stage is computed again"
"""What to do when a stage was removed while a command needs it."""
LONGEST = 60
"""Characters of a URL in the name of its mirror."""


@frozen
class Mirror:
    """The mirror at ``root`` of the lab at ``url``. ``name`` tells mirrors of one lab apart, also those on other machines."""

    root: Path
    url: str
    name: str

    @property
    def store(self) -> Store:
        """The store; one per process and URL."""
        return _store(self.url, os.getpid())

    def fetch_result(self, key: str) -> bool:
        """Get the result of a stage unless it is here. Returns whether the stage is finished."""
        result = stage_folder(self.root, key) / RESULT
        return result.is_file() or self.store.get(f"{stage_name(key)}/{RESULT}", result)

    def fetch_stage(self, key: str, wanted: str = "") -> None:
        """Get the files of a finished stage that are not here: all of them, or the file or folder ``wanted``.

        :raises Damaged: a file in the store is not what the stage wrote.
        :raises TicketlabError: another machine has removed the stage.
        """
        if not self.fetch_result(key):
            return
        folder = stage_folder(self.root, key)
        for name, (size, digest) in self.files_of(key).items():
            if (not wanted or name == wanted or name.startswith(f"{wanted}/")) and not (folder / name).exists():
                found = self.store.get(f"{stage_name(key)}/{name}", folder / name)
                if not found or (folder / name).stat().st_size != size or hash_of(folder / name) != digest:
                    (folder / name).unlink(missing_ok=True)
                    if not self.store.has(f"{stage_name(key)}/{RESULT}"):
                        raise TicketlabError(f"{self.url}/{stage_name(key)} was removed by another machine: {REPEAT}")
                    raise Damaged(
                        f"{self.url}/{stage_name(key)}/{name} is {'damaged' if found else 'missing'}: remove {self.url}/{stage_name(key)} "
                        f"and {folder}, and the stage is computed again"
                    )

    def files_of(self, key: str) -> dict[str, tuple[int, str]]:
        """Return the sizes and hashes of the files of a finished stage whose result is here, by name.

        :raises Damaged: a name leads out of the folder of the stage.
        """
        try:
            sealed = files.read_json(stage_folder(self.root, key) / RESULT)[SEALED]["files"]
            found = {str(name): (int(size), str(digest)) for name, (size, digest) in sealed.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # whoever reads the result reports that it is damaged
            return {}
        for name in found:
            if not files.is_inside(name):
                raise Damaged(f"{self.url}/{stage_name(key)}/{RESULT} names a file outside of its folder, `{name}`: remove this stage")
        return found

    def fetch_folder(self, inside: str) -> None:
        """Get the files of the folder of a run or study that are not here."""
        for name in self.store.entries(inside):
            if not (self.root / name).exists():
                self.store.get(name, self.root / name)


def fetch(path: Path) -> None:
    """Make a file or folder of a finished stage, a run or a study available, if it is in a mirror. Any other path is left alone.

    :raises TicketlabError: the store does not answer.
    """
    found = find_mirror(path)
    if found is None:
        return
    mirror, inside = found
    if inside[0] == STAGES and len(inside) > 2:
        mirror.fetch_stage(inside[2], "/".join(inside[3:]))
    elif inside[0] in (RUNS, STUDIES) and len(inside) > 1 and not files.expand(path).is_file():
        mirror.fetch_folder("/".join(inside[:2]))


def find_mirror(path: Path) -> tuple[Mirror, tuple[str, ...]] | None:
    """Return the mirror that a path is in, and the parts of the path inside it; None if it is in none."""
    path = files.expand(path).absolute()
    for place in path.parents:
        if path.relative_to(place).parts[0] in (STAGES, RUNS, STUDIES) and (mirror := mirror_at(place)) is not None:
            return mirror, path.relative_to(place).parts
    return None


def mirror_at(root: Path) -> Mirror | None:
    """Return the mirror whose root is this folder; None if it is not that of a mirror.

    :raises UsageError: the file that says so is damaged.
    """
    marker = root / MARKER
    if not marker.is_file():
        return None
    try:
        content = files.read_json(marker)
        return Mirror(root, str(content["url"]), str(content["name"]))
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{marker}: damaged; delete {root}, which is a copy of a lab in a store") from None


def make_mirror(url: str) -> Mirror:
    """Return the mirror of the lab at a URL, made if there is none yet.

    :raises TicketlabError: the protocol needs a package that is missing, or the URL is wrong.
    """
    url = _store(url, os.getpid()).url  # a URL that is wrong leaves no folder
    root = folder_of(url)
    return mirror_at(root) or _new_mirror(root, url)


def _new_mirror(root: Path, url: str) -> Mirror:
    """Return the new mirror at ``root``, or that of another process that made one at the same time: they must have one name."""
    held = lease.acquire(root / MARKER_LEASE, {}, title=url)
    try:
        if (found := mirror_at(root)) is None:
            with files.guarded(root, held):
                files.write_json(root / MARKER, {"url": url, "name": os.urandom(8).hex()})
            found = mirror_at(root)
        assert found is not None
        return found
    finally:
        held.release()


def folder_of(url: str) -> Path:
    """Return the folder of the mirror of a URL: in ``$TICKETLAB_LAB_CACHE``, or in the user's cache folder."""
    cache = os.environ.get(CACHE)
    import platformdirs  # only labs at URLs need it

    base = files.expand(cache).absolute() if cache else platformdirs.user_cache_path("ticketlab") / "labs"
    without_user = re.sub(r"(?<=//)[^/@]*@", "", url)  # which may have a password
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", without_user).strip("-")[:LONGEST]
    return base / f"{plain}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"


@functools.cache
def _store(url: str, process: int) -> Store:
    return open_store(url)
