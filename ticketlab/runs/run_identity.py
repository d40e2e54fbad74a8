"""The identity of a run: the stages that it consists of, whatever command requested them.

Two runs are the same work if they have the same tasks, seeds and stages with the same keys. A stage's key covers everything that its result
depends on, so the identity does not depend on the recipe's name or descriptions, on the scale's name, on how paths and seeds are written,
on settings without effect, on the order of tasks and seeds, or on the number of threads, with which a run's results are replaced.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from ticketlab.core import files
from ticketlab.lab.integrity import KEY
from ticketlab.lab.layout import stage_folder
from ticketlab.recipes.recipe import Recipe, split_checkpoint
from ticketlab.runs.run_inputs import RunInputs
from ticketlab.runs.stages_of_run import stages_of_run


@frozen
class RunIdentity:
    """The digest of a run's work, and the keys that its stages have in the lab on this machine."""

    digest: str
    keys: tuple[str, ...]


def identify(inputs: RunInputs, lab: Path, precision: str) -> RunIdentity:
    """Return the identity of the run of these inputs. Nothing is computed but hashes.

    :raises UsageError: a file or model that the recipe refers to does not exist.
    """
    without_threads = sorted(_stages(inputs, lab, precision, threads=0))
    digest = hashlib.sha256(json.dumps(without_threads).encode()).hexdigest()
    return RunIdentity(digest, tuple(dict.fromkeys(key for *_, key, _ in _stages(inputs, lab, precision))))


def _stages(inputs: RunInputs, lab: Path, precision: str, threads: int | None = None) -> Iterator[tuple[str, int, str, str, str]]:
    """Yield the task, seed, name, key and measured external model of every stage. The model is empty for other stages."""
    for stage in stages_of_run(inputs, functools.partial(stage_folder, lab), precision, threads=threads):
        yield stage.task.label, stage.seed, stage.name, stage.resolved.key, _measured_model(stage.recipe, stage.name)


def _measured_model(recipe: Recipe, name: str) -> str:
    """Return where the external model that a stage measures is: the results name it, so a copy of it is measured in another run.

    It is the part of the path from the key on for a model in a lab, which may be moved.
    """
    stage = recipe.stages[name]
    model = stage.references().get("model", "") if stage.measures_model else ""
    if not model or split_checkpoint(model)[0] in recipe.stages:
        return ""
    path = files.expand(model)
    if not path.exists():
        return model
    parts = path.resolve().parts
    start = next((number for number, part in enumerate(parts) if KEY.fullmatch(part)), 0)
    return "/".join(parts[start:])
