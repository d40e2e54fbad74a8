"""Worker processes of a study: what becomes of a job whose worker ends or finds the disk full."""

import signal
import sys
from pathlib import Path

import pytest

from ticketlab.core import registry
from ticketlab.core.errors import OutOfSpace
from ticketlab.studies import workers
from ticketlab.studies.job import Job

FAILING = Path(__file__).parents[1] / "third_party" / "failing.py"
ANSWERS = """
import json, os, signal, sys
for line in sys.stdin:
    job = json.loads(line)
    if job["key"] == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    print(json.dumps({"key": job["key"], "error": "", **job["recipe"]}), flush=True)
    if job["key"] == "last":
        break
"""


@pytest.fixture
def pool(tmp_path, monkeypatch):
    (tmp_path / "answering_worker.py").write_text(ANSWERS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(workers, "MODULE", "answering_worker")
    with workers.Workers(2, tmp_path / "lab", tmp_path / "log.jsonl", 1) as found:
        yield found


def job(key, **answer):
    return Job(key, key, answer, "recipe", "stage")


def test_a_job_is_answered_by_its_key(pool):
    pool.start(job("a"))
    assert pool.wait() == ("a", "")
    pool.start(job("b", error="it failed"))
    assert pool.wait() == ("b", "it failed")


def test_a_job_whose_worker_is_killed_fails(pool):
    pool.start(job("dies"))
    key, error = pool.wait()
    assert key == "dies"
    assert signal.SIGKILL.name in error
    pool.start(job("a"))
    assert pool.wait() == ("a", "")


def test_a_worker_that_ends_between_two_jobs_is_replaced(pool):
    pool.start(job("last"))
    assert pool.wait() == ("last", "")
    pool._workers[0].process.wait()
    pool.start(job("other"))
    found = [pool.wait()]
    if found[0][1]:  # it had been given the job before its end was noticed
        pool.start(job("other"))
        found.append(pool.wait())
    assert found[-1] == ("other", "")


def test_files_in_the_working_directory_replace_no_library(pool, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "json.py").write_text("raise SystemExit('not the library')")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("sys.path", [path for path in sys.path if path not in ("", str(tmp_path / "here"))])
    pool.start(job("a"))
    assert pool.wait() == ("a", "")


def test_workers_load_the_plugins_of_this_process(pool, tmp_path, monkeypatch):
    """Those of ``--plugin`` as well as those of ``load_plugins`` in Python."""
    answer = "{'key': json.loads(line)['key'], 'error': ' '.join(sys.argv[3:])}"
    program = f"import json, sys\nfor line in sys.stdin:\n    print(json.dumps({answer}), flush=True)\n"
    (tmp_path / "answering_worker.py").write_text(program)
    monkeypatch.setattr(registry, "_current", None)
    registry.load_plugins(FAILING)
    pool.start(job("a"))
    assert pool.wait() == ("a", str(FAILING))


def test_a_full_disk_ends_the_study(pool):
    pool.start(job("a", error="no space is left", out_of_space=True))
    with pytest.raises(OutOfSpace, match="no space is left"):
        pool.wait()
