"""Passes the events of runs to writers.

There is one tracker in each process. The workers of a study compute its stages, and a stage is all that they know of: so each stage of a
study has a place of its own. In a run, all stages of a task and seed share one, and their numbers are in one chart.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field

from ticketlab_tracker import writers
from ticketlab_tracker.flat import numbers_in, settings_in
from ticketlab_tracker.place import Place
from ticketlab_tracker.writers import Writer

if TYPE_CHECKING:
    from ticketlab.plugin import RunInfo

FOLDER = "tracker"
"""The folder in the directory of a run that everything is written to."""
NOT_NUMBERS = ("seed", "step")
NOT_RESULTS = ("history", "looks")


@define
class Tracker:
    """The writers that this process has opened."""

    process: int = field(factory=os.getpid)
    runs: set[Path] = field(factory=set)
    """The directories of runs that have started and not finished."""
    open: dict[tuple[Path, str], list[Writer]] = field(factory=dict)
    """The writers of each directory and place."""
    current: str = ""
    """The place of the stage that is being computed."""
    told: set[str] = field(factory=set)

    def start_run(self, run: RunInfo) -> None:
        """Begin to track a run. A mistake in the choice of writers is told now."""
        self.runs.add(run.directory)
        self._names()

    def start_stage(self, run: RunInfo, stage: str, task: str, seed: int, key: str) -> None:
        """Remember where the numbers of a stage belong."""
        label = task or (run.tasks[0] if len(run.tasks) == 1 else "all-tasks")
        self.current = f"{_file_name(label)}/seed-{seed}"
        if run.directory not in self.runs:
            self.current += f"/{_file_name(stage)}-{key[:8]}"

    def log(self, run: RunInfo, record: Mapping[str, Any]) -> None:
        """Write the numbers of a record that has a step."""
        if "step" not in record or not self.current:
            return
        values = {name: number for name, number in numbers_in(record).items() if name not in NOT_NUMBERS}
        for writer in self._writers(run):
            writer.numbers({f"{record['stage']}/{name}": number for name, number in values.items()}, int(record["step"]))

    def finish_stage(self, run: RunInfo, stage: str, result: Mapping[str, Any]) -> None:
        """Write the final numbers of a stage, computed or found in the lab."""
        values = numbers_in(_without_lists(result), stage)
        for writer in self._writers(run):
            writer.results(values)
        if run.directory not in self.runs:  # the worker of a study may end without another event
            self._close(run, "finished")

    def finish_run(self, run: RunInfo, status: str, error: str) -> None:
        """Close the writers of a run."""
        self.runs.discard(run.directory)
        self._close(run, f"{status}: {error}" if error else status)

    def _close(self, run: RunInfo, status: str) -> None:
        for place in [place for place in self.open if place[0] == run.directory]:
            for writer in self.open.pop(place):
                writer.close(status)

    def _writers(self, run: RunInfo) -> list[Writer]:
        """Return the writers of the current place, opening them if necessary."""
        place = (run.directory, self.current)
        if place not in self.open:
            self.open[place] = [writers.make(name, self._place(run)) for name in self._chosen(run)]
            for writer in self.open[place]:
                self._tell(f"{run.name} is tracked in {writer.where}")
        return self.open[place]

    def _chosen(self, run: RunInfo) -> list[str]:
        """Return the names of the writers to use; tell why if there are none."""
        if not (run.directory.is_dir() and os.access(run.directory, os.W_OK)):
            self._tell(f"{run.directory} cannot be written to, so {run.name} is not tracked")
            return []
        names = self._names()
        if not names and not os.environ.get(writers.CHOICE):
            self._tell("nothing is tracked: pip install 'ticketlab-tracker[tensorboard]' or 'ticketlab-tracker[wandb]'")
        return names

    def _names(self) -> list[str]:
        """Return the names of the chosen writers; none, and a line about it, if the choice has a mistake."""
        try:
            return writers.chosen()
        except (ValueError, ImportError) as problem:
            self._tell(f"nothing is tracked: {problem}")
            return []

    def _place(self, run: RunInfo) -> Place:
        about = {"recipe": run.recipe, "model": run.model, "precision": run.precision}
        return Place(run.directory / FOLDER, run.name, self.current, {**settings_in(run.settings), **about})

    def _tell(self, message: str) -> None:
        """Print a line on stderr, once."""
        if message not in self.told:
            self.told.add(message)
            print(f"ticketlab-tracker: {message}", file=sys.stderr)


def of_this_process() -> Tracker:
    """Return the tracker of this process. One that was inherited from the process that forked this one has the files of that process."""
    global _tracker
    if _tracker.process != os.getpid():
        _tracker = Tracker()
    return _tracker


_tracker = Tracker()


def _file_name(label: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", label).strip("-.") or "unnamed"


def _without_lists(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result without the histories of trainings, which the epochs are in already."""
    return {
        name: _without_lists(value) if isinstance(value, Mapping) else value for name, value in result.items() if name not in NOT_RESULTS
    }
