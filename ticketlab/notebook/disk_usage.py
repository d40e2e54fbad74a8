"""What takes the space in a lab: by kind of content, and by run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ticketlab.core import quantities
from ticketlab.lab.layout import RUNS, STAGES, run_directories
from ticketlab.notebook.references import keys_of_run
from ticketlab.notebook.sizes import KINDS, OTHER, StageSizes, add, sizes_in, stage_keys
from ticketlab.report.layout import cell_text

if TYPE_CHECKING:
    from rich.table import Table


@frozen
class RunUsage:
    """The bytes of a run: those of its directory, of the stages that only it needs, and of those that it shares with other runs."""

    name: str
    directory: int
    own: int
    shared: int

    @property
    def freed(self) -> int:
        """What removing the run and its stages frees."""
        return self.directory + self.own


@frozen
class DiskUsage:
    """The bytes in a lab: by kind, by run (the largest first), of stages that no run needs, and in total."""

    kinds: dict[str, int]
    runs: list[RunUsage]
    without_run: int
    total: int


def measure(lab: Path) -> DiskUsage:
    """Return what takes the space in a lab."""
    sizes = StageSizes(lab)
    keys = stage_keys(lab)
    directories = {run: sizes_in(run) for run in run_directories(lab)}
    needed = {run: keys_of_run(run) & set(keys) for run in directories}
    users = Counter(key for of_run in needed.values() for key in of_run)
    kinds = add((*directories.values(), *map(sizes.of, keys)))
    elsewhere = sum(sizes_in(path).total() if path.is_dir() else path.stat().st_size for path in _others(lab))
    kinds[OTHER] += elsewhere
    runs = [
        RunUsage(
            run.name,
            sizes_of_run.total(),
            sum(sizes.total(key) for key in needed[run] if users[key] == 1),
            sum(sizes.total(key) for key in needed[run] if users[key] > 1),
        )
        for run, sizes_of_run in directories.items()
    ]
    return DiskUsage(
        {kind: kinds[kind] for kind in KINDS if kinds[kind]},
        sorted(runs, key=lambda usage: (-usage.freed, usage.name)),
        sum(sizes.total(key) for key in keys if not users[key]),
        kinds.total(),
    )


def kind_table(usage: DiskUsage) -> Table:
    """Return the table of kinds."""
    table = _table("Content")
    table.add_column("Size", justify="right", no_wrap=True)
    table.add_column("%", justify="right", no_wrap=True)
    for kind, size in sorted(usage.kinds.items(), key=lambda item: -item[1]):
        table.add_row(kind, quantities.size(size), f"{100 * size / usage.total:.1f}")
    table.add_section()
    table.add_row("total", quantities.size(usage.total), "")
    return table


def run_table(usage: DiskUsage) -> Table:
    """Return the table of runs."""
    table = _table("Run")
    for head in ("Directory", "Own stages", "Shared stages"):
        table.add_column(head, justify="right", no_wrap=True)
    for run in usage.runs:
        table.add_row(cell_text(run.name), *map(quantities.size, (run.directory, run.own, run.shared)))
    return table


def as_json(usage: DiskUsage) -> dict[str, Any]:
    """Return the usage as plain values."""
    runs = [{"name": run.name, "directory": run.directory, "own": run.own, "shared": run.shared} for run in usage.runs]
    return {"total": usage.total, "kinds": usage.kinds, "runs": runs, "stages_without_run": usage.without_run}


def _others(lab: Path) -> list[Path]:
    """Return everything in a lab that is neither stages nor runs; of runs and stages, what is not in a folder of one."""
    inside = [path for place in (RUNS, STAGES) if (lab / place).is_dir() for path in (lab / place).iterdir() if path.is_file()]
    return [*inside, *(path for path in lab.iterdir() if path.name not in (RUNS, STAGES))] if lab.is_dir() else []


def _table(head: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column(head, overflow="fold")
    return table
