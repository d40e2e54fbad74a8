"""The notes under the tables of a run: the warnings of its data sets and stages, without repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticketlab.lab.results import stage_results


def notes(results: Mapping[str, Any]) -> list[str]:
    """Return the warnings in a ``results.json``, each prefixed by the data set, or by the task, stage and seeds that it concerns.

    A warning about a model or a file of texts that is the input of several stages is listed once.
    """
    seeds_of: dict[tuple[str, str, str], list[str]] = {}
    of_inputs: list[str] = []
    for stage in stage_results(results):
        for warning in stage.result.get("warnings", ()):
            seeds_of.setdefault((stage.task, stage.name, warning), []).append(stage.seed)
        of_inputs += stage.result.get("input_warnings", ())
    of_data = [f"{name}: {warning}" for name, about in results.get("data", {}).items() for warning in about["warnings"]]
    of_stages = [f"{task}, {stage}{_seeds(seeds, len(results['seeds']))}: {text}" for (task, stage, text), seeds in seeds_of.items()]
    return of_data + list(dict.fromkeys(of_inputs)) + of_stages


def _seeds(seeds: list[str], total: int) -> str:
    """Return the seeds that a note concerns, or nothing if it concerns all of them."""
    return "" if len(seeds) == total else f" (seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)})"
