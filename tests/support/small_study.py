"""A study of a small recipe that runs in seconds."""

from pathlib import Path
from typing import Any

import tomlkit
from support.small_recipe import TABLE

from ticketlab.studies.definition import Study
from ticketlab.studies.read_definition import study_of

NOISE = """
from attrs import frozen
from ticketlab.plugin import Adversary, hookimpl, plain_step


@frozen
class Noise(Adversary):
    name, summary = "noise", "an example"

    def backward(self, loss_function, batch):
        return plain_step(loss_function, batch)


@hookimpl
def ticketlab_adversaries():
    return [Noise]
"""
"""A plugin with an adversary that is plain training."""
DEMO = {"name": "demo", "rows": 48, "dev_rows": 12, "test_rows": 24}


def write_recipe(folder: Path, model: Path, *, without: tuple[str, ...] = ("attack",)) -> Path:
    """Write the small recipe as a file."""
    stages = {name: {**stage} for name, stage in TABLE.items() if name not in without}
    stages["search"]["epochs"] = 1
    path = folder / "small.toml"
    path.write_text(tomlkit.dumps({"model": str(model), "max_length": 48, "precision": "fp32", "tasks": [DEMO], **stages}))
    return path


def small_study(recipe: Path, vary: dict[str, Any] | None = None, name: str = "small", **more: Any) -> Study:
    """Return a study of the small recipe."""
    return study_of(name, {"recipes": [str(recipe)], "vary": vary or {}, **more})
