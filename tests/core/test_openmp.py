"""How threads wait for work: it is decided before torch is imported, and only if the user has not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ticketlab.core.openmp import DECIDED_BY, WAIT_POLICY, let_threads_sleep

COMMAND = """
import os, sys
from ticketlab import __main__
from ticketlab.cli import main
main.main = lambda: print(os.environ.get("OMP_WAIT_POLICY"), "torch" in sys.modules)
__main__.main()
"""


@pytest.mark.parametrize("name", DECIDED_BY)
def test_a_setting_of_the_user_is_left(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in DECIDED_BY:
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, "active")
    let_threads_sleep()
    assert {other: os.environ[other] for other in DECIDED_BY if other in os.environ} == {name: "active"}


def test_the_command_line_decides_before_torch_is_imported() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in DECIDED_BY}
    done = subprocess.run([sys.executable, "-c", COMMAND], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "passive False\n"
    assert WAIT_POLICY == "OMP_WAIT_POLICY"
