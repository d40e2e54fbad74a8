"""A full disk and too little memory are recognised from the messages of any library, and nothing else is."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace

import pytest
from safetensors import SafetensorError

from ticketlab.core import disk_and_memory, files
from ticketlab.core.errors import OutOfMemory, OutOfSpace, UsageError
from ticketlab.runs.stage_errors import run_explaining_errors
from ticketlab.stages.attack import AttackStage

ALLOCATOR = "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096000000 bytes. Error code 12 (Cannot allocate memory)"  # noqa: E501
CUDA = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.20 GiB is free. Process 1 has ..."
)


def wrapped(problem: BaseException) -> BaseException:
    outer = UsageError("a model cannot be loaded")
    outer.__cause__ = problem
    return outer


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "disk"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "disk"),
        (OSError("100 requested and 7 written"), "disk"),
        (SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"), "disk"),
        (wrapped(OSError(errno.ENOSPC, "No space left on device")), "disk"),
        (MemoryError(), "memory"),
        (RuntimeError(ALLOCATOR), "memory"),
        (RuntimeError(CUDA), "memory"),
        (RuntimeError("std::bad_alloc"), "memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "memory"),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), "memory"),
        (wrapped(ImportError("libtorch_cpu.so: failed to map segment from shared object")), "memory"),
        (RuntimeError("shapes differ"), None),
        (UsageError("out of memory.csv: there is no such file"), None),
        (ValueError("the label `no space left on device`"), None),
        (KeyError("CUDA out of memory"), None),
        (OSError(errno.EACCES, "Permission denied"), None),
    ],
    ids=lambda value: f"{type(value).__name__} {value}"[:40] if isinstance(value, BaseException) else str(value),
)
def test_out_of_disk_and_out_of_memory_errors_are_recognised(problem: BaseException, expected: str | None) -> None:
    assert disk_and_memory.kind(problem) == expected


def test_the_error_for_too_little_memory_says_how_much_was_requested_and_what_to_lower() -> None:
    on_cpu = disk_and_memory.explained(RuntimeError(ALLOCATOR), lower="lower search.batch_size (now 32)")
    assert isinstance(on_cpu, OutOfMemory)
    assert "4,096 MB were requested at once" in str(on_cpu)
    assert "lower search.batch_size (now 32)" in str(on_cpu)
    on_gpu = str(disk_and_memory.explained(RuntimeError(CUDA)))
    assert "the GPU does not have enough memory (2.00 GiB were requested at once, 1.20 GiB of 79.11 GiB are free)" in on_gpu


def test_the_error_for_a_full_disk_names_the_file_and_the_free_space(tmp_path: Path) -> None:
    path = tmp_path / "model" / "weights"

    def write(_: Path) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    with pytest.raises(OutOfSpace, match=r"model/weights cannot be written: no space is left \([\d,.]+ MB free there\)"):
        files.write_atomic(path, write)
    assert list(path.parent.iterdir()) == []


def test_an_attack_without_memory_says_which_of_its_settings_to_lower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(AttackStage, "run", run)
    lower = r"lower attack\.in_flight \(now 64\), attack\.workers \(now one per core\), max_length \(now 128\)"
    with pytest.raises(OutOfMemory, match=lower):
        run_explaining_errors(AttackStage(), SimpleNamespace(name="attack", max_length=128))  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "expected"), [("MemTotal: 9 kB\nMemAvailable:   2 kB\n", 2048), ("MemTotal: 9 kB\n", None), (None, None)])
def test_the_available_memory_is_what_the_system_says(
    text: str | None, expected: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        (tmp_path / "meminfo").write_text(text)
    monkeypatch.setattr(disk_and_memory, "MEMORY_FACTS", tmp_path / "meminfo")
    assert disk_and_memory.available_memory() == expected
