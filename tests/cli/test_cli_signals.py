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
from ticketlab.cli import running

def work(*_):
    os.kill(os.getpid(), NUMBER)

running.run_in_lab = work
"""
INSIDE_A_FINALIZER = """
from ticketlab.cli import running

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), NUMBER)

def work(*_):
    Finalized()
    print("the signal was forgotten")

running.run_in_lab = work
"""
WHILE_IGNORED = """
from ticketlab.cli import running

def work(*_):
    os.kill(os.getpid(), NUMBER)
    print("still here")
    sys.exit(0)

running.run_in_lab = work
signal.signal(NUMBER, signal.SIG_IGN)
"""


def run(code: str, number: int) -> subprocess.CompletedProcess[str]:
    whole = BEGIN + code.replace("NUMBER", str(int(number))) + "main()"
    return subprocess.run([sys.executable, "-c", whole, "run", "--task", "demo"], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("where", "number", "words"),
    [
        (INSIDE_AN_IMPORT, signal.SIGINT, "interrupted"),
        (INSIDE_AN_IMPORT, signal.SIGTERM, "terminated"),
        (INSIDE_A_COMMAND, signal.SIGINT, "interrupted"),
        (INSIDE_A_COMMAND, signal.SIGTERM, "terminated"),
        (INSIDE_A_COMMAND, signal.SIGHUP, "the terminal was closed"),
        (INSIDE_A_FINALIZER, signal.SIGINT, "interrupted"),
    ],
    ids=["import int", "import term", "command int", "command term", "command hup", "finalizer int"],
)
def test_a_signal_is_one_line_and_its_exit_code(where: str, number: int, words: str) -> None:
    done = run(where, number)
    assert done.stderr == f"{words}; the same command resumes from there\n"
    assert done.stdout == ""
    assert done.returncode == 128 + number


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    done = run(WHILE_IGNORED, signal.SIGHUP)
    assert (done.returncode, done.stdout, done.stderr) == (0, "still here\n", "")
