"""Reads the bytes of one data file: decompresses them, decodes text, and rejects files whose content contradicts their name."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import re
import stat
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from attrs import frozen

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.file_kinds import FileName

MAX_DECOMPRESSED_BYTES = 4 << 30
"""The largest decompressed size that is accepted."""
BYTE_ORDER_MARK = "\ufeff"
_CHUNK = 1 << 24
_MAGIC = (
    (b"PAR1", "a parquet file", "rename it to end in .parquet"),
    (b"ARROW1", "an arrow file", "rename it to end in .arrow"),
    (b"\x1f\x8b", "compressed with gzip", "rename it to end in .gz"),
    (b"\xfd7zXZ\x00", "compressed with xz", "rename it to end in .xz"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "rename it to end in .zst"),
    (b"PK\x03\x04", "a zip archive or a spreadsheet", "unpack it, or save the sheet as csv (UTF-8)"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a spreadsheet or document of Microsoft Office", "save it as csv (UTF-8)"),
    (b"SQLite format 3\x00", "a database", "export the table as csv"),
    (b"%PDF-", "a PDF document", "put texts and labels into a csv"),
    (b"\x89HDF", "an HDF5 file", "write texts and labels as csv or jsonl"),
    (b"\x93NUMPY", "a numpy array", "write texts and labels as csv or jsonl"),
    (b"version https://git-lfs.github.com/spec/", "a Git LFS pointer and not the data", "run `git lfs pull` in its folder"),
)
_MAGIC_OF_KIND = {"parquet": b"PAR1", "arrow": b"ARROW1"}
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_BZIP2 = re.compile(rb"BZh[1-9]1AY&SY")
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html|\?xml|head|body|table)\b", re.IGNORECASE)


@frozen
class ParsedFile:
    """The rows of one file. ``notices`` describe decisions that the user did not request."""

    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    notices: tuple[str, ...] = ()


def read_bytes(file: Path, name: FileName) -> bytes:
    """Return the content of a file, decompressed according to its name.

    :raises DataError: the file cannot be read, is a pipe or a device, changes while it is read, or does not have the format or compression
    that its name implies.
    """
    content = _bytes(file)
    if name.packed:
        content = _decompressed(file, content, name.packed)
    if content:
        _check_kind(file, content, name.kind)
    return content


def decode_text(file: Path, content: bytes) -> str:
    """Decode a text file: UTF-8, or UTF-16 or UTF-32 if it begins with a byte-order mark. Several of these marks are removed, too.

    :raises DataError: it has another encoding or is not text; the message contains the line.
    """
    marks = {b"\xff\xfe\x00\x00": "utf-32", b"\x00\x00\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    encoding = next((name for mark, name in marks.items() if content.startswith(mark)), "utf-8-sig")
    try:
        found = content.decode(encoding).lstrip(BYTE_ORDER_MARK)
    except UnicodeDecodeError as problem:
        if encoding != "utf-8-sig":
            raise DataError(
                f"{file}: it has the byte-order mark of {encoding.upper()} but is not {encoding.upper()}; convert the file to UTF-8"
            ) from None
        line = content.count(b"\n", 0, problem.start) + 1
        raise DataError(
            f"{file} line {line}: not UTF-8; convert the file to UTF-8 (if it was saved by Excel or an old version of Windows: "
            "`iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW`)"
        ) from None
    if "\0" in found:
        if found[1:2] == "\0" or found[:1] == "\0":
            raise DataError(f"{file}: it seems to be UTF-16 without a byte-order mark; convert it (`iconv -f UTF-16LE -t UTF-8`)")
        line = found.count("\n", 0, found.index("\0")) + 1
        raise DataError(f"{file} line {line}: a NUL byte: the file is damaged or not a text file")
    return found


def _bytes(file: Path) -> bytes:
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise DataError(f"{file}: {describe_special_file(file)}, not a file; write the data into a file first")
        with file.open("rb") as opened:
            before = os.fstat(opened.fileno())
            content = opened.read()
            after = os.fstat(opened.fileno())
    except OSError as problem:
        raise DataError(f"{file}: cannot be read: {problem.strerror}") from None
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or len(content) != after.st_size:
        raise DataError(f"{file}: the file changed while it was being read; try again when nothing writes to it")
    return content


def describe_special_file(path: Path) -> str:
    """Describe a path that is not a regular file."""
    mode = path.stat().st_mode
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a folder" if stat.S_ISDIR(mode) else "a device"


def _decompressed(file: Path, content: bytes, packed: str) -> bytes:
    try:
        opened = _DECOMPRESSORS[packed](io.BytesIO(content))
        found = bytearray()
        while len(found) <= MAX_DECOMPRESSED_BYTES and (part := opened.read(_CHUNK)):
            found += part
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as problem:
        raise DataError(f"{file}: not a valid {packed} file: {' '.join(str(problem).split())}; download or compress it again") from None
    if len(found) > MAX_DECOMPRESSED_BYTES:
        raise DataError(f"{file}: it decompresses to more than {MAX_DECOMPRESSED_BYTES >> 30} GiB; decompress it and pass a part of it")
    return bytes(found)


def _zstd(content: BinaryIO) -> Any:
    arrow: Any = importlib.import_module("pyarrow")  # has no types
    return arrow.input_stream(content, compression="zstd")


_DECOMPRESSORS: Mapping[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda content: gzip.GzipFile(fileobj=content),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _zstd,
}


def _check_kind(file: Path, content: bytes, kind: str) -> None:
    own = _MAGIC_OF_KIND.get(kind)
    for magic, what, todo in _MAGIC:
        if content.startswith(magic) and magic != own:
            raise DataError(f"{file}: the content is {what}; {todo}")
    if _PICKLE.match(content):
        raise DataError(f"{file}: the content is a pickle, which can run code and is never read; write the data as csv or jsonl")
    if _BZIP2.match(content):
        raise DataError(f"{file}: the content is compressed with bzip2; rename it to end in .bz2")
    if kind != "txt" and _MARKUP.match(content):
        raise DataError(f"{file}: the content is a web page or XML; download the data itself, or write it as csv")
