"""What is said under the tables of a run: the warnings of its data and stages, each once, and which of its results are one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticketlab.lab.results import stage_results


def notes(results: Mapping[str, Any]) -> list[str]:
    """Return the warnings in a ``results.json``, each with the data set, or the task, the seeds and the stage that it is about.

    What is about a model or texts that go into several stages is there once.
    """
    found: dict[tuple[str, str, str], list[str]] = {}
    of_input: list[str] = []
    for stage in stage_results(results):
        for warning in stage.result.get("warnings", ()):
            found.setdefault((stage.task, stage.name, warning), []).append(stage.seed)
        of_input += stage.result.get("input_warnings", ())
    of_data = [f"{name}: {warning}" for name, about in results.get("data", {}).items() for warning in about["warnings"]]
    of_stages = [f"{task}, {stage}{_of_seeds(seeds, len(results['seeds']))}: {text}" for (task, stage, text), seeds in found.items()]
    return of_data + list(dict.fromkeys(of_input)) + of_stages


def _of_seeds(seeds: list[str], of: int) -> str:
    """Name the seeds that a note is about, unless it is about all of them."""
    return "" if len(seeds) == of else f" (seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)})"
