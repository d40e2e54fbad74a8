"""The studies of a lab are listed with how many of their cells are done."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core import files
from ticketlab.notebook.studies import read_studies


def test_cells_that_a_study_does_not_compute_are_not_counted(tmp_path: Path) -> None:
    cells = [{"run": "x", "error": ""}, {"run": None, "error": "diverged"}, {"run": None, "error": "", "unavailable": "needs a plugin"}]
    table = {"summary": "", "study": "s", "factors": [{"name": "method", "levels": ["a", "b", "c"]}], "cells": cells}
    (tmp_path / "studies" / "s").mkdir(parents=True)
    (tmp_path / "studies" / "s" / "study.toml").touch()
    files.write_json(tmp_path / "studies" / "s" / "study.json", table)
    (found,) = read_studies(tmp_path)
    assert (found.cells, found.finished, found.failed) == (2, 1, 1)
