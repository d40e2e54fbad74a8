"""Frequently used commands start fast: they import no slow package, even if it is installed."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.without_imports import HEAVY, RUN


@pytest.mark.parametrize(
    ("arguments", "blocked", "expected"),
    [
        pytest.param(["--help"], (*HEAVY, "rich", "pluggy", "cattrs", "numpy"), "lottery tickets in pre-trained", id="help"),
        pytest.param(["--version"], (*HEAVY, "rich", "pluggy", "cattrs"), "ticketlab 0", id="version"),
        pytest.param(["run", "--help"], (*HEAVY, "rich"), "--sparsity", id="run --help"),
        pytest.param(["lab", "--help"], (*HEAVY, "rich", "pluggy", "cattrs", "numpy"), "free disk space", id="lab --help"),
        pytest.param(["lab", "ls", "--help"], (*HEAVY, "rich", "numpy"), "--since", id="lab ls --help"),
        pytest.param(["lab", "ls", "--json"], (*HEAVY, "rich", "numpy", "scipy"), '"runs"', id="lab ls --json"),
        pytest.param(["plugins"], HEAVY, "hard-concrete", id="plugins"),
        pytest.param(["plugins", "--json"], (*HEAVY, "rich"), "hard-concrete", id="plugins --json"),
        pytest.param(["recipes"], HEAVY, "robust-ticket", id="recipes"),
        pytest.param(["recipes", "show", "robust-ticket"], HEAVY, "[search]", id="recipes show"),
        pytest.param(["show", "pruners"], HEAVY, "magnitude", id="show pruners"),
        pytest.param(["show", "attack", "deepwordbug"], HEAVY, "max_edit_distance", id="show attack"),
        pytest.param(["show", "task", "demo"], HEAVY, "test_rows", id="show task"),
    ],
)
def test_a_command_does_not_import(arguments: list[str], blocked: tuple[str, ...], expected: str) -> None:
    done = subprocess.run([sys.executable, "-c", RUN, ",".join(blocked), *arguments], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0
    assert expected in done.stdout


def test_the_package_runs_as_a_module() -> None:
    blocked = (*HEAVY, "rich", "numpy")
    run = f"import runpy, sys\nsys.modules.update(dict.fromkeys({blocked}))\nrunpy.run_module('ticketlab', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", run, "--help"], capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.startswith("Usage: ticketlab [OPTIONS] COMMAND")
    module = subprocess.run([sys.executable, "-m", "ticketlab", "--help"], capture_output=True, text=True, check=False)
    assert module.stdout == done.stdout


def test_completion_imports_nothing_heavy() -> None:
    code = f"import os; os.environ.update(_TICKETLAB_COMPLETE='bash_complete', COMP_WORDS='ticketlab run --pruner ', COMP_CWORD='3')\n{RUN}"
    done = subprocess.run([sys.executable, "-c", code, ",".join((*HEAVY, "rich"))], capture_output=True, text=True, check=False)
    assert "hard-concrete" in done.stdout
