"""What `ticketlab doctor` says about the place of a lab."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ticketlab.lab import directory_facts
from ticketlab.lab.directory_facts import describe_directory, describe_facts, file_system_of


def test_a_local_directory_supports_everything_and_nothing_is_left_there(tmp_path: Path) -> None:
    facts = describe_directory(tmp_path / "lab")
    assert facts["problems"] == []
    assert (facts["leases"], facts["atomic_replace"], facts["hard_links"], facts["read_only"]) == (True, True, True, False)
    assert 0 < facts["time_resolution_seconds"] < 0.1
    assert abs(facts["clock_offset_seconds"]) < 1
    assert facts["free_bytes"] > 0
    assert list(tmp_path.iterdir()) == []
    text = "\n".join(describe_facts(facts))
    assert "leases: yes; atomic replacement of files: yes; hard links: yes; time stamps of " in text
    assert "; its clock is 0.0 s " in text
    assert "free again after 60 s (TICKETLAB_STALE_SECONDS changes it)" in text


@pytest.mark.parametrize(
    ("kind", "shared"), [("nfs4", "yes"), ("lustre", "yes"), ("ext4", "no"), ("fuse.s3fs", "unknown"), ("fuseblk", "no"), ("", "unknown")]
)
def test_the_type_of_the_file_system_is_that_of_the_nearest_mount(
    kind: str, shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "with space" / "lab"
    folder.mkdir(parents=True)
    mounts = tmp_path / "mountinfo"
    options = "rw,relatime shared:1 -"
    place = str(folder.parent).replace(" ", "\\040")
    mounts.write_text(f"1 0 8:1 / / {options} xfs /dev/a rw\n2 1 0:2 / {place} {options} {kind} server:/x rw\n" if kind else "")
    monkeypatch.setattr(directory_facts, "MOUNTS", mounts)
    assert file_system_of(folder) == kind
    facts = describe_directory(folder)
    assert facts["shared"] == shared
    assert any("cannot be tried from one machine" in problem for problem in facts["problems"]) == kind.startswith("fuse.")


def rename_like_an_object_store(self: Path, target: Path) -> Path:
    shutil.copytree(self, target, dirs_exist_ok=True)
    shutil.rmtree(self)
    return target


def refuse(*_: Any, **__: Any) -> None:
    raise PermissionError(1, "Operation not permitted")


def round_times(path: Path, times: Any = None, *, ns: tuple[int, int] | None = None) -> None:
    whole = 10_000_000_000
    UTIME(path, ns=(ns[0] // whole * whole,) * 2) if ns else UTIME(path)


UTIME = os.utime


@pytest.mark.parametrize(
    ("change", "fact", "problem"),
    [
        ((Path, "rename", rename_like_an_object_store), "leases", "run one command at a time in this lab"),
        ((Path, "rename", refuse), "leases", "run one command at a time in this lab"),
        ((Path, "replace", refuse), "atomic_replace", "files are not replaced atomically"),
        ((Path, "hardlink_to", refuse), "hard_links", ""),
        ((os, "utime", round_times), "", ""),
    ],
)
def test_what_a_file_system_lacks_is_found_out(
    change: tuple[Any, str, Any], fact: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*change)
    facts = describe_directory(tmp_path)
    if fact:
        assert facts[fact] is False
    else:
        assert facts["time_resolution_seconds"] == 2
    assert [text for text in facts["problems"] if problem and problem in text] == facts["problems"]
    assert len(facts["problems"]) == bool(problem)


def test_time_stamps_must_be_finer_than_the_time_between_heartbeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "utime", round_times)
    monkeypatch.setenv("TICKETLAB_STALE_SECONDS", "20")
    expected = "time stamps are too coarse to show that a process lives: set TICKETLAB_STALE_SECONDS to 120"
    assert describe_directory(tmp_path)["problems"] == [expected]


def test_a_place_where_nothing_can_be_written_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "mkdir", refuse)
    facts = describe_directory(tmp_path)
    assert facts["read_only"] is True
    assert describe_facts(facts)[1:] == ["problem: nothing can be written there (Operation not permitted): results can only be read"]
