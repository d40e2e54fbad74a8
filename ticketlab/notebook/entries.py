"""What the notebook knows about each run: what it is, its state, its main numbers, its age and its size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from attrs import field, frozen

from ticketlab.core import files
from ticketlab.lab.active_runs import active_runs
from ticketlab.lab.layout import LOG, RECIPE, RESULTS, RUN_FILE, lab_of_run, run_directories
from ticketlab.lab.run_file import RunFile, read_run_file
from ticketlab.lab.run_names import digest_of
from ticketlab.notebook.headlines import Headline, headlines
from ticketlab.notebook.sizes import StageSizes, sizes_in
from ticketlab.report.numbers import Number

State = Literal["finished", "running", "unfinished", "damaged"]


@frozen(kw_only=True)
class Entry:
    """A run in the notebook.

    ``names`` are the further names that users gave it. ``differs`` is what its label says about the recipe's settings. ``changed`` is the
    time of its results, or of the last entry of its log, in seconds since the epoch. ``bytes`` are those of its directory and its stages,
    including the stages that it shares with other runs. ``measured`` are the numbers of the metric by which runs are sorted.
    """

    folder: Path
    names: tuple[str, ...] = ()
    digest: str
    state: State
    recipe: str
    differs: str
    scale: str
    model: str
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    headlines: tuple[Headline, ...] = ()
    keys: tuple[str, ...] = field(default=(), repr=False)
    changed: float
    bytes: int = 0
    measured: tuple[Number, ...] = ()

    @property
    def name(self) -> str:
        """The name of its directory."""
        return self.folder.name

    @property
    def values(self) -> tuple[float, ...]:
        """The values of the metric by which runs are sorted."""
        return tuple(number.value for number in self.measured)


def read_entries(lab: Path, measured: Callable[[Path, Mapping[str, Any]], tuple[Number, ...]] | None = None) -> Iterator[Entry]:
    """Yield the runs of a lab. ``measured`` returns the numbers of a metric from the directory and the results of a run."""
    running = {run.run for run in active_runs(lab)}
    sizes = StageSizes(lab)
    for folder in run_directories(lab):
        yield read_entry(folder, sizes, running, measured)


def entry_of(folder: Path) -> Entry:
    """Return one run of a lab, by its directory."""
    lab = lab_of_run(folder)
    return read_entry(folder, StageSizes(lab), {run.run for run in active_runs(lab)})


def read_entry(
    folder: Path,
    sizes: StageSizes,
    running: set[str],
    measured: Callable[[Path, Mapping[str, Any]], tuple[Number, ...]] | None = None,
) -> Entry:
    """Return one run; ``running`` has the names of those in progress. Whatever cannot be read is empty."""
    results, known = _results(folder)
    is_damaged = results is None and (folder / RESULTS).exists()
    run_file = read_run_file(folder)
    known = known or _from_run_file(folder, run_file)
    state: State = "finished" if results is not None else "damaged" if is_damaged else "unfinished"
    keys = tuple(dict.fromkeys(known.pop("keys")))
    return Entry(
        folder=folder,
        names=run_file.names if run_file is not None else (),
        digest=run_file.digest if run_file is not None else digest_of(folder),
        state="running" if folder.name in running else state,
        **known,
        keys=keys,
        changed=_changed(folder),
        bytes=sizes_in(folder).total() + sum(map(sizes.total, keys)),
        measured=measured(folder, results) if measured is not None and results is not None else (),
    )


def _results(folder: Path) -> tuple[Mapping[str, Any] | None, dict[str, Any]]:
    """Return the results of a run and what an entry has from them; None and nothing if there are none, or they cannot be read."""
    try:
        results = files.read_json(folder / RESULTS)
        return results, _from_results(results)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None, {}


def _from_results(results: Mapping[str, Any]) -> dict[str, Any]:
    recipe, tasks = str(results["recipe"]), results["tasks"]
    seeds = dict.fromkeys(seed for by_seed in tasks.values() for seed in by_seed)
    return {
        "recipe": recipe,
        "differs": _differs(recipe, str(results.get("label", recipe))),
        "scale": str(results.get("scale", "")),
        "model": str(results.get("model", "")),
        "tasks": tuple(map(str, tasks)),
        "seeds": tuple(map(int, seeds)),
        "headlines": headlines(tasks),
        "keys": [str(stage["key"]) for seeds in tasks.values() for stages in seeds.values() for stage in stages.values()],
    }


def _from_run_file(folder: Path, found: RunFile | None) -> dict[str, Any]:
    """Return what ``run.json`` says; for a run of an earlier version, what follows from the name of its directory."""
    if found is None:
        recipe = folder.name.rpartition("-")[0] or folder.name
        return {"recipe": recipe, "differs": "", "scale": "", "model": "", "tasks": (), "seeds": (), "keys": ()}
    return {
        "recipe": found.recipe,
        "differs": _differs(found.recipe, found.label),
        "scale": found.scale,
        "model": found.model,
        "tasks": found.tasks,
        "seeds": found.seeds,
        "keys": found.keys,
    }


def _differs(recipe: str, label: str) -> str:
    """Return the part of a label in parentheses."""
    return label.removeprefix(recipe).strip().removeprefix("(").removesuffix(")")


def _changed(folder: Path) -> float:
    """Return when a run got its results; of an unfinished one, when it last wrote to its log."""
    for name in (RESULTS, LOG, RECIPE, RUN_FILE):
        try:
            return (folder / name).stat().st_mtime
        except OSError:
            continue
    return folder.stat().st_mtime
