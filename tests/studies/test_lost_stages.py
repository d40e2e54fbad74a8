"""Stages whose worker dies are computed again, up to the executor's number of retries; stages that fail are not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import define, field, frozen
from support.small_study import small_study

from ticketlab.core.errors import TicketlabError, UsageError
from ticketlab.executors.base import Executor, ExecutorRun, Outcome, Receive, Session, Work, WorkResources
from ticketlab.executors.here import Here
from ticketlab.studies.study import run_study


@define
class LosingRun(ExecutorRun):
    """Computes works in this process, and loses those whose titles end in a word so many times."""

    here: Here
    losses: dict[str, int]
    refused: str
    started: list[str]
    _lost: Counter[str] = field(factory=Counter)
    _work: Work | None = None

    def accepts(self, resources: WorkResources) -> bool:
        return self.here.accepts(resources)

    def start(self, work: Work) -> None:
        if work.title.endswith(self.refused):
            raise UsageError("no machine is large enough")
        self.started.append(work.title)
        self._work = work
        self.here.start(work)

    def wait(self, timeout: float | None = None) -> Outcome | None:
        word = self._work.title.rpartition(" ")[2] if self._work is not None else ""
        if self._work is not None and self._lost[word] < self.losses.get(word, 0):
            self._lost[word] += 1
            self.here.close()
            return Outcome(self._work.key, error="its machine has disappeared", lost=True)
        return self.here.wait(timeout)

    def close(self) -> None:
        self.here.close()


@frozen
class Losing(Executor):
    name: ClassVar[str] = "losing"
    summary: ClassVar[str] = "loses stages"

    losses: Any = field(factory=dict)
    refused: Any = "!"
    started: Any = field(factory=list, eq=False)

    def open(self, session: Session, receive: Receive) -> ExecutorRun:
        return LosingRun(Here(session, receive), self.losses, self.refused, self.started)


def test_a_lost_stage_is_computed_again(small_recipe_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    executor = Losing(losses={"search": 2})
    done = run_study(small_study(small_recipe_file, until="draw"), tmp_path / "lab", executor=executor)
    assert not done.failed
    assert done.computed == 3
    assert [title.rpartition(" ")[2] for title in executor.started] == ["finetune", "search", "search", "search", "draw"]
    printed = capsys.readouterr().err
    assert "demo seed 0 search: its machine has disappeared; it is started again from its last checkpoint (2 of 2)" in printed


def test_a_stage_that_is_lost_too_often_fails_its_cells(small_recipe_file: Path, tmp_path: Path) -> None:
    executor = Losing(losses={"finetune": 9}, retries=1)
    done = run_study(small_study(small_recipe_file), tmp_path / "lab", executor=executor)
    assert done.comparison.cells[0].error == "demo seed 0 finetune: its machine has disappeared (2 times)"
    assert len(executor.started) == 2


def test_a_stage_that_fails_is_not_tried_again(small_recipe_file: Path, tmp_path: Path) -> None:
    executor = Losing()
    done = run_study(small_study(small_recipe_file, set={"finetune.lr": 1e20}), tmp_path / "lab", executor=executor)
    assert "learning rate" in done.comparison.cells[0].error
    assert [title for title in executor.started if title.endswith("finetune")] == ["demo seed 0 finetune"]


def test_a_stage_that_no_machine_can_compute_fails_with_the_reason(small_recipe_file: Path, tmp_path: Path) -> None:
    done = run_study(small_study(small_recipe_file), tmp_path / "lab", executor=Losing(refused="finetune"))
    assert done.comparison.cells[0].error == "demo seed 0 finetune: no machine is large enough"


def test_an_executor_that_ends_ends_the_study(small_recipe_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> None:
        raise TicketlabError("the cluster has shut down")

    monkeypatch.setattr(LosingRun, "wait", gone)
    with pytest.raises(TicketlabError, match="shut down"):
        run_study(small_study(small_recipe_file), tmp_path / "lab", executor=Losing())
