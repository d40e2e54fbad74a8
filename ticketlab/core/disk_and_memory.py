"""Recognises disk-full and out-of-memory errors of any library, and reports what ran out, where, and which settings to lower."""

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
DISK_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
DISK_FULL = re.compile(r"no space left on device|disk quota exceeded|os error (?:28|122)\b|\d+ requested and \d+ written", re.IGNORECASE)
OUT_OF_MEMORY = re.compile(
    r"out of memory|(?:can't|cannot|not|unable to|failed to) (?:be )?allocat\w* .*memory|cannot allocate memory|not enough memory"
    r"|std::bad_alloc|ALLOC_FAILED|failed to map segment|os error 12\b",
    re.IGNORECASE,
)
"""The messages of torch, CUDA, numpy, safetensors, tokenizers and the dynamic linker."""
REQUESTED_AMOUNT = re.compile(r"tried to allocate ([\d.]+ ?(?:bytes|[KMG]iB))", re.IGNORECASE)
GPU_MEMORY = re.compile(r"total capacity of ([\d.]+ \w+) of which ([\d.]+ \w+) is free")
RESUME_HINT = "finished work is kept: the same command resumes from there"
MEMORY_FACTS = Path("/proc/meminfo")
MEGABYTE = 1e6
NEEDED_SPACE = 1000 * MEGABYTE
"""Address space that the imports of a run need (measured: 1,100 MB with torch for CPUs, 2,500 MB with an attack)."""


def kind(problem: BaseException) -> Kind | None:
    """Return what ran out according to an error or one of its causes; None for any other error."""
    for error in _chain(problem):
        if isinstance(error, MemoryError | OutOfMemory) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return "memory"
        if isinstance(error, OutOfSpace) or (isinstance(error, OSError) and error.errno in DISK_ERRNOS):
            return "disk"
        if isinstance(error, TicketlabError | ValueError | LookupError | AttributeError):  # may quote any text
            continue
        message = str(error)
        if DISK_FULL.search(message):
            return "disk"
        if OUT_OF_MEMORY.search(message):
            return "memory"
    return None


def explained(problem: BaseException, *, lower: str = "") -> TicketlabError | None:
    """Return an error that explains what ran out, or None for any other error. ``lower`` is advice on how to use less memory."""
    found = kind(problem)
    if found is None:
        return None
    explanation = next((error for error in _chain(problem) if isinstance(error, OutOfMemory | OutOfSpace)), None)
    if explanation is not None:
        return explanation
    if found == "memory":
        return _out_of_memory(problem, lower or "free some, or use a smaller model, batch or data set")
    name = next((error.filename for error in _chain(problem) if isinstance(error, OSError) and error.filename), None)
    return _out_of_space(Path(os.fsdecode(name))) if isinstance(name, str | bytes) else OutOfSpace(_full_disks())


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Translate the errors of a block that writes ``path``.

    :raises OutOfSpace: there is no space left; the message names the path and the free space there.
    """
    try:
        yield
    except OutOfSpace:
        raise
    except Exception as problem:
        if kind(problem) != "disk":
            raise
        raise _out_of_space(path) from problem


def check_limit() -> None:
    """Check that the process may use the memory that importing torch needs. With less, OpenBLAS retries forever and cannot be interrupted.

    :raises OutOfMemory: the limit is too low.
    """
    limit = _address_space_limit()
    if limit is not None and limit < NEEDED_SPACE:
        raise OutOfMemory(
            f"`ulimit -v` allows this process {limit / MEGABYTE:,.0f} MB, and "
            f"importing torch needs {NEEDED_SPACE / MEGABYTE:,.0f} MB; raise it"
        )


def available_memory() -> int | None:
    """Return the bytes of main memory that the system can give to programs now; None if it does not tell, as on macOS and Windows."""
    with contextlib.suppress(OSError, ValueError, LookupError):
        fields = dict(line.split(":", 1) for line in MEMORY_FACTS.read_text().splitlines())
        return int(fields["MemAvailable"].split()[0]) * 1024
    return None


def _address_space_limit() -> int | None:
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


def _out_of_space(path: Path) -> OutOfSpace:
    return OutOfSpace(
        f"{path} cannot be written: no space is left ({_free_space(path)} there); free some, or use another disk; {RESUME_HINT}"
    )


def _full_disks() -> str:
    import tempfile

    rooms = dict.fromkeys(f"{place} has {_free_space(place)}" for place in (Path.cwd(), Path(tempfile.gettempdir())))
    return f"a disk is full ({'; '.join(rooms)}); free some space; {RESUME_HINT}"


def _free_space(path: Path) -> str:
    """Return the free space on the file system of a path, or that it has no room for more files."""
    place = next((place for place in (path, *path.absolute().parents) if place.is_dir()), Path("/"))
    try:
        found = os.statvfs(place)
    except (OSError, AttributeError):
        return "unknown space"
    if found.f_files and not found.f_favail:
        return "room for no more files"
    return f"{found.f_bavail * found.f_frsize / MEGABYTE:,.1f} MB free"


def _out_of_memory(problem: BaseException, lower: str) -> OutOfMemory:
    messages = " ".join(str(error) for error in _chain(problem))
    wanted, left = REQUESTED_AMOUNT.search(messages), GPU_MEMORY.search(messages)
    on_gpu = "CUDA" in messages or "CUBLAS" in messages
    facts = [f"{_readable(wanted[1])} were requested at once"] if wanted else []
    facts += ([f"{left[2]} of {left[1]} are free"] if left else []) if on_gpu else _system_memory()
    about = f" ({', '.join(facts)})" if facts else ""
    return OutOfMemory(f"{'the GPU does not have' if on_gpu else 'there is not'} enough memory{about}; {lower}; {RESUME_HINT}")


def _readable(amount: str) -> str:
    number, unit = amount.split(" ") if " " in amount else (amount, "")
    return f"{float(number) / MEGABYTE:,.0f} MB" if unit == "bytes" else amount


def _system_memory() -> list[str]:
    """Return the free memory of the system, and the limit of the process if there is one."""
    facts = []
    available = available_memory()
    if available is not None:
        facts.append(f"{available / MEGABYTE:,.0f} MB are free")
    limit = _address_space_limit()
    if limit is not None:
        facts.append(f"`ulimit -v` allows this process {limit / MEGABYTE:,.0f} MB: raise it if you can")
    return facts
