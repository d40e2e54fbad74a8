"""Studies on a Ray cluster of this machine: killed workers, nodes that join late, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from support.ray_cluster import cluster, join
from support.small_recipe import without_cost
from support.small_study import write_recipe

from ticketlab.studies.stored_cells import read_study_cells
from ticketlab.testing.models.tiny import tiny_model

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]
pytest.importorskip("ray")


@pytest.fixture(scope="module")
def recipe_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipe")
    return write_recipe(folder, tiny_model("bert", folder / "bert"))


def start(recipe, lab, *more, seeds=3):
    """Start a study whose searches take seconds, in a process group of its own."""
    slow = ["--set", "search.epochs=30", "--set", "search.checkpoint_seconds=0"]
    varied = ["--vary", "sparsity=0.1,0.3", "--seeds", str(seeds), *slow]
    command = [sys.executable, "-m", "ticketlab", "ablate", str(recipe), *varied, "--lab", str(lab), "--name", "one", *more]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def started(lab):
    """Return the records of the stages that have begun."""
    path = lab / "studies" / "one" / "log.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [record for line in lines if line.endswith("\n") and (record := json.loads(line))["event"] == "start"]


def pid_of(record):
    return int(record["place"].split()[1])


def wait_for(condition, process, seconds=300):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def cells(lab):
    return [(cell.label, cell.error, without_cost(cell.results["tasks"])) for cell in read_study_cells(lab / "studies" / "one").cells]


def test_a_study_survives_a_killed_worker_and_uses_a_late_node(recipe_file, tmp_path):
    lab = tmp_path / "lab"
    with cluster() as nodes:
        join(nodes, "second")
        process = start(recipe_file, lab, "--executor", "ray", "--executor-set", f"address={nodes.address}")
        killed = wait_for(lambda: [record for record in started(lab) if record["stage"] == "search"], process)[0]
        os.kill(pid_of(killed), signal.SIGKILL)
        join(nodes, "late")
        used, known = set(), 0
        while process.poll() is None:
            records = started(lab)
            for record in records[known:]:
                try:
                    used.add(psutil.Process(pid_of(record)).environ()["NODE"])
                except psutil.NoSuchProcess:
                    continue
            known = len(records)
            time.sleep(0.02)
        output, _ = process.communicate()
    assert process.returncode == 0, output
    assert "the worker process has died" in output
    assert "it is started again" in output
    assert "late" in used
    attempts = [record["key"] for record in started(lab)]
    assert {key: attempts.count(key) for key in attempts if attempts.count(key) > 1} == {killed["key"]: 2}
    alone = start(recipe_file, tmp_path / "alone")
    output, _ = alone.communicate()
    assert alone.returncode == 0, output
    assert cells(lab) == cells(tmp_path / "alone")


def test_ctrl_c_writes_checkpoints_and_leaves_no_process(recipe_file, tmp_path):
    lab = tmp_path / "lab"
    process = start(recipe_file, lab, "--executor", "ray", seeds=1)
    running = wait_for(lambda: [record for record in started(lab) if record["stage"] == "search"], process)[0]
    time.sleep(1)
    descendants = psutil.Process(process.pid).children(recursive=True)
    assert len(descendants) > 3
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130, output
    assert "run the same command again to resume" in output
    assert psutil.wait_procs(descendants, timeout=60)[1] == []
    again = start(recipe_file, lab, "--executor", "ray", seeds=1)
    output, _ = again.communicate()
    assert again.returncode == 0, output
    assert "search: resuming after step" in output
    assert sum(record["key"] == running["key"] for record in started(lab)) == 2


def test_without_a_cluster_at_the_address_nothing_is_computed(recipe_file, tmp_path):
    process = start(recipe_file, tmp_path / "lab", "--executor", "ray", "--executor-set", "address=127.0.0.1:9")
    output, _ = process.communicate()
    assert process.returncode == 2
    assert "no Ray cluster answers at 127.0.0.1:9" in output.splitlines()[-1]
    assert not started(tmp_path / "lab")
