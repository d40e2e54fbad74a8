"""What differs between operating systems."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ticketlab.core import platforms
from ticketlab.core.errors import UsageError


@pytest.mark.parametrize(
    ("system", "forks", "wanted", "expected"),
    [
        ("linux", True, "", "fork"),
        ("linux", True, "spawn", "spawn"),
        ("darwin", True, "", "spawn"),
        ("darwin", True, "fork", "fork"),
        ("win32", False, "", "spawn"),
        ("win32", False, "spawn", "spawn"),
    ],
)
def test_processes_are_forked_on_linux_and_spawned_elsewhere_unless_one_is_chosen(monkeypatch, system, forks, wanted, expected):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setenv(platforms.START_METHOD, wanted)
    if not forks:
        monkeypatch.delattr(os, "fork")
    assert platforms.start_method() == expected


def test_an_impossible_start_method_is_refused(monkeypatch):
    monkeypatch.setenv(platforms.START_METHOD, "thread")
    with pytest.raises(UsageError, match="TICKETLAB_START_METHOD=thread: must be `fork` or `spawn`"):
        platforms.start_method()
    monkeypatch.setenv(platforms.START_METHOD, "fork")
    monkeypatch.delattr(os, "fork")
    with pytest.raises(UsageError, match="must be `spawn` on this system"):
        platforms.start_method()


@pytest.mark.parametrize(("system", "refusals", "written"), [("nt", 3, True), ("nt", 10**6, False), ("posix", 1, False)])
def test_on_windows_a_file_that_is_being_read_is_replaced_a_little_later(monkeypatch, tmp_path, system, refusals, written):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("new", encoding="utf-8")
    target.write_text("old", encoding="utf-8")
    refused, replace = [], Path.replace

    def busy(path, other):
        if len(refused) < refusals:
            refused.append(path)
            raise PermissionError(13, "the file is being used by another process")
        return replace(path, other)

    monkeypatch.setattr(Path, "replace", busy)
    monkeypatch.setattr(platforms, "os", SimpleNamespace(name=system))
    monkeypatch.setattr(platforms, "SECONDS_TO_REPLACE", 0.3)
    if written:
        platforms.replace(source, target)
    else:
        with pytest.raises(PermissionError):
            platforms.replace(source, target)
    assert target.read_text(encoding="utf-8") == ("new" if written else "old")
