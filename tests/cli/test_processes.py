"""``ticketlab run --processes``: processes that train together end together, with one message, and the same command resumes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PLUGIN = '''
import os, time
from attrs import frozen
import torch
from ticketlab.plugin import Adversary, drawn_for_batch, hookimpl, plain_step

@frozen
class Slow(Adversary):
    """Takes its time, and fails in one process."""

    name = "slow"
    summary = "takes its time"

    def backward(self, loss_function, batch):
        assert len(drawn_for_batch(len(batch), torch.rand)) == len(batch)
        time.sleep(0.1)
        if os.environ.get("FAIL_IN") == os.environ.get("RANK", "0"):
            raise ValueError("bad luck")
        return plain_step(loss_function, batch)

@hookimpl
def ticketlab_adversaries():
    return [Slow]

@hookimpl
def ticketlab_stage_started(stage):
    print("LISTENER", stage, flush=True)
'''


@pytest.fixture
def command(tiny, tmp_path):
    (tmp_path / "slow.py").write_text(PLUGIN)
    rows = "".join(f"the film number {index} is {('bad', 'good')[index % 2]},{('no', 'yes')[index % 2]}\n" for index in range(80))
    (tmp_path / "films.csv").write_text("text,label\n" + rows)
    stages = ["fine-tune", "--task", "films.csv", "--model", str(tiny["bert"]), "--attack", "none", "--lab", "lab", "--plugin", "slow.py"]
    settings = {"finetune.adversary": "slow", "finetune.checkpoint_seconds": 0, "finetune.epochs": 4, "finetune.batch_size": 8}
    return [*stages, *(word for name, value in settings.items() for word in ("--set", f"{name}={value}"))]


def start(command: list[str], folder: Path, *more: str, launcher: tuple[str, ...] = (), **environment: str) -> subprocess.Popen[str]:
    words = [sys.executable, *launcher, "-m", "ticketlab", "run", *command, *more]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    return subprocess.Popen(words, cwd=folder, env={**os.environ, **environment}, **pipes)


def end_of(process: subprocess.Popen[str], seconds: float = 250) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def errors(err: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith(("error", "interrupted", "terminated", "stopped", "Traceback"))]


def children(process: subprocess.Popen[str]) -> dict[int, int]:
    """Return the process ids of the processes that train together, by their number."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            variables = (entry / "environ").read_bytes().split(b"\0")
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            rank = next((variable for variable in variables if variable.startswith(b"RANK=")), b"")
            if parent == process.pid and rank:
                found[int(rank.removeprefix(b"RANK="))] = int(entry.name)
    return found


def wait_for_checkpoint(folder: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 240
    while not list(folder.glob("lab/stages/*/*/checkpoint*")):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.1)


def processes_of(folder: Path) -> list[int]:
    (results,) = folder.glob("lab/runs/*/results.json")
    (seeds,) = json.loads(results.read_text())["tasks"].values()
    found: list[int] = seeds["0"]["finetune"]["train"]["processes"]
    return found


@pytest.mark.system
@pytest.mark.parametrize(
    ("rank", "number", "code", "message"),
    [
        (1, signal.SIGKILL, 1, "process 1 of the training was killed by SIGKILL"),
        (0, signal.SIGKILL, 1, "process 0 of the training was killed by SIGKILL"),
        (None, signal.SIGINT, 130, "run the same command again to resume"),
        (None, signal.SIGTERM, 143, "run the same command again to resume"),
    ],
    ids=["a follower is killed", "process 0 is killed", "Ctrl-C", "SIGTERM"],
)
def test_all_end_with_one_message_and_the_run_resumes_with_another_number(rank, number, code, message, command, tmp_path):
    process = start(command, tmp_path, "--processes", "2")
    wait_for_checkpoint(tmp_path, process)
    together = children(process)
    assert set(together) == {0, 1}
    os.kill(process.pid if rank is None else together[rank], number)
    began = time.monotonic()
    status, _, err = end_of(process)
    assert (status, len(errors(err))) == (code, 1), err
    assert message in errors(err)[0]
    assert time.monotonic() - began < 60
    assert not any(Path(f"/proc/{pid}").exists() for pid in together.values())
    status, out, err = end_of(start(command, tmp_path))
    assert status == 0, err
    assert "resuming after step" in err
    assert out.count("LISTENER finetune") == 1
    assert processes_of(tmp_path) == [2, 1]


@pytest.mark.system
@pytest.mark.parametrize("rank", [0, 1])
def test_an_error_in_one_process_is_one_message(rank, command, tmp_path):
    status, out, err = end_of(start(command, tmp_path, "--processes", "2", FAIL_IN=str(rank)))
    assert (status, len(errors(err))) == (1, 1), err
    assert "bad luck" in errors(err)[0]
    assert ("process 1" in errors(err)[0]) == (rank == 1)
    assert out.count("LISTENER finetune") == 1


@pytest.mark.system
def test_torchrun_starts_the_processes(command, tmp_path):
    launcher = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29577")
    status, out, err = end_of(start(command, tmp_path, launcher=launcher))
    assert status == 0, err
    assert processes_of(tmp_path) == [2]
    assert out.count("LISTENER finetune") == 1
    environment = json.loads(next(tmp_path.glob("lab/runs/*/environment.json")).read_text())
    assert environment["processes"] == 2


@pytest.mark.system
def test_what_needs_all_rows_is_refused_before_anything_is_computed(command, tmp_path):
    source = PLUGIN.replace('summary = "takes its time"', 'summary = "takes its time"\n    whole_batch = True')
    (tmp_path / "slow.py").write_text(source)
    status, _, err = end_of(start(command, tmp_path, "--processes", "2"))
    assert status == 2
    assert errors(err) == [
        "error: finetune: the adversary `slow` needs all rows of a batch at once, so it cannot be trained by 2 processes"
    ]
    assert not list(tmp_path.glob("lab/stages/*/*/result.json"))
