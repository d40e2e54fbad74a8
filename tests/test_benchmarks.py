"""Benchmarks that others rely on: the checks of a device, and the simulation of a cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[1]


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    return subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, check=False)


def test_the_checks_of_a_device_pass_on_a_cpu(tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    done = run(ROOT / "benchmarks" / "device.sh", "--device", "cpu", "--quick", "--only", "steps,packing", "--json", summary)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(summary.read_text())
    assert (found["FAILED"], found["skipped"], found["ok"]) == (0, 0, len(found["checks"]))
    assert {"freelb", "hard-concrete", "infobert", "smart", "movement", "snip", "learned-mixin", "poe"} <= {
        name for check in found["checks"] for name in check["check"].split(" + ")
    }


def test_a_check_that_fails_is_reported_and_stops_no_other(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import device_checks\ndevice_checks.CLOSE['bf16'] = 0.0\ndevice_checks.main()\n"
    )
    done = run(sys.executable, broken, ROOT / "benchmarks", "--device", "cpu", "--quick", "--only", "precision")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert any(line.startswith("FAILED  precision: none in bf16") and "AssertionError: the loss is" in line for line in lines)
    assert any(line.startswith("ok      precision: none in fp32") for line in lines)
    assert lines[-1].split(", ")[2].split()[0] != "0"


def simulated(*arguments: str) -> dict[str, Any]:
    done = run(sys.executable, ROOT / "benchmarks" / "simulate_cluster.py", "--stages", "1000", *arguments)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_simulated_cluster_loses_no_stage_to_failures() -> None:
    found = simulated("--workers", "20", "--failures", "4", "--parts", "20")
    cluster, parts = found["cluster"], found["parts"]
    assert cluster["stages_lost_and_started_again"] > 0
    assert cluster["cells_complete"] + cluster["cells_failed"] == found["plan"]["cells"]
    assert cluster["cells_failed"] <= 1  # a stage may be lost three times
    assert 1 <= cluster["makespan / lower bound"] < 1.6
    assert 1 <= parts["makespan / lower bound"] < 1.8
