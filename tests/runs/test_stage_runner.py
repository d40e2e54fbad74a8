"""What a stage is computed from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ticketlab.core.errors import TicketlabError
from ticketlab.lab.lab import Lab
from ticketlab.runs.stage_runner import StageRunner
from ticketlab.stages.base import Input

KEY = "ab" * 32


def test_an_input_that_was_removed_from_the_lab_is_one_clear_line(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    runner: Any = SimpleNamespace(lab=lab)
    folder = lab.stage(KEY)
    StageRunner._fetch(runner, Input(str(folder), is_stage=True))  # of another lab, which whoever reads it reports
    with pytest.raises(TicketlabError, match=f"{KEY} was removed from the lab, as by `ticketlab lab gc`: run the same command again"):
        StageRunner._fetch(runner, Input(str(folder), is_stage=True, inside=True))
    folder.mkdir(parents=True)
    (folder / "result.json").write_text("{}")
    StageRunner._fetch(runner, Input(str(folder), is_stage=True, inside=True))
