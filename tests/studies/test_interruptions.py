"""Studies that are killed, and studies that run at the same time on one lab."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from support.small_recipe import without_cost
from support.small_study import write_recipe

from ticketlab.lab.active_runs import active_runs
from ticketlab.studies.stored_cells import read_study_cells

pytestmark = pytest.mark.system
KILLS = 10


@pytest.fixture
def recipe_file(tmp_path, tiny):
    return write_recipe(tmp_path, tiny["bert"])


def command(recipe, lab, name, *more):
    varied = ["--vary", "pruner=hard-concrete,magnitude", "--vary", "sparsity=0.1,0.3", "--set", "search.checkpoint_seconds=0"]
    arguments = ["ablate", str(recipe), *varied, "--set", "finetune.checkpoint_seconds=0", "--lab", str(lab), "--name", name, *more]
    return [sys.executable, "-m", "ticketlab", *arguments]


def start(*arguments, **more):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(command(*arguments), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def starts(lab, name):
    path = lab / "studies" / name / "log.jsonl"
    return [line["key"] for line in map(json.loads, path.read_text().splitlines()) if line["event"] == "start"] if path.exists() else []


def kill_while_it_computes(process, lab, name, moments):
    """Kill a study shortly after it has begun the next stage: start-up takes most of the time."""
    known = len(starts(lab, name))
    begun = time.monotonic()
    while process.poll() is None and len(starts(lab, name)) == known and time.monotonic() - begun < 120:
        time.sleep(0.05)
    time.sleep(moments.uniform(0, 1.5))
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.fixture
def no_locks(tmp_path, monkeypatch):
    """Python in this test's processes, on a file system without locks: those of network file systems may fail."""
    refuse = 'def refuse(*_, **__):\n    raise OSError(errno.ENOLCK, "No locks available")\n'
    folder = tmp_path / "no locks"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(f"import errno, fcntl\n{refuse}fcntl.flock = fcntl.lockf = refuse\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]))
    probe = "import fcntl; fcntl.flock(0, fcntl.LOCK_EX)"
    assert "No locks available" in subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True).stderr


def cells(lab, name):
    return [(cell.label, cell.error, without_cost(cell.results["tasks"])) for cell in read_study_cells(lab / "studies" / name).cells]


@pytest.fixture
def uninterrupted(recipe_file, tmp_path):
    process = start(recipe_file, tmp_path / "whole", "one")
    output, _ = process.communicate()
    assert process.returncode == 0, output
    return cells(tmp_path / "whole", "one")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_study_resumes_with_the_same_table(recipe_file, tmp_path, uninterrupted, jobs):
    if jobs == "2" and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one core")
    seed = int.from_bytes(os.urandom(4))
    moments = random.Random(seed)
    for _ in range(KILLS):
        process = start(recipe_file, tmp_path / "lab", "one", "--jobs", jobs, start_new_session=True)
        kill_while_it_computes(process, tmp_path / "lab", "one", moments)
    process = start(recipe_file, tmp_path / "lab", "one", "--jobs", jobs)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert cells(tmp_path / "lab", "one") == uninterrupted, f"seed {seed}"


@pytest.mark.timeout(900)
def test_two_studies_at_once_do_no_stage_twice(recipe_file, tmp_path, uninterrupted):
    both = [start(recipe_file, tmp_path / "lab", name) for name in ("one", "two")]
    for process in both:
        output, _ = process.communicate()
        assert process.returncode == 0, output
    computed = [*starts(tmp_path / "lab", "one"), *starts(tmp_path / "lab", "two")]
    assert len(computed) == len(set(computed))
    assert cells(tmp_path / "lab", "one") == cells(tmp_path / "lab", "two") == uninterrupted


@pytest.mark.timeout(900)
def test_a_study_needs_no_locks_of_the_file_system(recipe_file, tmp_path, uninterrupted, no_locks):
    seed = int.from_bytes(os.urandom(4))
    moments = random.Random(seed)
    lab = tmp_path / "lab"
    process = start(recipe_file, lab, "one", start_new_session=True)
    kill_while_it_computes(process, lab, "one", moments)
    both = [start(recipe_file, lab, name, start_new_session=True) for name in ("one", "two")]
    kill_while_it_computes(both[1], lab, "two", moments)
    both[1] = start(recipe_file, lab, "two")
    for process in both:
        output, _ = process.communicate()
        assert process.returncode == 0, output
    kills = 2
    started = [*starts(lab, "one"), *starts(lab, "two")]
    assert len(started) - len(set(started)) <= kills, f"seed {seed}"
    assert cells(lab, "one") == cells(lab, "two") == uninterrupted, f"seed {seed}"
    assert not list(lab.rglob("*.lease"))
    assert active_runs(lab) == []  # and what the killed ones left is removed
    assert not list(lab.glob("active/*"))
