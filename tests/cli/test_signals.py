"""Signals end a command with one line and their exit code, wherever they arrive."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

BEGIN = "import os, signal, sys\nfrom ticketlab.__main__ import main\nsys.argv[0] = 'ticketlab'\n"
INSIDE_AN_IMPORT = """
class Importing:
    def find_spec(self, *_):
        os.kill(os.getpid(), NUMBER)

sys.meta_path.insert(0, Importing())
"""
INSIDE_A_COMMAND = """
from ticketlab.recipes import tables

def work(*_, **__):
    os.kill(os.getpid(), NUMBER)

tables.read = work
"""
INSIDE_A_RUN = """
from ticketlab.cli import run_recipe

def work(*_, **__):
    os.kill(os.getpid(), NUMBER)

run_recipe.run_in_lab = work
"""
INSIDE_A_FINALIZER = """
from ticketlab.recipes import tables

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), NUMBER)

def work(*_, **__):
    Finalized()
    print("the signal was dropped")

tables.read = work
"""
WHILE_IGNORED = """
from ticketlab.recipes import tables

def work(*_, **__):
    os.kill(os.getpid(), NUMBER)
    print("still here")
    sys.exit(0)

tables.read = work
signal.signal(NUMBER, signal.SIG_IGN)
"""


QUICK = ("recipes", "show", "fine-tune")
"""A command that imports nothing heavy."""


def run(code: str, number: int, arguments: tuple[str, ...] = QUICK) -> subprocess.CompletedProcess[str]:
    whole = BEGIN + code.replace("NUMBER", str(int(number))) + "main()"
    return subprocess.run([sys.executable, "-c", whole, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("where", "number", "words", "arguments"),
    [
        (INSIDE_AN_IMPORT, signal.SIGINT, "interrupted", QUICK),
        (INSIDE_AN_IMPORT, signal.SIGTERM, "terminated", QUICK),
        (INSIDE_A_COMMAND, signal.SIGINT, "interrupted", QUICK),
        (INSIDE_A_COMMAND, signal.SIGTERM, "terminated", QUICK),
        (INSIDE_A_COMMAND, signal.SIGHUP, "the terminal was closed", QUICK),
        (INSIDE_A_RUN, signal.SIGINT, "interrupted", ("run", "--task", "demo")),
        (INSIDE_A_FINALIZER, signal.SIGINT, "interrupted", QUICK),
    ],
    ids=["import int", "import term", "command int", "command term", "command hup", "run int", "finalizer int"],
)
def test_a_signal_prints_one_line_and_sets_the_exit_code(where: str, number: int, words: str, arguments: tuple[str, ...]) -> None:
    done = run(where, number, arguments)
    assert done.stderr == f"{words}; run the same command again to resume\n"
    assert done.stdout == ""
    assert done.returncode == 128 + number


def test_an_ignored_signal_stays_ignored() -> None:
    done = run(WHILE_IGNORED, signal.SIGHUP)
    assert (done.returncode, done.stdout, done.stderr) == (0, "still here\n", "")
