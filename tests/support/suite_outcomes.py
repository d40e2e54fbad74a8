"""Running one test of a conformance suite on a component, in this process, to see that it fails where it should."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest
from support.inner_pytest import WITHOUT, run_pytest

from ticketlab.testing.trials.workspace import Workspace, workspace_in

SUITE: type | None = None
"""The suite that the file of tests below gets."""
FILE = "from support import suite_outcomes\n\nTestSuite = suite_outcomes.SUITE\n"
NUMBERS = itertools.count()
"""A module is imported once: each file of tests has its own name."""


class _Recorder:
    def __init__(self) -> None:
        self.failures: dict[str, str] = {}
        self.passed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.rpartition("::")[2]
        if report.failed:
            self.failures[name] = report.longreprtext
        elif report.passed and report.when == "call":
            self.passed.append(name)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failures["collection"] = report.longreprtext


def shared_workspace(folder: Path) -> Workspace:
    """Return the workspace of all conformance tests of this process; ``folder`` is the ``tmp_path`` of a test."""
    return workspace_in(folder.parent / "ticketlab-testing")


def failures_of(suite: type, test: str, folder: Path, **facts: Any) -> dict[str, str]:
    """Run a test of a suite with the class attributes ``facts``. Return the messages of its failures, by the name with its parameters.

    The suite and its temporary files are in ``folder``, the ``tmp_path`` of a test. A test that is skipped, or not there, is an error of
    the caller.
    """
    global SUITE
    workspace = pytest.fixture(lambda self: shared_workspace(folder))
    SUITE = type("TestSuite", (suite,), {"workspace": workspace, **facts})  # each run writes to labs of its own
    number = next(NUMBERS)
    file = folder / f"test_suite_{number}.py"
    file.write_text(FILE, encoding="utf-8")
    recorder = _Recorder()
    where = ["-c", os.devnull, "--rootdir", str(folder), "--import-mode=importlib", f"{file}::TestSuite::{test}"]
    run_pytest(*where, basetemp=folder / f"temporary-{number}", without=(*WITHOUT, "terminal"), plugins=[recorder])
    assert recorder.failures or recorder.passed, f"{suite.__name__} has not run {test}"
    return recorder.failures
