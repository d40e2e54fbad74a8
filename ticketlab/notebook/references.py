"""Which stages of a lab are needed: those that a run, a study, or other data in the lab refers to.

A reference is the key of a stage, 64 hexadecimal digits, anywhere in the text of a file. Too much is kept rather than too little: a
fingerprint that happens to look like a key does no harm.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ticketlab.lab.active_runs import active_runs
from ticketlab.lab.integrity import KEY
from ticketlab.lab.layout import (
    ACTIVE,
    ENVIRONMENT,
    LOG,
    PREDICTION_FILES,
    RECIPE,
    RESULT,
    RESULTS,
    RUN_FILE,
    RUNS,
    STAGES,
    TICKETS,
    TRASH,
    run_directories,
    stage_folder,
)

KEY_IN_BYTES = re.compile(rb"(?<![0-9a-f])" + KEY.pattern.encode() + rb"(?![0-9a-f])")
NOT_SCANNED = (STAGES, RUNS, TRASH, ACTIVE)
"""Folders of a lab whose files are not scanned as a whole."""


def referenced_keys(lab: Path) -> set[str]:
    """Return the keys of all stages that are needed, with the stages that those were computed from.

    :raises OSError: a file cannot be read, so that what it refers to is unknown.
    """
    found = {key for run in run_directories(lab) for key in keys_of_run(run)}
    found |= {key for run in active_runs(lab) for key in run.keys}
    found |= {key for file in _other_files(lab) for key in keys_in_file(file)}
    return _with_inputs(lab, found)


def keys_of_run(run: Path) -> set[str]:
    """Return the keys that a run refers to: in its results, its recipe and its plan, and in its log if it wrote to it after its results."""
    files = [run / name for name in (RESULTS, RECIPE, RUN_FILE)]
    if _time_of(run / LOG) >= _time_of(run / RESULTS):
        files.append(run / LOG)
    return {key for file in files for key in keys_in_file(file)}


def keys_in_file(file: Path) -> set[str]:
    """Return the keys in a file, text or binary; none if it does not exist."""
    try:
        with file.open("rb") as opened:
            if os.fstat(opened.fileno()).st_size == 0:
                return set()
            with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return {key.decode() for key in KEY_IN_BYTES.findall(content)}
    except FileNotFoundError:
        return set()


def _with_inputs(lab: Path, keys: Iterable[str]) -> set[str]:
    """Return keys and, recursively, those of the stages that are named in the results of their stages."""
    needed: set[str] = set()
    left = set(keys)
    while left:
        key = left.pop()
        needed.add(key)
        left |= keys_in_file(stage_folder(lab, key) / RESULT) - needed
    return needed


def _other_files(lab: Path) -> Iterator[Path]:
    """Yield the files of a lab that are not those of stages and runs: studies, tuning, and whatever users put there."""
    yield from _files_of_users(lab / RUNS)
    for entry in lab.iterdir():
        if entry.name in NOT_SCANNED:
            continue
        if entry.is_dir():
            yield from (path for path in entry.rglob("*") if path.is_file())
        elif entry.is_file():
            yield entry


def _files_of_users(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder of runs that are not those of runs."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        own = (LOG, ENVIRONMENT, TICKETS, PREDICTION_FILES) if (folder / RECIPE).exists() else ()
        for entry in entries:
            if entry.name in own:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files_of_users(Path(entry.path))
            elif entry.is_file():
                yield Path(entry.path)


def _time_of(file: Path) -> float:
    with contextlib.suppress(FileNotFoundError):
        return file.stat().st_mtime_ns
    return -1
