"""Atomic writes: a reader sees the old file or the new one, and no temporary file is left."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ticketlab.core import files


def _half(path: Path) -> None:
    path.write_text("half", encoding="utf-8")
    raise OSError("the disk is full")


def _interrupted(path: Path) -> None:
    path.write_text("half", encoding="utf-8")
    raise KeyboardInterrupt


def _vanished(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("write", [_half, _interrupted, _vanished])
@pytest.mark.parametrize("before", ["old", None], ids=["over a file", "where nothing was"])
def test_a_failed_write_changes_nothing(tmp_path: Path, write: Callable[[Path], None], before: str | None) -> None:
    path = tmp_path / "result.json"
    if before is not None:
        path.write_text(before, encoding="utf-8")
    with pytest.raises((OSError, KeyboardInterrupt)):
        files.write_atomic(path, write)
    assert [file.read_text(encoding="utf-8") for file in tmp_path.iterdir()] == ([before] if before else [])


@pytest.mark.parametrize("value", [{"a": float("nan")}, {"a": object()}, {"a": float("inf")}], ids=["nan", "an object", "inf"])
def test_values_that_json_cannot_represent_are_never_written(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "result.json"
    files.write_json(path, {"a": 1})
    with pytest.raises((TypeError, ValueError)):
        files.write_json(path, value)
    assert files.read_json(path) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_at_the_path_is_an_error_and_is_kept(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        files.write_text(tmp_path / "taken", "new")
    assert list(tmp_path.iterdir()) == [tmp_path / "taken"]


def test_parent_folders_are_created_and_files_are_readable_by_others(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    files.write_text(path, "é\n")
    assert path.read_bytes() == "é\n".encode()
    assert path.stat().st_mode & 0o044 == 0o044
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "value", [None, [], {"b": 1, "a": "é\u2028"}, 0.1, 10**30], ids=["null", "empty", "object", "number", "large number"]
)
def test_json_round_trips(tmp_path: Path, value: Any) -> None:
    files.write_json(tmp_path / "value.json", value)
    assert files.read_json(tmp_path / "value.json") == value


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("a", True),
        ("a/b.txt", True),
        ("..", False),
        ("a/../b", False),
        ("/a", False),
        ("a/", True),
        ("", False),
        ("a\\..\\b", False),
        ("C:/a", False),
    ],
)
def test_a_name_may_lead_out_of_its_folder(name: str, inside: bool) -> None:
    assert files.is_inside(name) == inside


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permissions for groups")
def test_a_file_that_a_library_writes_for_its_owner_alone_gets_the_permissions_of_the_umask(tmp_path: Path) -> None:
    def write(path: Path) -> None:
        path.touch()
        path.chmod(0o600)

    before = os.umask(0o027)
    try:
        files.write_atomic(tmp_path / "a", write)
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
