"""A full disk or too little memory, whatever library noticed it, said as what it is: what is short, where, and what to lower."""

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
"""What torch, CUDA, numpy, safetensors, tokenizers and the dynamic linker say."""
WANTED = re.compile(r"tried to allocate ([\d.]+ ?(?:bytes|[KMG]iB))", re.IGNORECASE)
OF_GPU = re.compile(r"total capacity of ([\d.]+ \w+) of which ([\d.]+ \w+) is free")
KEPT = "what was done is kept: the same command resumes from there"
MEGABYTE = 1e6
NEEDED = 1000 * MEGABYTE
"""Address space that the imports of a run take (1,100 MB measured with torch for CPUs, 2,500 with an attack)."""


def kind(problem: BaseException) -> Kind | None:
    """Return what is short where an error, or one that led to it, says so."""
    for one in _chain(problem):
        if isinstance(one, MemoryError | OutOfMemory) or (isinstance(one, OSError) and one.errno == errno.ENOMEM):
            return "memory"
        if isinstance(one, OutOfSpace) or (isinstance(one, OSError) and one.errno in ON_DISK):
            return "disk"
        if isinstance(one, TicketlabError | ValueError | LookupError | AttributeError):  # may quote anything
            continue
        words = str(one)
        if OF_DISK.search(words):
            return "disk"
        if OF_MEMORY.search(words):
            return "memory"
    return None


def explained(problem: BaseException, *, lower: str = "") -> TicketlabError | None:
    """Return the error that says what is short, or None where nothing is. ``lower`` is what takes less memory."""
    found = kind(problem)
    if found is None:
        return None
    said = next((one for one in _chain(problem) if isinstance(one, OutOfMemory | OutOfSpace)), None)
    if said is not None:
        return said
    if found == "memory":
        return _memory(problem, lower or "free some, or take a smaller model, batch or data set")
    name = next((one.filename for one in _chain(problem) if isinstance(one, OSError) and one.filename), None)
    return _space(Path(os.fsdecode(name))) if isinstance(name, str | bytes) else OutOfSpace(_full_disks())


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Write ``path`` inside the block.

    :raises OutOfSpace: there is no room for it; the message has the folder and what is free there.
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
    """Make sure that the process may have the memory that torch's import takes; under less, OpenBLAS tries for ever and cannot be stopped.

    :raises OutOfMemory: it may not.
    """
    limit = _limit()
    if limit is not None and limit < NEEDED:
        raise OutOfMemory(
            f"`ulimit -v` allows this process {limit / MEGABYTE:,.0f} MB, and to import torch takes {NEEDED / MEGABYTE:,.0f}; raise it"
        )


def _limit() -> int | None:
    """Return the limit on the address space of the process in bytes, None where there is none."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        return None if limit == resource.RLIM_INFINITY else limit
    return None


def _chain(problem: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    one: BaseException | None = problem
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def _space(path: Path) -> OutOfSpace:
    return OutOfSpace(f"{path} cannot be written: no space is left ({_room(path)} there); free some, or use another disk; {KEPT}")


def _full_disks() -> str:
    import tempfile

    rooms = dict.fromkeys(f"{place} has {_room(place)}" for place in (Path.cwd(), Path(tempfile.gettempdir())))
    return f"a disk is full ({'; '.join(rooms)}); free some of it; {KEPT}"


def _room(path: Path) -> str:
    """Say how much can be written where a path is: bytes, and files where a file system has run out of them."""
    place = next((place for place in (path, *path.absolute().parents) if place.is_dir()), Path("/"))
    try:
        found = os.statvfs(place)
    except (OSError, AttributeError):
        return "unknown what is free"
    if found.f_files and not found.f_favail:
        return "room for no more files"
    return f"{found.f_bavail * found.f_frsize / MEGABYTE:,.1f} MB free"


def _memory(problem: BaseException, lower: str) -> OutOfMemory:
    words = " ".join(str(one) for one in _chain(problem))
    wanted, left = WANTED.search(words), OF_GPU.search(words)
    on_gpu = "CUDA" in words or "CUBLAS" in words
    facts = [f"{_readable(wanted[1])} were wanted at once"] if wanted else []
    facts += ([f"{left[2]} of {left[1]} are free"] if left else []) if on_gpu else _limits()
    about = f" ({', '.join(facts)})" if facts else ""
    return OutOfMemory(f"{'the GPU has not' if on_gpu else 'there is not'} enough memory{about}; {lower}; {KEPT}")


def _readable(amount: str) -> str:
    number, unit = amount.split(" ") if " " in amount else (amount, "")
    return f"{float(number) / MEGABYTE:,.0f} MB" if unit == "bytes" else amount


def _limits() -> list[str]:
    """Say how much memory there is: what the system has free, and the limit of the process if it has one."""
    facts = []
    with contextlib.suppress(OSError, ValueError, LookupError):
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        facts.append(f"{int(fields['MemAvailable'].split()[0]) / 1000:,.0f} MB are free")
    limit = _limit()
    if limit is not None:
        facts.append(f"`ulimit -v` allows this process {limit / MEGABYTE:,.0f} MB: raise it if you can")
    return facts
