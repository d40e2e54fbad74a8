"""Finds out what the file system of a lab supports, by trying it: what leases need, and what tells one machine about another."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ticketlab.core import temporary
from ticketlab.lab.heartbeat import BEATS
from ticketlab.lab.holder import SECONDS, stale_seconds

MOUNTS = Path("/proc/self/mountinfo")
NETWORK = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "lustre",
    "gpfs",
    "beegfs",
    "ceph",
    "glusterfs",
    "afs",
    "pvfs2",
    "panfs",
    "9p",
    "virtiofs",
)
"""Types of file systems that several machines share."""
STEPS = (1, 100, 1_000, 1_000_000, 1_000_000_000, 2_000_000_000)
"""Resolutions of time stamps in nanoseconds."""

UNKNOWN: Mapping[str, Any] = {
    "read_only": False,
    **dict.fromkeys(("free_bytes", "leases", "atomic_replace", "hard_links", "time_resolution_seconds", "clock_offset_seconds")),
    "problems": [],
}
"""The facts before anything was tried."""


def describe_directory(root: Path) -> dict[str, Any]:
    """Return what the place of a lab supports, as JSON values: each fact by name, None if it is unknown, and the ``problems`` as text.

    Tries it in a temporary folder, in the lab or in the nearest folder above a lab that does not exist yet.
    """
    root = root.absolute()
    place = next(place for place in (root, *root.parents) if place.is_dir())
    kind = file_system_of(place)
    is_fuse = kind.startswith("fuse.")
    facts: dict[str, Any] = {
        **UNKNOWN,
        "place": str(root),
        "kind": "directory",
        "file_system": kind or None,
        "shared": "unknown" if is_fuse or not kind else "yes" if kind in NETWORK else "no",
        "free_bytes": shutil.disk_usage(place).free,
        "stale_seconds": stale_seconds(),
    }
    probe = place / f".ticketlab-{temporary.mark()}{os.urandom(4).hex()}"
    try:
        probe.mkdir()
    except OSError as problem:
        facts |= {"read_only": True, "problems": [f"nothing can be written there ({problem.strerror}): results can only be read"]}
        return facts
    try:
        facts |= {
            "leases": _works(_try_lease, probe),
            "atomic_replace": _works(_try_replace, probe),
            "hard_links": _works(_try_link, probe),
            **_times(probe),
        }
    finally:
        shutil.rmtree(probe, ignore_errors=True)
    facts["problems"] = list(_problems(facts, is_fuse))
    return facts


def describe_facts(facts: dict[str, Any]) -> list[str]:
    """Return the facts as lines of text."""
    shared = {"yes": "several machines may share it", "no": "of this machine", "unknown": "whether machines share it is unknown"}
    free = "" if facts["free_bytes"] is None else f"; {facts['free_bytes'] / 1e9:,.1f} GB free"
    lines = [f"{facts['place']}: {facts['file_system'] or 'unknown file system'}, {shared[facts['shared']]}{free}"]
    if not facts["read_only"]:
        tried = {"leases": "leases", "atomic_replace": "atomic replacement of files", "hard_links": "hard links"}
        found = [f"{text}: {'yes' if facts[name] else 'no'}" for name, text in tried.items() if facts[name] is not None]
        if facts["time_resolution_seconds"] is not None:
            found.append(f"time stamps of {_duration(facts['time_resolution_seconds'])}")
        if (offset := facts["clock_offset_seconds"]) is not None:
            found.append(f"its clock is {abs(offset):.1f} s {'behind' if offset < 0 else 'ahead of'} the one here")
        lines.append("; ".join(found))
        lines.append(f"a stage whose machine has died is free again after {facts['stale_seconds']:g} s ({SECONDS} changes it)")
    return [*lines, *(f"problem: {problem}" for problem in facts["problems"])]


def _duration(seconds: float) -> str:
    return f"{seconds:g} s" if seconds >= 1 else f"{seconds * 1e9:,.0f} ns"


def file_system_of(place: Path) -> str:
    """Return the type of the file system of a folder, such as ``ext4``, ``nfs4`` or ``fuse.sshfs``; empty if the system does not tell."""
    found, length = "", -1
    resolved = str(place.resolve())
    with contextlib.suppress(OSError, LookupError):
        for line in MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
            before, _, after = line.partition(" - ")
            mounted = before.split()[4].encode().decode("unicode_escape", errors="replace")  # a space is \040
            if len(mounted) >= length and Path(resolved).is_relative_to(mounted):
                found, length = after.split()[0], len(mounted)
    return found


def _works(attempt: Callable[[Path], bool], probe: Path) -> bool:
    try:
        return attempt(probe)
    except OSError:
        return False


def _try_lease(probe: Path) -> bool:
    """Rename a folder to the place of an empty one, which must succeed, and then another one there, which must fail."""
    place, first, second = probe / "lease", probe / "first", probe / "second"
    for folder in (place, first, second):
        folder.mkdir()
    for folder in (first, second):
        (folder / "file").touch()
    first.rename(place)
    try:
        second.rename(place)
    except OSError:
        return (place / "file").exists() and second.exists()
    return False


def _try_replace(probe: Path) -> bool:
    new, old = probe / "new", probe / "old"
    new.write_text("new", encoding="utf-8")
    old.write_text("old", encoding="utf-8")
    new.replace(old)
    return old.read_text(encoding="utf-8") == "new" and not new.exists()


def _try_link(probe: Path) -> bool:
    (probe / "linked").touch()
    (probe / "link").hardlink_to(probe / "linked")
    return (probe / "linked").stat().st_nlink == 2


def _times(probe: Path) -> dict[str, float]:
    """Return the resolution of time stamps, and how far the clock that sets them is ahead of the one here, in seconds."""
    file = probe / "time"
    file.touch()
    requested = 1_700_000_001_123_456_789
    os.utime(file, ns=(requested, requested))
    kept = file.stat().st_mtime_ns
    resolution = next((step for step in STEPS if kept == requested // step * step), STEPS[-1]) / 1e9
    before = time.time()
    os.utime(file)
    return {"time_resolution_seconds": resolution, "clock_offset_seconds": file.stat().st_mtime - (before + time.time()) / 2}


def _problems(facts: dict[str, Any], is_fuse: bool) -> list[str]:
    found = []
    if not facts["leases"]:
        found.append("folders are not renamed as leases need: run one command at a time in this lab, on one machine")
    if not facts["atomic_replace"]:
        found.append("files are not replaced atomically: an interrupted command may leave a damaged file")
    if facts["time_resolution_seconds"] > facts["stale_seconds"] / BEATS:
        found.append(f"time stamps are too coarse to show that a process lives: set {SECONDS} to {facts['time_resolution_seconds'] * 60:g}")
    if is_fuse:
        found.append(
            "whether the renames of one machine exclude those of another cannot be tried from one machine, and depends on what is behind "
            "this file system: an object store does not; name the store itself instead (--lab s3://...)"
        )
    return found
