"""Notes about seeds that are not independent, because trainings use the same random numbers with each (``fixed_randomness``)."""

from __future__ import annotations

from ticketlab.core.formatting import joined
from ticketlab.core.references import stage_of
from ticketlab.lab.layout import RECIPE
from ticketlab.lab.results import stage_results
from ticketlab.report.cells import Cell
from ticketlab.report.cost import stages_leading_to
from ticketlab.report.metric_values import SeedValue
from ticketlab.report.stage_settings import stage_settings
from ticketlab.training.randomness import SOURCES_OF_RANDOMNESS

FIXED = "fixed_randomness"


def shared_randomness(cell: Cell, value: SeedValue) -> str:
    """Return what the seeds of a cell share in the trainings that led to a value, and its effect on a test; empty if nothing."""
    measured = next((stage for stage in stage_results(cell.results or {"tasks": {}}) if stage.key == value.key), None)
    model = stage_of(value.of or value.stage)
    if measured is None or model not in measured.siblings:
        return ""
    try:
        settings = stage_settings(cell, measured.task)
    except (OSError, ValueError, AttributeError):
        return f"{cell.label}: {cell.folder / RECIPE} cannot be read, so it is not known whether seeds share random numbers ({FIXED})"
    leading = stages_leading_to(model, measured.siblings)
    trainings = {name: settings[name][FIXED] for name in leading if FIXED in settings.get(name, {})}
    fixed = joined([f"{name}.{FIXED} = {', '.join(sources)}" for name, sources in trainings.items() if sources])
    if not fixed:
        return ""
    if all(set(sources) == set(SOURCES_OF_RANDOMNESS) for sources in trainings.values()):
        return (
            f"the trainings of {cell.label} use the same random numbers with every seed ({fixed}): its seeds are not independent, and the "
            "test says nothing about other trainings"
        )
    return (
        f"the seeds of {cell.label} share random numbers ({fixed}): they differ less than independent trainings, so the interval is too "
        "narrow and p too small"
    )
