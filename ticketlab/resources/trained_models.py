"""Where the masked language model is that a folder means: a model's own, a stage's of a lab, or a run's."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core import files


def masked_lm(name: str) -> str | None:
    """Return the model folder that ``name`` means, or None if it means none. Imports and loads nothing.

    Of a run it is the last stage that learnt from plain text, of the first task and seed.
    """
    folder = files.expand(name)
    places = (folder, folder / "model", *_of_run(folder))
    return next((str(place) for place in places if (place / "config.json").is_file()), None)


def _of_run(folder: Path) -> list[Path]:
    """Return the model folders of a run's stages that trained on masked language modelling, the last one first."""
    try:
        stages = [
            stage
            for seeds in files.read_json(folder / "results.json")["tasks"].values()
            for stages in seeds.values()
            for stage in reversed(stages.values())
            if isinstance(stage.get("train"), dict) and stage["train"].get("objective") == "mlm"
        ]
        keys = [str(stage["key"]) for stage in stages]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    return [folder.resolve().parent.parent / "stages" / key[:2] / key / "model" for key in keys]
