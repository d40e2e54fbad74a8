"""The name of a run's directory: ``robust-ticket-sst2-magnitude-0.5-1a2b3c4d5e``.

It has the recipe, the tasks and challenge sets, what differs from the recipe's own settings, and the first digits of the digest of the
run's work, which make it unique. It is valid on every common file system, in any script, and at most :data:`MAX_BYTES` long: what does not
fit is left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from ticketlab.lab.integrity import KEY
from ticketlab.lab.run_names import DIGITS
from ticketlab.recipes import differences
from ticketlab.recipes.recipe import Recipe

MAX_BYTES = 100
MAX_RECIPE, MAX_TASKS, MAX_PIECE = 40, 30, 24
"""The maximum lengths of the parts, in bytes."""
VALUE_ONLY = ("pruner", "sparsity", "adversary", "loss", "stop", "scope", "precision")
"""Settings of which only the value is written."""


def run_name(recipe: Recipe, digest: str) -> str:
    """Return the name of the directory of a recipe's run. It depends on nothing else."""
    tasks = _joined(_task_names(recipe), MAX_TASKS)
    name = "-".join(part for part in (_cut(file_system_safe(recipe.name), MAX_RECIPE), tasks) if part)
    ending = f"-{digest[:DIGITS]}"
    for piece in dict.fromkeys(_cut(file_system_safe(piece), MAX_PIECE) for piece in _pieces(recipe)):
        longer = f"{name}-{piece}"
        if piece and len(f"{longer}{ending}".encode()) <= MAX_BYTES:
            name = longer
    return f"{name or 'run'}{ending}"


def file_system_safe(text: str) -> str:
    """Return a text as part of a file name: letters and digits of any script, ``_``, ``+``, ``=`` and dots inside numbers stay."""
    plain = unicodedata.normalize("NFC", text)
    kept = "".join(char if char.isalnum() or unicodedata.combining(char) or char in "_+=." else "-" for char in plain)
    return re.sub(r"-+", "-", re.sub(r"(?<!\d)\.|\.(?!\d)", "-", kept)).strip("-")


def _task_names(recipe: Recipe) -> list[str]:
    own = [task.label for task in recipe.without_overrides.ood] if recipe.without_overrides else []
    names = [task.label for task in recipe.tasks]
    return [*names, *(name for name in dict.fromkeys(task.label for part in recipe.parts() for task in part.ood) if name not in own)]


def _pieces(recipe: Recipe) -> Iterator[str]:
    """Yield what differs from the recipe's own settings, and its model, scale and seeds, unless they are the recipe's own."""
    plain = recipe.without_overrides
    makes_model = any(stage.works_as("train", "search") for stage in recipe.stages.values())  # otherwise the run measures one
    if recipe.model and (not makes_model or (plain is not None and plain.model != recipe.model)):
        yield short_model_name(recipe.model)
    for name, value in differences.short_settings(recipe, differences.differences(recipe, plain)):
        yield _setting(name, value)
    attacks = _attacks(recipe)
    if not makes_model or (plain is not None and _attacks(plain) != attacks):
        yield "+".join(attacks)
    if recipe.scale not in ("", "full"):
        yield recipe.scale
    if plain is not None and plain.seeds != recipe.seeds:
        yield f"seed{recipe.seeds[0]}" if len(recipe.seeds) == 1 else f"{len(recipe.seeds)}seeds"


def _setting(name: str, value: str) -> str:
    if value in ("true", "false", "none"):
        return name if value == "true" else f"no-{name}"
    return value if name in VALUE_ONLY else f"{name}-{value}"


def _attacks(recipe: Recipe) -> list[str]:
    return list(dict.fromkeys(attack.label for stage in recipe.stages.values() for attack in getattr(stage, "attacks", ())))


def short_model_name(model: str) -> str:
    """Return the last part of a model's name; of a model in a lab, the first digits of its stage's key."""
    parts = Path(model).parts
    return next((part[:8] for part in parts if KEY.fullmatch(part)), parts[-1] if parts else "")


def _joined(names: Sequence[str], most: int) -> str:
    """Return names joined by ``+``; if they are too long together, the first ones and the number of the others."""
    safe = [_cut(file_system_safe(name), most) for name in names]
    for shown in range(len(safe), 0, -1):
        text = "+".join([*safe[:shown], *([f"{len(safe) - shown}more"] if shown < len(safe) else [])])
        if len(text.encode()) <= most:
            return text
    return safe[0] if safe else ""


def _cut(text: str, most: int) -> str:
    """Return the longest beginning of a text that has at most ``most`` bytes and ends in a whole letter."""
    return text.encode()[:most].decode(errors="ignore").strip("-.")
