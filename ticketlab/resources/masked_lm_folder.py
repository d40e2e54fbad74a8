"""Finds the masked language model in a folder: a model, or a stage or a run of a lab."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core import files
from ticketlab.lab import mirror
from ticketlab.lab.layout import MODEL, RESULTS, lab_of_run, stage_folder
from ticketlab.lab.results import stage_results


def masked_lm(name: str) -> str | None:
    """Return the model folder for ``name``, or None if there is none. Imports and loads nothing.

    For a run it is the last stage that trained on masked language modelling, for the first task and seed.
    """
    folder = files.expand(name)
    mirror.fetch(folder)
    places = (folder, folder / MODEL, *_of_run(folder))
    return next((str(place) for place in places if (place / "config.json").is_file()), None)


def _of_run(folder: Path) -> list[Path]:
    """Return the model folders of a run's stages that trained on masked language modelling, last stage first."""
    try:
        stages: dict[tuple[str, str], list[str]] = {}
        for stage in stage_results(files.read_json(folder / RESULTS)):
            training = stage.result.get("train")
            if isinstance(training, dict) and training.get("objective") == "mlm":
                stages.setdefault((stage.task, stage.seed), []).append(stage.key)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    lab = lab_of_run(folder)
    folders = [stage_folder(lab, key) / MODEL for keys in stages.values() for key in reversed(keys)]
    for place in folders:
        mirror.fetch(place)
    return folders
