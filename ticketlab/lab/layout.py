"""Layout of a lab on disk: the folders of stages and runs, and the names of their files.

::

    LAB/stages/K0/KEY/    one stage, by its key: result.json and its outputs (a model, a ticket, scores, ...)
    LAB/runs/NAME/        one run: run.json, recipe.toml, environment.json, log.jsonl, results.json, tickets/, predictions/
    LAB/studies/NAME/     one study: study.toml, study.json, plan.json, log.jsonl
    LAB/tuning/NAME.db    one tuning: the trials, in SQLite
    LAB/active/           the runs in progress: a lease for each process that runs one
    LAB/trash/            what is being removed
"""

from __future__ import annotations

import os
from pathlib import Path

RESULT = "result.json"
SEALED = "sealed"
"""The entry of a result with the sizes and hashes of the stage's files."""
SCORES = "scores.safetensors"
MASKS = "masks.safetensors"
TICKET = "ticket.safetensors"
HEAD = "head.safetensors"
BIAS = "bias.jsonl"
PREDICTIONS = "predictions.parquet"
MODEL = "model"
RECORDS = "records"
EXPORTED = "exported"
"""Outputs in the folders of stages."""
CHECKPOINT = "checkpoint.safetensors"
BEST = "best.safetensors"
UNTIL_DONE = (CHECKPOINT, BEST)
"""Files that a stage removes once it has its result."""
LEASE = ".lease"
"""The folder of the lease of the process that computes a stage."""
EARLIER_LOCK = ".lock"
"""The lock of earlier versions in the folder of a stage, without meaning now."""

RUN_FILE = "run.json"
RECIPE = "recipe.toml"
ENVIRONMENT = "environment.json"
LOG = "log.jsonl"
RESULTS = "results.json"
TICKETS = "tickets"
PREDICTION_FILES = "predictions"
"""Files and folders in the directory of a run."""
CELLS = "study.json"
"""The file in the folder of a study that says which run each cell is."""

STAGES = "stages"
RUNS = "runs"
STUDIES = "studies"
TUNING = "tuning"
ACTIVE = "active"
TRASH = "trash"
"""Folders of a lab."""


def stage_folder(lab: Path, key: str) -> Path:
    """Return the folder of the stage with this key, finished or not."""
    return Path(lab, STAGES, key[:2], key)


def stage_name(key: str) -> str:
    """Return the path of the folder of a stage inside a lab, with slashes."""
    return f"{STAGES}/{key[:2]}/{key}"


def model_folder(checkpoint: str = "") -> str:
    """Return the name of the folder of a training stage's model, or of its ``checkpoint`` (``500``, ``55%``)."""
    return checkpoint_folder(MODEL, checkpoint)


def checkpoint_folder(folder: str, checkpoint: str) -> str:
    """Return the name of the folder of a model's ``checkpoint``, which is ``folder`` itself at the end of its stage."""
    return f"{folder}@{checkpoint}" if checkpoint else folder


def model_inside(folder: Path) -> Path | None:
    """Return the folder of the model, or else of the exported model, inside the folder of a stage; None if there is none."""
    return next((folder / name for name in (MODEL, EXPORTED) if (folder / name / "config.json").is_file()), None)


def scores_file(checkpoint: str = "") -> str:
    """Return the name of the file of a search's scores, at its end or at a ``checkpoint`` (``500``, ``55%``)."""
    return f"{Path(SCORES).stem}@{checkpoint}{Path(SCORES).suffix}" if checkpoint else SCORES


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
    """Return whether a folder is a lab: it has stages, and runs or a study, whose first run comes when one of its cells is done."""
    return (folder / STAGES).is_dir() and any((folder / name).is_dir() for name in (RUNS, STUDIES, TUNING))


def lab_of_run(run: Path) -> Path:
    """Return the lab that a run's directory is in, symbolic links resolved."""
    return run.resolve().parent.parent


def run_directories(lab: Path) -> list[Path]:
    """Return the directories of all runs, finished or not, sorted by name."""
    try:
        with os.scandir(lab / RUNS) as entries:  # most file systems list what is a folder: no entry needs an operation of its own
            return sorted(Path(entry.path) for entry in entries if entry.is_dir() and not entry.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []


def finished_runs(lab: Path, pattern: str = "*") -> list[Path]:
    """Return the directories of the finished runs whose names match a glob pattern, sorted."""
    return [path.parent for path in sorted((lab / RUNS).glob(f"{pattern}/{RESULTS}"))]
