"""Methods of third parties from the command line: composed with built-in components, and killed (``kill -9``) in both trainings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from click.testing import Result

from ticketlab.lab.layout import CHECKPOINT
from ticketlab.training.checkpoint import Checkpoint

Invoke = Callable[..., Result]
pytestmark = pytest.mark.system
ROOT = Path(__file__).parents[2]
SOURCES = [path.parent for path in ROOT.glob("plugins/*/src/*/py.typed")]
PLUGINS = {path.stem: path for path in (ROOT / "tests" / "third_party").glob("*.py")}
PLUGINS |= {path.name: path for path in SOURCES}
"""The files and folders of plugins by the names of their modules: those that tests have for themselves, and the packages in plugins/."""
TRAINING = {"epochs": 2, "batch_size": 8, "checkpoint_seconds": 0.0, "eval_steps": 4, "bias": "bias"}
STAGES = ("finetune", "search", "retrain")
RECIPE = {
    "max_length": 32,
    "precision": "fp32",
    "seeds": [0],
    "tasks": [{"name": "demo_nli", "rows": 48, "dev_rows": 8, "test_rows": 8}],
    "bias": {"kind": "bias", "model": "overlap", "folds": 3},
    "finetune": {"kind": "train", "lr": 1e-3, **TRAINING},
    "search": {"kind": "search", "start": "finetune", **TRAINING},
}
KILLER = """
import os
import signal

from ticketlab.plugin import hookimpl


@hookimpl
def ticketlab_on_log(record):
    if os.environ.get("KILLED_AT") == f"{record['stage']} {record.get('step')}":
        os.kill(os.getpid(), signal.SIGKILL)
"""
METHODS = [
    pytest.param(
        "ticketlab_smart",
        "adversary=smart",
        (("pruner=mask-training", "loss=poe"), ("pruner=importance", "loss=focal"), ("pruner=hard-concrete", "loss=reweight")),
        id="smart",
    ),
    pytest.param(
        "ticketlab_infobert",
        "adversary=infobert",
        (("pruner=mask-training", "adversary.inner=none", "loss=poe"), ("pruner=imp", "adversary.inner=pgd"), ("pruner=hard-concrete",)),
        id="infobert-freelb",
    ),
    pytest.param(
        "ticketlab_learned_mixin",
        "loss=learned-mixin",
        (("pruner=importance", "adversary=none"), ("pruner=imp", "adversary=fgm"), ("pruner=mask-training", "adversary=freelb")),
        id="learned-mixin",
    ),
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("module", "method", "compositions"), METHODS)
def test_a_method_composes_with_built_in_ones_and_resumes_with_the_same_bits(
    module: str, method: str, compositions: tuple[tuple[str, ...], ...], tiny: dict[str, Path], tmp_path: Path, invoke: Invoke
) -> None:
    """It is killed after eight of the twelve steps of each training, before the checkpoint of the eighth."""
    recipe, killer = tmp_path / "small.toml", tmp_path / "killer.py"
    recipe.write_text(tomlkit.dumps(RECIPE | {"model": str(tiny["bert"])}))
    killer.write_text(KILLER)
    plugins = ["--plugin", str(PLUGINS[module]), "--plugin", str(killer)]
    *others, last = compositions

    def command(lab: Path, built_in: tuple[str, ...]) -> list[str]:
        sets = [f"finetune.{method}", *(f"search.{assignment}" for assignment in (method, *built_in))]
        return ["run", str(recipe), *plugins, "--lab", str(lab), *(option for assignment in sets for option in ("--set", assignment))]

    for built_in in (*others, last):
        done = invoke(*command(tmp_path / "whole", built_in))
        assert done.exit_code == 0, done.output
    whole = results(tmp_path / "whole", pruner=last[0].partition("=")[2])
    for stage in ("finetune", "search"):
        assert start(command(tmp_path / "lab", last), killed_at=f"{stage} 8").returncode == -signal.SIGKILL
        assert Checkpoint(folder(tmp_path / "lab", whole[stage]["key"]) / CHECKPOINT).step() == 7
    finished = start(command(tmp_path / "lab", last))
    assert finished.returncode == 0, finished.stdout
    resumed = results(tmp_path / "lab")
    for stage, part in (("finetune", "train"), ("search", "search")):
        assert resumed[stage][part] == whole[stage][part]
        assert files_of(tmp_path / "lab", resumed[stage]["key"]) == files_of(tmp_path / "whole", whole[stage]["key"])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("pruner", ["movement", "soft-movement"])
def test_packages_of_a_pruner_an_adversary_and_a_loss_compose_in_one_command(
    pruner: str, tiny: dict[str, Path], tmp_path: Path, invoke: Invoke
) -> None:
    """The default recipe fine-tunes, searches, draws and retrains; each training is killed after eight of its twelve steps."""
    (killer := tmp_path / "killer.py").write_text(KILLER)
    modules = (PLUGINS[f"ticketlab_{name}"] for name in ("movement", "smart", "learned_mixin"))
    plugins = [option for plugin in (*modules, killer) for option in ("--plugin", str(plugin))]
    small = [f"{stage}.{name}={value}" for stage in STAGES for name, value in TRAINING.items() if name != "bias"]
    small += ["train_rows=48", "precision=fp32", "bias.folds=3", *(f"{stage}.lr=0.001" for stage in STAGES), "search.pruner.lr=0.5"]
    sets = [option for assignment in small for option in ("--set", assignment)]
    methods = ["--pruner", pruner, "--adversary", "smart", "--search-loss", "learned-mixin", "--task", "demo_nli", "--max-length", "32"]
    command = ["run", *methods, "--model", str(tiny["bert"]), "--attack", "none", *plugins, *sets]

    done = invoke(*command, "--lab", str(tmp_path / "whole"))
    assert done.exit_code == 0, done.output
    whole = results(tmp_path / "whole")
    assert whole["search"]["search"]["history"][-1]["sparsity"] > 0.2
    for stage in STAGES:
        assert start([*command, "--lab", str(tmp_path / "lab")], killed_at=f"{stage} 8").returncode == -signal.SIGKILL
        assert Checkpoint(folder(tmp_path / "lab", whole[stage]["key"]) / CHECKPOINT).step() == 7
    finished = start([*command, "--lab", str(tmp_path / "lab")])
    assert finished.returncode == 0, finished.stdout
    resumed = results(tmp_path / "lab")
    assert {stage: resumed[stage]["key"] for stage in STAGES} == {stage: whole[stage]["key"] for stage in STAGES}
    assert resumed["search"]["search"] == whole["search"]["search"]
    for stage in STAGES:
        assert files_of(tmp_path / "lab", resumed[stage]["key"]) == files_of(tmp_path / "whole", whole[stage]["key"])


def start(command: list[str], killed_at: str = "") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(str(place) for place in (os.environ.get("PYTHONPATH"), ROOT, *(source.parent for source in SOURCES)) if place)
    return subprocess.run(
        [sys.executable, "-m", "ticketlab", *command],
        env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "KILLED_AT": killed_at},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def folder(lab: Path, key: str) -> Path:
    return lab / "stages" / key[:2] / key


def results(lab: Path, pruner: str = "") -> dict[str, Any]:
    """Return the results of the only run, or of the one with this pruner."""
    found = [json.loads(path.read_text())["tasks"]["demo_nli"]["0"] for path in lab.glob("runs/*/results.json")]
    (run,) = [run for run in found if pruner in ("", run["search"]["search"]["pruner"])]
    return run  # type: ignore[no-any-return]


def files_of(lab: Path, key: str) -> dict[str, bytes]:
    """Return the tensors that a stage left: its weights or scores."""
    found = {path.name: path.read_bytes() for path in folder(lab, key).rglob("*.safetensors")}
    assert found
    return found
