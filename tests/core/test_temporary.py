"""Temporary files of killed processes are removed, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ticketlab.core import files, temporary

LEAVE = """
import os, sys
from pathlib import Path
from ticketlab.core import files, temporary

place = Path(sys.argv[1])
(place / f"ticketlab-nltk-{temporary.mark()}abcdefgh").mkdir()

def write(path):
    path.write_text("half")
    os.kill(os.getpid(), 9)

files.write_atomic(place / "numbers.csv", write)
"""


def put(path: Path, *, days_ago: float = 0) -> Path:
    path.write_text("x", encoding="utf-8")
    then = path.stat().st_mtime - days_ago * 24 * 3600
    os.utime(path, (then, then))
    return path


def test_temporary_files_of_a_killed_process_are_removed_by_the_next_write(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", LEAVE, str(tmp_path)], check=False)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert len(left) == 2
    backup = put(tmp_path / ".numbers.csv.20240101", days_ago=400)
    ours = put(temporary.temporary_path(tmp_path / "numbers.csv"))
    other = put(temporary.temporary_path(tmp_path / "other.csv"))
    files.write_text(tmp_path / "numbers.csv", "whole")
    temporary.sweep_temporary_folders(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"numbers.csv", backup.name, ours.name, other.name}


def test_temporary_files_are_stale_after_a_day_or_under_the_lock(tmp_path: Path) -> None:
    inside = tmp_path / "records"
    inside.mkdir()
    old, new = put(inside / ".result.json.0123abcd", days_ago=2), put(tmp_path / ".result.json.0123abce")
    elsewhere = put(tmp_path / ".result.json.ffffff-1-0123abce", days_ago=2)
    kept = [put(tmp_path / name, days_ago=2) for name in ("result.json", ".lock", ".hidden", "model.0123abcd")]
    temporary.sweep(tmp_path)
    assert (old.exists(), new.exists(), elsewhere.exists()) == (False, True, False)
    temporary.sweep(tmp_path, locked=True)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(kept)


def test_a_folder_with_a_similar_name_is_kept(tmp_path: Path) -> None:
    names = ("ticketlab-20240101", "ticketlab-nltk-data", f"ticketlab-nltk-{temporary.mark()}abcdefgh", "ticketlab-abcdefgh")
    for name in names:
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, 0))
    temporary.sweep_temporary_folders(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(names)


def test_a_folder_that_its_process_removes_meanwhile_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("abcdefgh", "bcdefghi"):
        (tmp_path / f"ticketlab-nltk-{temporary.mark()}{name}").mkdir()
    entries = temporary._entries(tmp_path)
    for entry in entries:
        entry.is_dir(follow_symlinks=False)  # the system told the kind with the name: the later stat alone finds it gone
        Path(entry.path).rmdir()
    monkeypatch.setattr(temporary, "_entries", lambda _: entries)
    temporary.sweep_temporary_folders(tmp_path)
