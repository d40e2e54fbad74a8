"""Removal never takes what a run needs, however the lab came about."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fake_lab import NOW, fake_run, fake_stage, key, measured
from support.small_recipe import without_cost

from ticketlab.core import files
from ticketlab.core.errors import LeaseLost, UsageError
from ticketlab.lab import lease
from ticketlab.lab.active_runs import lab_lock, registered
from ticketlab.lab.layout import LEASE
from ticketlab.lab.lease import Lease
from ticketlab.notebook import removal
from ticketlab.notebook.references import referenced_keys
from ticketlab.notebook.removal import remove_runs, remove_stages, unneeded_stages
from ticketlab.notebook.sizes import stage_keys
from ticketlab.runs.run import run

STAGES = [f"{letter}{number}" for letter in "abcd" for number in range(3)]


@define
class RandomLab:
    """A lab, what must be kept, and what nothing refers to."""

    root: Path
    needed: set[str]
    locked: list[Lease]


@st.composite
def labs(draw: st.DrawFn) -> RandomLab:
    """Make a lab in which each stage is referred to in some of the ways in which a stage can be needed."""
    root = Path(tempfile.mkdtemp(prefix="ticketlab-test-"))
    (root / "runs").mkdir()
    (root / "stages").mkdir()
    needed: set[str] = set()
    locked: list[Lease] = []

    def some(*, are_needed: bool = True) -> list[str]:
        chosen = draw(st.lists(st.sampled_from(STAGES), max_size=3))
        needed.update(chosen if are_needed else ())
        return chosen

    inputs: dict[str, list[str]] = {}
    for number, name in enumerate(STAGES):
        finished = draw(st.booleans())
        inputs[name] = draw(st.lists(st.sampled_from(STAGES[:number]), max_size=2)) if number and finished else []
        of = {str(place): key(other) for place, other in enumerate(inputs[name])}
        fake_stage(root, name, {"model/weights": draw(st.integers(0, 9))}, finished=finished, input_keys=of)
    for number in range(draw(st.integers(0, 3))):
        finished, has_run_file, log_is_newer = (draw(st.booleans()) for _ in range(3))
        stages = {name: {"kind": "train", "key": key(name)} for name in some(are_needed=finished or has_run_file)}
        folder = fake_run(root, f"run-{number:010}", {"sst2": {0: stages}}, finished=finished)
        if not has_run_file:
            (folder / "run.json").unlink()
        with (folder / "recipe.toml").open("a") as recipe:
            recipe.writelines(f'# "lab/stages/{key(name)[:2]}/{key(name)}/model"\n' for name in some())
        in_log = some(are_needed=log_is_newer or not finished)
        (folder / "log.jsonl").write_text("".join(f'{{"event": "start", "key": "{key(name)}"}}\n' for name in in_log))
        os.utime(folder / "log.jsonl", (NOW, NOW + (5 if log_is_newer else -5)))
    study = root / "studies" / "mine"
    study.mkdir(parents=True)
    (study / "study.json").write_text(" ".join(map(key, some())))
    (study / "optuna.db").write_bytes(b"\0\xff" + b"\0".join(key(name).encode() for name in some()))
    for name in draw(st.lists(st.sampled_from(STAGES), max_size=2, unique=True)):
        held = lease.try_acquire(root / "stages" / key(name)[:2] / key(name) / LEASE, {})
        assert held is not None
        locked.append(held)
    return RandomLab(root, _with_inputs(needed, inputs), locked)


def _with_inputs(needed: set[str], inputs: dict[str, list[str]]) -> set[str]:
    found: set[str] = set()
    left = set(needed)
    while left:
        name = left.pop()
        found.add(name)
        left |= set(inputs[name]) - found
    return found


@settings(max_examples=25)
@given(labs())
def test_exactly_what_nothing_needs_is_removed(lab: RandomLab) -> None:
    try:
        in_progress = {name for name in STAGES for held in lab.locked if key(name) in str(held.path)}
        removable = {key(name) for name in STAGES} - {key(name) for name in lab.needed | in_progress}
        assert {stage.key for stage in unneeded_stages(lab.root)} == removable
        removed = remove_stages(lab.root, [key(name) for name in STAGES])  # as if all were unneeded when they were listed
        assert {stage.key for stage in removed} == removable
        assert set(stage_keys(lab.root)) == {key(name) for name in STAGES} - removable
        assert not (lab.root / "trash").exists()
    finally:
        for held in lab.locked:
            held.release()
        shutil.rmtree(lab.root)


def test_a_run_in_progress_keeps_its_stages_and_its_directory(tmp_path: Path) -> None:
    folder = fake_run(tmp_path, "mine", {"sst2": {0: measured("a", 0.5)}})
    fake_stage(tmp_path, "b", {"checkpoint.safetensors": 5}, finished=False)
    (tmp_path / "active").mkdir()
    with registered(tmp_path, "mine", [key("b")]):
        assert unneeded_stages(tmp_path) == []
        with pytest.raises(UsageError, match=r"^mine: in progress; nothing is removed"):
            remove_runs([folder])
    assert [(stage.key, stage.bytes) for stage in unneeded_stages(tmp_path)] == [(key("b"), 5)]
    remove_runs([folder])
    assert len(unneeded_stages(tmp_path)) == 3
    assert not folder.exists()


def test_a_removal_that_lost_the_lock_of_the_lab_removes_nothing(tmp_path: Path) -> None:
    folder = fake_run(tmp_path, "mine", {"sst2": {0: measured("a", 0.5)}})
    fake_stage(tmp_path, "b")
    content = sorted(tmp_path.rglob("*"))
    for remove in (lambda: remove_runs([folder]), lambda: remove_stages(tmp_path, [key("b")])):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(removal, "lab_lock", lost)
            with pytest.raises(LeaseLost, match="another process took it over"):
                remove()
    assert [path for path in sorted(tmp_path.rglob("*")) if "trash" not in path.parts and "active" not in path.parts] == content


@contextlib.contextmanager
def lost(lab: Path) -> Iterator[Lease]:
    """Hold the lock of a lab like a process that was stopped for too long."""
    with lab_lock(lab) as held:
        shutil.rmtree(held.folder)
        yield held


def test_only_old_stages_may_be_asked_for(tmp_path: Path) -> None:
    fake_run(tmp_path, "mine", {"sst2": {0: measured("a", 0.5)}})
    fake_stage(tmp_path, "b")
    assert unneeded_stages(tmp_path, older_than=60) == []
    stage = tmp_path / "stages" / key("b")[:2] / key("b")
    for path in (*stage.rglob("*"), stage):
        os.utime(path, (NOW - 3600, NOW - 3600))
    assert [stage.key for stage in unneeded_stages(tmp_path, older_than=3000, now=NOW)] == [key("b")]
    assert unneeded_stages(tmp_path, older_than=4000, now=NOW) == []


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    fake_run(tmp_path, "mine", {"sst2": {0: measured("a", 0.5)}})
    for name in ("stages/notes/readme.txt", f"stages/ff/{key('a')}/x", "stages/ab/abab/x"):  # the second is on the wrong shelf
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    remove_stages(tmp_path, [stage.key for stage in unneeded_stages(tmp_path)])
    assert (tmp_path / "stages" / "notes" / "readme.txt").exists()
    assert (tmp_path / "stages" / "ff" / key("a") / "x").exists()


@pytest.mark.parametrize("name", ["nothing", "file"])
def test_a_folder_that_is_no_lab_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="not a lab: it has no stages and runs"):
        unneeded_stages(tmp_path / name)


def test_a_study_keeps_its_stages_before_its_first_run(tmp_path: Path) -> None:
    """A lab has no run until a cell of its first study is done."""
    fake_stage(tmp_path, "a0", {"model/weights": 1})
    fake_stage(tmp_path, "a1", {"model/weights": 1})
    (tmp_path / "studies" / "mine").mkdir(parents=True)
    (tmp_path / "studies" / "mine" / "log.jsonl").write_text(f'{{"key": "{key("a0")}"}}\n', encoding="utf-8")
    assert [stage.key for stage in unneeded_stages(tmp_path)] == [key("a1")]


def test_removal_while_a_run_works_takes_nothing_from_it(make_recipe: Any, tmp_path: Path) -> None:
    """Every stage of an earlier run is unneeded at the moment when a run of the same work begins to look for them."""
    recipe = make_recipe("evaluate.model=finetune", without=("search", "draw", "retrain", "attack"))
    before = run(recipe, tmp_path)
    keys = stage_keys(tmp_path)
    remove_runs([before.directory])
    assert [stage.key for stage in unneeded_stages(tmp_path)] == keys

    def collect(*_: str) -> None:
        assert remove_stages(tmp_path, keys) == []

    after = run(recipe, tmp_path, starting=collect)
    assert after.results == before.results  # found in the lab, costs included
    remove_runs([after.directory])
    assert len(remove_stages(tmp_path, keys)) == len(keys) == 2
    assert without_cost(run(recipe, tmp_path).results) == without_cost(before.results)  # computed again


def test_what_a_study_or_a_note_names_is_needed(tmp_path: Path) -> None:
    fake_run(tmp_path, "mine", {"sst2": {0: measured("a", 0.5)}})
    for name in ("b", "c"):
        fake_stage(tmp_path, name)
    (tmp_path / "notes.md").write_text(f"The best model is {key('b')}.", encoding="utf-8")
    (tmp_path / "empty.md").touch()
    for name, place in {"d": "mine.toml", "e": "notes/plan.toml", "f": "mine/notes.md", "g": "archive/old/results.json"}.items():
        fake_stage(tmp_path, name)
        files.write_text(tmp_path / "runs" / place, f"model = '{key(name)}'")
    assert referenced_keys(tmp_path) >= {key("b"), *map(key, "defg")}
    assert [stage.key for stage in unneeded_stages(tmp_path)] == [key("c")]


def test_an_interrupted_run_keeps_the_stages_that_it_has_not_reached(tmp_path: Path) -> None:
    fake_run(tmp_path, "mine", {"sst2": {0: measured("a", 0.5), 1: measured("b", 0.5)}}, finished=False)
    assert unneeded_stages(tmp_path) == []
    files.write_text(tmp_path / "runs" / "mine" / "run.json", "{")  # damaged: only what is legible counts
    assert len(unneeded_stages(tmp_path)) == 4
