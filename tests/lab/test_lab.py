"""Read-only labs, and runs that share a directory."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from ticketlab.core import temporary
from ticketlab.core.errors import LeaseLost, TicketlabError
from ticketlab.lab import lease
from ticketlab.lab.lab import Lab
from ticketlab.runs.run import run

ONLY_TRAINED = ("search", "draw", "retrain", "evaluate", "attack")


def tree(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_complete_lab_can_be_read_only(make_recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = make_recipe("finetune.epochs=1", without=ONLY_TRAINED)
    expected = run(recipe, tmp_path)
    before = tree(tmp_path)
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
    found = run(recipe, tmp_path)
    assert (found.results, found.directory) == (expected.results, expected.directory)
    assert tree(tmp_path) == before

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(lease, "acquire", refuse)
    with pytest.raises(TicketlabError, match="the lab is read-only, and it lacks `demo seed 0 finetune`"):
        run(make_recipe("finetune.epochs=1", "finetune.lr=0.5", without=ONLY_TRAINED), tmp_path)


def test_a_stage_whose_lease_is_lost_leaves_nothing_and_is_computed_by_the_next_run(
    make_recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_recipe("finetune.epochs=1", "finetune.checkpoint_seconds=0", without=ONLY_TRAINED)
    sweep = temporary.sweep

    def lose(folder: Path, *, locked: bool = False) -> None:
        sweep(folder, locked=locked)
        if locked:  # as if another process had found the lease free, in the first moment
            shutil.rmtree(folder / ".lease")

    with monkeypatch.context() as patch:
        patch.setattr(temporary, "sweep", lose)
        with pytest.raises(LeaseLost, match=r"^demo seed 0 finetune: this process was stopped, or could not write, for more than 60 s"):
            run(recipe, tmp_path)
    (folder,) = tmp_path.glob("stages/*/*")
    assert list(folder.iterdir()) == []
    assert run(recipe, tmp_path).results["tasks"]["demo"]["0"]["finetune"]["train"]["steps"] == 6


def test_a_run_with_another_number_of_threads_has_the_same_directory_and_reports_it(
    make_recipe: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = make_recipe("finetune.epochs=0.1", without=ONLY_TRAINED)
    one = run(recipe, tmp_path)
    torch.set_num_threads(2)
    two = run(recipe, tmp_path)
    assert one.directory == two.directory
    assert "its results were computed with 1 thread; results with 2 are computed separately and replace them" in capsys.readouterr().err
    keys = [done.results["tasks"]["demo"]["0"]["finetune"]["key"] for done in (one, two)]
    assert keys[0] != keys[1]


def test_temporary_files_of_killed_processes_are_removed_from_a_lab_and_checkpoints_kept(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    for key, names in {"a" * 64: [".lock"], "b" * 64: [".lock", "checkpoint.safetensors", ".checkpoint.safetensors.0123abcd"]}.items():
        lab.stage(key).mkdir(parents=True)
        for name in names:
            (lab.stage(key) / name).touch()
            os.utime(lab.stage(key) / name, (0, 0))
    lab.sweep()
    assert not lab.stage("a" * 64).exists()
    assert sorted(path.name for path in lab.stage("b" * 64).iterdir()) == ["checkpoint.safetensors"]
