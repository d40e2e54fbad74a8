"""Where the masked language model is that a folder means: a model's own, a stage's of a lab, or a run's."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core import files
from ticketlab.lab.layout import MODEL, RESULTS, lab_of_run, stage_folder
from ticketlab.lab.results import stage_results


def masked_lm(name: str) -> str | None:
    """Return the model folder that ``name`` means, or None if it means none. Imports and loads nothing.

    Of a run it is the last stage that learnt from plain text, of the first task and seed.
    """
    folder = files.expand(name)
    places = (folder, folder / MODEL, *_of_run(folder))
    return next((str(place) for place in places if (place / "config.json").is_file()), None)


def _of_run(folder: Path) -> list[Path]:
    """Return the model folders of a run's stages that trained on masked language modelling, the last one first."""
    try:
        found: dict[tuple[str, str], list[str]] = {}
        for stage in stage_results(files.read_json(folder / RESULTS)):
            training = stage.result.get("train")
            if isinstance(training, dict) and training.get("objective") == "mlm":
                found.setdefault((stage.task, stage.seed), []).append(stage.key)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    lab = lab_of_run(folder)
    return [stage_folder(lab, key) / MODEL for keys in found.values() for key in reversed(keys)]
