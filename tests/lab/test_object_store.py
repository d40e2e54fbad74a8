"""A study in a lab on an S3 server, from the command line: killed, taken over by another machine, and read by a third one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.small_recipe import without_cost
from support.small_study import write_recipe

from ticketlab.studies.stored_cells import read_study_cells

pytestmark = [pytest.mark.system, pytest.mark.timeout(1200)]
s3fs = pytest.importorskip("s3fs", minversion="2025")
pytest.importorskip("moto")

BUCKET, NAME = "bucket", "varied"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start an S3 server with an empty bucket, and return its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as file:
        process = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=file, stderr=file)
    try:
        wait_for(lambda: _answers(port))
        address = f"http://127.0.0.1:{port}"
        s3fs.S3FileSystem(key="a", secret="b", endpoint_url=address).mkdir(BUCKET)
        yield address
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def wait_for(happened: Callable[[], Any], seconds: float = 600) -> None:
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, "it has not happened"
        time.sleep(0.5)


def start(address: str, mirrors: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a command on the machine whose mirrors are in a folder."""
    access = {"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
    environment = {**os.environ, **access, "TICKETLAB_LAB_CACHE": str(mirrors), "TICKETLAB_STALE_SECONDS": "6", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "ticketlab", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def output(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate(timeout=900)
    assert process.returncode == 0, errors
    return out


def finished_in(address: str, lab: str) -> set[str]:
    """Return the keys of the stages that the store has."""
    fs = s3fs.S3FileSystem(key="a", secret="b", endpoint_url=address, use_listings_cache=False)  # s3fs keeps one for equal arguments
    return {path.split("/")[-2] for path in fs.find(f"{BUCKET}/{lab}/stages") if path.endswith("/result.json")}


def begun(mirrors: Path) -> list[str]:
    """Return the keys of the stages that the study has begun to compute on a machine."""
    logs = list(mirrors.glob(f"*/studies/{NAME}/log.jsonl"))
    return [line["key"] for log in logs for line in map(json.loads, log.read_text().splitlines()) if line["event"] == "start"]


def children_of(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


def test_a_killed_study_is_finished_by_another_machine_with_the_same_tables(server: str, tiny: Any, tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path, tiny["bert"])
    command = ["ablate", str(recipe), "--vary", "sparsity=0.1,0.3", "--name", NAME, "--jobs", "2"]
    expected = start(server, tmp_path / "none", *command, "--lab", str(tmp_path / "directory"))

    here, there = tmp_path / "here", tmp_path / "there"
    url = f"s3://{BUCKET}/lab"
    first = start(server, here, *command, "--lab", url)
    wait_for(lambda: first.poll() is not None or finished_in(server, "lab"))
    workers = children_of(first.pid)
    assert workers
    os.kill(workers[-1], signal.SIGKILL)  # its stage is started again
    wait_for(lambda: first.poll() is not None or len(finished_in(server, "lab")) > 2)
    assert first.poll() is None, first.communicate()
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    before = finished_in(server, "lab")
    assert before

    output(start(server, there, *command, "--lab", url))
    again = begun(there)
    assert before.isdisjoint(again)
    assert len(again) == len(set(again))
    assert finished_in(server, "lab") == before | set(again)
    output(expected)
    cells = [
        [(cell.label, cell.error, without_cost(cell.results and cell.results["tasks"])) for cell in read_study_cells(folder).cells]
        for folder in (next(there.glob(f"*/studies/{NAME}")), tmp_path / "directory" / "studies" / NAME)
    ]
    assert cells[0] == cells[1]

    third = tmp_path / "third"
    listed = json.loads(output(start(server, third, "lab", "ls", "--json", "--lab", url)))
    assert len(listed["runs"]) == 2
    assert not list(third.glob("*/stages"))
    reports = [
        output(start(server, third, "report", NAME, "--lab", lab, "--metrics", "clean.accuracy"))
        for lab in (url, str(tmp_path / "directory"))
    ]
    assert reports[0].splitlines()[:20] == reports[1].splitlines()[:20]
    usage = json.loads(output(start(server, third, "lab", "du", "--json", "--lab", url)))
    assert usage["kinds"]["models"] > 100_000
