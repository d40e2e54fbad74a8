"""Runs of Weights & Biases: one for each task and seed, in the group of the run. Offline unless ``WANDB_MODE`` says otherwise."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import wandb

from ticketlab_tracker.place import Place

PROJECT = "ticketlab"
STEP = "step"


class WandbWriter:
    """Writes to ``wandb/`` in the folder of the place."""

    def __init__(self, place: Place) -> None:
        self.where: Path = place.folder / "wandb"
        place.folder.mkdir(parents=True, exist_ok=True)
        private = {"disable_code": True, "disable_git": True, "x_disable_meta": True, "x_disable_stats": True, "x_save_requirements": False}
        mode: Any = os.environ.get("WANDB_MODE", "offline")
        self._run: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            group=place.run,
            name=place.name,
            id=hashlib.sha256(f"{place.folder} {place.name}".encode()).hexdigest()[:16],  # a resumed run continues
            dir=str(place.folder),
            mode=mode,
            config=dict(place.settings),
            resume="allow",
            reinit="create_new",
            settings=wandb.Settings(silent=True, console="off", **private),
        )
        self._run.define_metric("*", step_metric=STEP)

    def numbers(self, values: Mapping[str, float], step: int) -> None:
        """Write a row of the history."""
        self._run.log({**values, STEP: step})

    def results(self, values: Mapping[str, float]) -> None:
        """Write final numbers into the summary."""
        self._run.summary.update({f"results/{name}": value for name, value in values.items()})

    def close(self, status: str) -> None:
        """Finish the run; it has failed unless the status is ``finished``."""
        self._run.summary["status"] = status
        self._run.finish(exit_code=0 if status == "finished" else 1)
