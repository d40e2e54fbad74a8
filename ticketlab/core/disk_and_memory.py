"""Recognises a full disk or too little memory in the errors of any library, and reports what is short, where, and what to lower."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from ticketlab.core.errors import OutOfMemory, OutOfSpace, TicketlabError

Kind = Literal["disk", "memory"]
ON_DISK = (errno.ENOSPC, errno.EDQUOT)
OF_DISK = re.compile(r"no space left on device|disk quota exceeded|os error (?:28|122)\b|\d+ requested and \d+ written", re.IGNORECASE)
OF_MEMORY = re.compile(
    r"out of memory|(?:can't|cannot|not|unable to|failed to) (?:be )?allocat\w* .*memory|cannot allocate memory|not enough memory"
    r"|std::bad_alloc|ALLOC_FAILED|failed to map segment|os error 12\b",
    re.IGNORECASE,
)
"""The messages of torch, CUDA, numpy, safetensors, tokenizers and the dynamic linker."""
WANTED = re.compile(r"tried to allocate ([\d.]+ ?(?:bytes|[KMG]iB))", re.IGNORECASE)
OF_GPU = re.compile(r"total capacity of ([\d.]+ \w+) of which ([\d.]+ \w+) is free")
KEPT = "finished work is kept: the same command resumes from there"
MEGABYTE = 1e6
NEEDED = 1000 * MEGABYTE
"""Address space that the imports of a run need (measured: 1,100 MB with torch for CPUs, 2,500 MB with an attack)."""


def kind(problem: BaseException) -> Kind | None:
    """Return what is short according to an error or one of its causes; None for any other error."""
    for error in _chain(problem):
        if isinstance(error, MemoryError | OutOfMemory) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return "memory"
        if isinstance(error, OutOfSpace) or (isinstance(error, OSError) and error.errno in ON_DISK):
            return "disk"
        if isinstance(error, TicketlabError | ValueError | LookupError | AttributeError):  # may quote any text
            continue
        message = str(error)
        if OF_DISK.search(message):
            return "disk"
        if OF_MEMORY.search(message):
            return "memory"
    return None


def explained(problem: BaseException, *, lower: str = "") -> TicketlabError | None:
    """Return an error that explains what is short, or None for any other error. ``lower`` is advice on how to use less memory."""
    found = kind(problem)
    if found is None:
        return None
    explanation = next((error for error in _chain(problem) if isinstance(error, OutOfMemory | OutOfSpace)), None)
    if explanation is not None:
        return explanation
    if found == "memory":
        return _memory(problem, lower or "free some, or use a smaller model, batch or data set")
    name = next((error.filename for error in _chain(problem) if isinstance(error, OSError) and error.filename), None)
    return _space(Path(os.fsdecode(name))) if isinstance(name, str | bytes) else OutOfSpace(_full_disks())


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Translate the errors of a block that writes ``path``.

    :raises OutOfSpace: there is no space left; the message has the folder and the free space there.
    """
    try:
        yield
    except OutOfSpace:
        raise
    except Exception as problem:
        if kind(problem) != "disk":
            raise
        raise _space(path) from problem


def check_limit() -> None:
    """Check that the process may use the memory that importing torch needs. With less, OpenBLAS retries for ever and cannot be stopped.

    :raises OutOfMemory: the limit is too low.
    """
    limit = _limit()
    if limit is not None and limit < NEEDED:
        raise OutOfMemory(
            f"`ulimit -v` allows this process {limit / MEGABYTE:,.0f} MB, and importing torch needs {NEEDED / MEGABYTE:,.0f} MB; raise it"
        )


def _limit() -> int | None:
    """Return the limit on the address space of the process in bytes, or None if there is none."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        return None if limit == resource.RLIM_INFINITY else limit
    return None


def _chain(problem: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    error: BaseException | None = problem
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _space(path: Path) -> OutOfSpace:
    return OutOfSpace(f"{path} cannot be written: no space is left ({_room(path)} there); free some, or use another disk; {KEPT}")


def _full_disks() -> str:
    import tempfile

    rooms = dict.fromkeys(f"{place} has {_room(place)}" for place in (Path.cwd(), Path(tempfile.gettempdir())))
    return f"a disk is full ({'; '.join(rooms)}); free some of it; {KEPT}"


def _room(path: Path) -> str:
    """Return the free space on the file system of a path, or that it has no room for more files."""
    place = next((place for place in (path, *path.absolute().parents) if place.is_dir()), Path("/"))
    try:
        found = os.statvfs(place)
    except (OSError, AttributeError):
        return "unknown space"
    if found.f_files and not found.f_favail:
        return "room for no more files"
    return f"{found.f_bavail * found.f_frsize / MEGABYTE:,.1f} MB free"


def _memory(problem: BaseException, lower: str) -> OutOfMemory:
    messages = " ".join(str(error) for error in _chain(problem))
    wanted, left = WANTED.search(messages), OF_GPU.search(messages)
    on_gpu = "CUDA" in messages or "CUBLAS" in messages
    facts = [f"{_readable(wanted[1])} were requested at once"] if wanted else []
    facts += ([f"{left[2]} of {left[1]} are free"] if left else []) if on_gpu else _limits()
    about = f" ({', '.join(facts)})" if facts else ""
    return OutOfMemory(f"{'the GPU has not' if on_gpu else 'there is not'} enough memory{about}; {lower}; {KEPT}")


def _readable(amount: str) -> str:
    number, unit = amount.split(" ") if " " in amount else (amount, "")
    return f"{float(number) / MEGABYTE:,.0f} MB" if unit == "bytes" else amount


def _limits() -> list[str]:
    """Return the free memory of the system, and the limit of the process if there is one."""
    facts = []
    with contextlib.suppress(OSError, ValueError, LookupError):
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        facts.append(f"{int(fields['MemAvailable'].split()[0]) / 1000:,.0f} MB are free")
    limit = _limit()
    if limit is not None:
        facts.append(f"`ulimit -v` allows this process {limit / MEGABYTE:,.0f} MB: raise it if you can")
    return facts
