"""The seconds to report a finished study of 100 cells as an HTML page, from the results of a real run.

python benchmarks/report_page.py RUN [--cells 100] [--examples 1000] [--out report.html]

RUN is the directory of a finished run in a lab. Its results are copied into a lab of a temporary folder, once for each cell, with stage
keys, levels, numbers and records of their own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

from ticketlab.attacks.results import record_file
from ticketlab.lab.integrity import seal
from ticketlab.lab.layout import RESULT, RESULTS, lab_of_run, stage_folder
from ticketlab.pages.report_page import write_report
from ticketlab.report.cells import Cell, Comparison, Factor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--cells", type=int, default=100)
    parser.add_argument("--examples", type=int, default=0, help="repeat the records of each attack until there are this many")
    parser.add_argument("--out", type=Path, help="keep the page here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        comparison = study_of(arguments.run, Path(folder), arguments.cells, arguments.examples)
        path = arguments.out or Path(folder) / "report.html"
        started, started_cpu = time.perf_counter(), time.process_time()
        write_report(comparison, path)
        seconds, cpu = time.perf_counter() - started, time.process_time() - started_cpu
        found = {"cells": arguments.cells, "seconds": seconds, "cpu_seconds": cpu, "bytes": path.stat().st_size}
        print(json.dumps(found, indent=2))


def study_of(run: Path, lab: Path, number: int, examples: int) -> Comparison:
    """Return a study of this many cells with two factors, whose first cell is the baseline."""
    side = max(1, round(number**0.5))
    cells = [copy_of(run, lab, index, {"row": f"r{index // side}", "column": f"c{index % side}"}, examples) for index in range(number)]
    factors = tuple(Factor(name, tuple(dict.fromkeys(cell.levels[name] for cell in cells)), name) for name in ("row", "column"))
    return Comparison("A study made by a benchmark", factors, tuple(cells), baseline="r0")


def copy_of(run: Path, lab: Path, index: int, levels: dict[str, str], examples: int) -> Cell:
    """Copy a run and the stages that measured its models, with other keys and slightly other accuracies."""
    folder = lab / "runs" / f"{run.name}-{index}"
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("tickets", "predictions"))
    results = json.loads((run / RESULTS).read_text(encoding="utf-8"))
    results["run"] = folder.name
    for seeds in results["tasks"].values():
        for stages in seeds.values():
            for stage in stages.values():
                old = stage["key"]
                stage["key"] = f"{index:04x}{old[4:]}"
                if stage["kind"] in ("evaluate", "attack"):
                    copy_stage(stage_folder(lab_of_run(run), old), stage_folder(lab, stage["key"]), examples)
                if "clean" in stage:
                    stage["clean"]["accuracy"] = min(1.0, stage["clean"]["accuracy"] + index / 1e4)
    (folder / RESULTS).write_text(json.dumps(results), encoding="utf-8")
    return Cell(", ".join(levels.values()), levels, folder, results)


def copy_stage(source: Path, target: Path, examples: int) -> None:
    if target.exists():
        return
    shutil.copytree(source, target)
    for path in record_file.files_in(target):
        header, *records = path.read_text(encoding="utf-8").splitlines()
        more = [json.loads(record) for record in records] * (1 + examples // len(records))
        lines = [json.dumps({**record, "id": f"{record['id']}-{number}"}) for number, record in enumerate(more[: examples or len(records)])]
        path.write_text("".join(f"{line}\n" for line in (header, *lines)), encoding="utf-8")
    result = json.loads((source / RESULT).read_text(encoding="utf-8"))
    result.pop("sealed", None)
    (target / RESULT).unlink()
    (target / RESULT).write_text(json.dumps(seal(target, result)), encoding="utf-8")


if __name__ == "__main__":
    main()
