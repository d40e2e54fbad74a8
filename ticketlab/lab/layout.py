"""Layout of a lab on disk: the folders of stages and runs, and the names of their files.

::

    LAB/stages/K0/KEY/    one stage, by its key: result.json and its outputs (a model, a ticket, scores, ...)
    LAB/runs/NAME/        one run: recipe.toml, environment.json, log.jsonl, results.json, tickets/, predictions/
"""

from __future__ import annotations

from pathlib import Path

RESULT = "result.json"
SCORES = "scores.safetensors"
TICKET = "ticket.safetensors"
HEAD = "head.safetensors"
BIAS = "bias.jsonl"
PREDICTIONS = "predictions.jsonl"
MODEL = "model"
RECORDS = "records"
EXPORTED = "exported"
"""Outputs in the folders of stages."""
CHECKPOINT = "checkpoint.safetensors"
BEST = "best.safetensors"
UNTIL_DONE = (CHECKPOINT, BEST)
"""Files that a stage removes once it has its result."""
LOCK = ".lock"

RECIPE = "recipe.toml"
ENVIRONMENT = "environment.json"
LOG = "log.jsonl"
RESULTS = "results.json"
TICKETS = "tickets"
PREDICTION_FILES = "predictions"
"""Files and folders in the directory of a run."""

STAGES = "stages"
RUNS = "runs"


def stage_folder(lab: Path, key: str) -> Path:
    """Return the folder of the stage with this key, finished or not."""
    return lab / STAGES / key[:2] / key


def model_folder(checkpoint: str = "") -> str:
    """Return the name of the folder of a stage's model, or of its ``checkpoint`` (``500``, ``55%``)."""
    return f"{MODEL}@{checkpoint}" if checkpoint else MODEL


def run_name(recipe: str, digest: str) -> str:
    """Return the name of a run's directory: the recipe's name and the first digits of the digest of everything its results depend on."""
    return f"{recipe}-{digest[:10]}"


def run_folder(lab: Path, name: str) -> Path:
    """Return the directory of a run."""
    return lab / RUNS / name


def is_run(folder: Path) -> bool:
    """Return whether a folder is the directory of a finished run."""
    return (folder / RESULTS).is_file()


def is_stage(folder: Path) -> bool:
    """Return whether a folder is that of a finished stage."""
    return (folder / RESULT).is_file()


def is_lab(folder: Path) -> bool:
    """Return whether a folder is a lab."""
    return (folder / RUNS).is_dir() and (folder / STAGES).is_dir()


def lab_of_run(run: Path) -> Path:
    """Return the lab that a run's directory is in, symbolic links resolved."""
    return run.resolve().parent.parent


def finished_runs(lab: Path, pattern: str = "*") -> list[Path]:
    """Return the directories of the finished runs whose names match a glob pattern, sorted."""
    return [path.parent for path in sorted((lab / RUNS).glob(f"{pattern}/{RESULTS}"))]
