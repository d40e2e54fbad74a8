"""The module that ticketlab finds through the entry point: it listens to runs. Nothing is imported before the first event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ticketlab.plugin import hookimpl

if TYPE_CHECKING:
    from ticketlab.plugin import RunInfo
    from ticketlab_tracker.tracker import Tracker

TICKETLAB_API = "1.0"


def _tracker() -> Tracker:
    from ticketlab_tracker.tracker import of_this_process

    return of_this_process()


@hookimpl
def ticketlab_run_started(run: RunInfo) -> None:
    """Begin to track a run."""
    _tracker().start_run(run)


@hookimpl
def ticketlab_stage_started(run: RunInfo, stage: str, task: str, seed: int, key: str) -> None:
    """Remember which stage the next records are from."""
    _tracker().start_stage(run, stage, task, seed, key)


@hookimpl
def ticketlab_on_log(run: RunInfo, record: Mapping[str, Any]) -> None:
    """Write the numbers of an epoch."""
    _tracker().log(run, record)


@hookimpl
def ticketlab_stage_finished(run: RunInfo, stage: str, result: Mapping[str, Any]) -> None:
    """Write the numbers of a result."""
    _tracker().finish_stage(run, stage, result)


@hookimpl
def ticketlab_run_finished(run: RunInfo, status: str, error: str) -> None:
    """Close everything that the run has opened."""
    _tracker().finish_run(run, status, error)
