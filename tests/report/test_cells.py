from __future__ import annotations

import shutil
from pathlib import Path

from support.fake_lab import fake_run, measured

from ticketlab.report.cells import compare_runs


def test_a_run_that_is_named_twice_counts_once_and_runs_of_equal_names_have_labels_of_their_own(tmp_path: Path) -> None:
    runs = [fake_run(tmp_path / "lab", name, {"sst2": {0: measured(name, 0.5)}}) for name in ("first", "second")]
    (tmp_path / "link").symlink_to(runs[0])
    shutil.copytree(runs[1], tmp_path / "runs" / "second")
    shutil.copytree(runs[1], tmp_path / "third" / "second")
    copies = [tmp_path.resolve() / name / "second" for name in ("runs", "third")]
    found = compare_runs([*runs, runs[0], tmp_path / "link", *copies])
    assert [cell.folder for cell in found.cells] == [*runs, *copies]
    assert [cell.label for cell in found.cells] == [
        "fine-tune",
        "fine-tune [second]",
        *(f"fine-tune [{copy}]" for copy in copies),
    ]
