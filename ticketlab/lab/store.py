"""Access to an object store or any other file system of fsspec: whole files, transient errors retried, traffic counted."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import asdict, define, field, frozen

from ticketlab.core import files, temporary
from ticketlab.core.errors import Damaged, ResourceError, TicketlabError, UsageError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

T = TypeVar("T")

PACKAGES = {
    "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "abfss": "adlfs", "az": "adlfs", "oss": "ossfs",
    "hf": "huggingface_hub", "sftp": "paramiko", "ssh": "paramiko", "smb": "smbprotocol",
}  # fmt: skip
"""The package that a protocol of fsspec needs, where its own message does not name it."""
CREATES_EXCLUSIVELY = ("file", "local", "memory", "s3", "s3a", "gs", "gcs", "abfs", "abfss", "az")
"""Protocols whose file systems create an object only if there is none, in one step. Others at most look first."""
CONNECTIONS = 16
"""How many small files are fetched at a time."""
WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each repetition of an operation that failed, at most: what a store answers that is overloaded or restarts."""
PERMANENT = (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError, NotImplementedError, ImportError)
"""Errors that are an answer: the operation is not repeated."""


@define
class Traffic:
    """What a process has exchanged with a store: numbers of operations, and bytes."""

    reads: int = 0
    writes: int = 0
    listings: int = 0
    removals: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    def since(self, earlier: Traffic) -> dict[str, int]:
        """Return the differences to an earlier state, by name."""
        before = asdict(earlier)
        return {name: value - before[name] for name, value in asdict(self).items()}

    def copy(self) -> Traffic:
        """Return the present state."""
        return Traffic(**asdict(self))


@frozen
class Entry:
    """A file of a store. ``version`` is another value after each change, and ``modified`` a time in seconds, 0 if unknown."""

    size: int
    version: str
    modified: float


@define(eq=False)
class Store:
    """The files below a URL. Names are relative to it, with slashes.

    Every method raises :class:`~ticketlab.core.errors.TicketlabError` if the store does not answer or refuses access.
    """

    url: str
    fs: AbstractFileSystem
    path: str
    traffic: Traffic = field(factory=Traffic)

    @property
    def protocol(self) -> str:
        """The protocol of the URL: ``s3``, ``file``, ..."""
        return self.url.partition("://")[0]

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory of this machine or of a network file system."""
        return self.protocol in ("file", "local")

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if there is none."""
        content = self._if_there(name, lambda: bytes(self.fs.cat_file(self._path(name))))
        self.traffic.reads += 1
        self.traffic.bytes_read += len(content or b"")
        return content

    def has(self, name: str) -> bool:
        """Return whether there is a file."""
        self.traffic.reads += 1
        return self._if_there(name, lambda: self.fs.info(self._path(name))) is not None

    def write(self, name: str, content: bytes) -> None:
        """Write a file, replacing one that is there. Readers see the old or the new one."""
        if self.is_directory:
            self._call(name, lambda: files.write_atomic(Path(self._path(name)), lambda made: made.write_bytes(content)))
        else:
            self._call(name, lambda: self.fs.pipe_file(self._path(name), content))
        self._wrote(len(content))

    def create(self, name: str, content: bytes) -> bool:
        """Write a file unless there is one. Returns whether it was written.

        If an attempt had to be repeated, a file with this ``content`` counts as written by it.
        """
        tried = False

        def attempt() -> bool:
            nonlocal tried
            again, tried = tried, True
            try:
                self._create(self._path(name), content)
            except FileExistsError:
                return again and self.read(name) == content  # the answer to an earlier attempt was lost
            return True

        self._wrote(len(content))
        return self._call(name, attempt)

    def _create(self, path: str, content: bytes) -> None:
        if self.is_directory:
            made = temporary.temporary_path(Path(path))
            made.parent.mkdir(parents=True, exist_ok=True)
            try:
                made.write_bytes(content)
                os.link(made, path)
            finally:
                made.unlink(missing_ok=True)
        else:
            self.fs.pipe_file(path, content, mode="create")

    def put(self, source: Path, name: str) -> None:
        """Copy a local file to the store, replacing one that is there. Readers see the old or the new one."""
        if self.is_directory:
            import shutil

            self._call(name, lambda: files.write_atomic(Path(self._path(name)), lambda made: shutil.copyfile(source, made)))
        else:
            self._call(name, lambda: self.fs.put_file(str(source), self._path(name)))
        self._wrote(source.stat().st_size)

    def get(self, name: str, target: Path) -> bool:
        """Copy a file of the store to a local path, which then is the whole file. Returns False if there is none."""

        def copy() -> bool:
            files.write_atomic(target, lambda made: self.fs.get_file(self._path(name), str(made)))
            return True

        self.traffic.reads += 1
        if not self._if_there(name, copy):
            return False
        self.traffic.bytes_read += target.stat().st_size
        return True

    def entries(self, folder: str) -> dict[str, Entry]:
        """Return all files in a folder and in the folders below it, by name relative to the store; none if there is no such folder.

        :raises Damaged: a name leads out of the folder, as it may in a store of objects.
        """
        self.traffic.listings += 1
        found = self._call(folder, lambda: self.fs.find(self._path(folder), detail=True))
        start = len(self._path("")) + 1
        entries = {str(path)[start:]: _entry(info) for path, info in found.items() if info.get("type") == "file"}
        found = {name: entry for name, entry in entries.items() if name.startswith(f"{folder}/") and not _is_temporary(name)}
        for name in found:
            if not files.is_inside(name):
                raise Damaged(f"{self.url}: the name of an object leads out of its folder, `{name}`: remove this object")
        return found

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, those that are there, in the order given."""
        for name in names:
            self.traffic.removals += 1
            self._if_there(name, lambda name=name: self.fs.rm_file(self._path(name)))  # type: ignore[misc]

    def _wrote(self, size: int) -> None:
        self.traffic.writes += 1
        self.traffic.bytes_written += size

    def _path(self, name: str) -> str:
        return f"{self.path}/{name}" if name else self.path

    def _if_there(self, name: str, operation: Callable[[], T]) -> T | None:
        try:
            return self._call(name, operation, may_be_missing=True)
        except FileNotFoundError:
            return None

    def _call(self, name: str, operation: Callable[[], T], *, may_be_missing: bool = False) -> T:
        """Call an operation of the file system, again after a while if it fails.

        :raises FileNotFoundError: there is no such file, which may be so.
        :raises TicketlabError: it fails every time, or access is refused.
        """
        for wait in (*WAITS, None):
            try:
                return operation()
            except TicketlabError:
                raise
            except Exception as problem:
                if may_be_missing and isinstance(problem, FileNotFoundError):
                    raise
                if isinstance(problem, PERMANENT) or wait is None or type(problem).__name__ == "NoCredentialsError":
                    text = " ".join(str(problem).split()) or type(problem).__name__
                    kept = "what is finished is not lost: repeat the command when it can be"
                    raise TicketlabError(f"{self.url}: {name or 'the lab'} cannot be accessed ({text}); {kept}") from problem
            time.sleep(wait * random.SystemRandom().uniform(0.5, 1))
        raise AssertionError


def is_url(place: str | Path) -> bool:
    """Return whether a place is a URL of a store, and not a path."""
    return "://" in str(place)


def open_store(url: str) -> Store:
    """Return the store at a URL. Nothing is read yet.

    :raises ResourceError: a package is missing that the protocol needs; the message names it.
    :raises UsageError: there is no such protocol, or the URL is incomplete.
    """
    import fsspec

    protocol, _, rest = url.partition("://")
    if not rest.strip("/"):
        raise UsageError(f"--lab {url}: the URL of a lab names a folder, such as {protocol}://bucket/lab")
    try:
        fs, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except ImportError as problem:
        package = PACKAGES.get(protocol)
        how = f'`pip install "{package}"`' if package else str(problem)
        raise ResourceError(f"--lab {url}: the protocol `{protocol}` needs a package: {how}") from None
    except ValueError as problem:
        raise UsageError(f"--lab {url}: {problem}") from None
    return Store(url.rstrip("/"), fs, path.rstrip("/"))


def _entry(info: Mapping[str, Any]) -> Entry:
    changed = next((info[name] for name in ("LastModified", "mtime", "updated", "created", "last_modified") if info.get(name)), 0)
    seconds = changed.timestamp() if hasattr(changed, "timestamp") else float(changed) if isinstance(changed, int | float) else 0.0
    version = next((info[name] for name in ("ETag", "etag", "generation", "md5Hash", "content_md5") if info.get(name)), changed)
    size = int(info.get("size") or 0)
    return Entry(size, f"{version} {size}", seconds)


def _is_temporary(name: str) -> bool:
    return temporary.NAME.fullmatch(name.rpartition("/")[2]) is not None
