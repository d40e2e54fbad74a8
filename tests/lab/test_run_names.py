"""Runs are found by the whole of a name, by its beginning, and by the beginning of a digest."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticketlab.core.errors import UsageError
from ticketlab.lab.finished_runs import find_run
from ticketlab.lab.run_file import RunFile, read_run_file
from ticketlab.lab.run_names import digest_of, run_named, run_of_digest, runs_with_prefix

RUNS = {
    "fine-tune-sst2-aaaa111111": ("aaaa1111115" + "0" * 53, ("mine",)),
    "fine-tune-sst2-aaab222222": ("aaab2222225" + "0" * 53, ()),
    "chosen": ("cccc3333335" + "0" * 53, ()),
}


def make(lab: Path, name: str, digest: str, names: tuple[str, ...] = (), *, finished: bool = True) -> Path:
    folder = lab / "runs" / name
    folder.mkdir(parents=True)
    RunFile(
        digest=digest, names=names, recipe="fine-tune", scale="full", label="fine-tune", overrides={}, model="m", tasks=("sst2",),
        seeds=(0,), keys=(), working_directory="/", started="2026-01-31T00:00:00+00:00",
    ).write(folder)  # fmt: skip
    if finished:
        results = '{"recipe": "fine-tune", "tasks": {"sst2": {"0": {"search": {"kind": "search", "key": "aa"}}}}}'
        (folder / "results.json").write_text(results, encoding="utf-8")
    return folder


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    for name, (digest, names) in RUNS.items():
        make(tmp_path, name, digest, names)
    (tmp_path / "runs" / "old-0123456789").mkdir()  # of an earlier version
    make(tmp_path, "fine-tune-sst2-ffff444444", "ffff444444" + "0" * 54, finished=False)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("mine", "fine-tune-sst2-aaaa111111"),
        ("chosen", "chosen"),
        ("old-0123456789", "old-0123456789"),
        ("min", None),
        ("", None),
        ("../x", None),
    ],
)
def test_a_whole_name(lab: Path, name: str, run: str | None) -> None:
    found = run_named(name, lab)
    assert (found.name if found else None) == run


@pytest.mark.parametrize(
    ("prefix", "runs"),
    [
        ("fine-tune-sst2-aaab", ["fine-tune-sst2-aaab222222"]),
        ("aaa", ["fine-tune-sst2-aaaa111111", "fine-tune-sst2-aaab222222"]),
        ("cccc3333335", ["chosen"]),
        ("0123", ["old-0123456789"]),
        ("min", ["fine-tune-sst2-aaaa111111"]),
        ("cc", []),
        ("zzz", []),
    ],
)
def test_a_beginning(lab: Path, prefix: str, runs: list[str]) -> None:
    assert [run.name for run in runs_with_prefix(prefix, lab)] == runs


def test_a_run_is_found_by_the_digest_of_its_work(lab: Path) -> None:
    for name, (digest, _) in RUNS.items():
        found = run_of_digest(digest, lab)
        assert found is not None
        assert found.name == name
        assert digest_of(found) == digest
    assert run_of_digest("aaaa111111" + "9" * 54, lab) is None  # equal to the tenth digit
    assert digest_of(lab / "runs" / "old-0123456789") == "0123456789"


def test_a_damaged_run_file_counts_as_none(lab: Path) -> None:
    (lab / "runs" / "chosen" / "run.json").write_text('{"digest": 1}', encoding="utf-8")
    assert read_run_file(lab / "runs" / "chosen") is None


def test_commands_find_runs_by_any_of_these(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, run in {"mine": "fine-tune-sst2-aaaa111111", "cccc": "chosen", "fine-tune-sst2-aaab": "fine-tune-sst2-aaab222222"}.items():
        assert find_run(name, lab, "search") == str(lab / "runs" / run)
        assert f"{name}: {lab / 'runs' / run}\n" == capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("aaa", r"^aaa: 2 runs in \S+ begin like this: fine-tune-sst2-aaaa111111, fine-tune-sst2-aaab222222; write more of the name"),
        (
            "ffff",
            r"^ffff: the run \S+ is not finished; repeat its command to resume it \(`ticketlab lab show fine-tune-sst2-ffff444444`\)$",
        ),
    ],
)
def test_an_ambiguous_or_unfinished_run_is_an_error(lab: Path, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_run(name, lab, "search")
