"""Executors that silently break their contract fail in the conformance test that is about it. All run works in this process."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from attrs import evolve, frozen
from support.suite_outcomes import failures_of

from ticketlab.executors.here import Here
from ticketlab.plugin import Executor, ExecutorRun, Message, Outcome, Receive, Session, WorkResources
from ticketlab.testing import ExecutorTests


@frozen
class Base(Executor):
    """Runs works by the class that a subclass names."""

    name: ClassVar[str] = "broken"
    summary: ClassVar[str] = "runs works in this process"
    run: ClassVar[type[Here]] = Here

    def open(self, session: Session, receive: Receive) -> ExecutorRun:
        return self.run(session, receive)


def broken(run: type[Here]) -> type[Executor]:
    return frozen(type(f"Of{run.__name__}", (Base,), {"run": run, "__module__": __name__}))


class DropsMessages(Here):
    def __init__(self, session: Session, receive: Receive) -> None:
        super().__init__(session, lambda message: None)


class MessagesComeLate(Here):
    def __init__(self, session: Session, receive: Receive) -> None:
        self.later: list[Message] = []
        self.pass_on = receive
        super().__init__(session, self.later.append)

    def close(self) -> None:
        for message in self.later:
            self.pass_on(message)


class RunsTwice(Here):
    def wait(self, timeout: float | None = None) -> Outcome | None:
        work = self._work
        super().wait(timeout)
        if work is not None:
            self.start(work)
        return super().wait(timeout)


class ForgetsThePlace(Here):
    def wait(self, timeout: float | None = None) -> Outcome | None:
        outcome = super().wait(timeout)
        return None if outcome is None else evolve(outcome, place="")


class LosesFailures(Here):
    def wait(self, timeout: float | None = None) -> Outcome | None:
        outcome = super().wait(timeout)
        return None if outcome is None else evolve(outcome, lost=bool(outcome.error))


class IgnoresFullDisks(Here):
    def wait(self, timeout: float | None = None) -> Outcome | None:
        outcome = super().wait(timeout)
        return None if outcome is None else evolve(outcome, out_of_space=False)


class AcceptsAll(Here):
    def accepts(self, resources: WorkResources) -> bool:
        return True


class AnswersForNobody(Here):
    def wait(self, timeout: float | None = None) -> Outcome | None:
        return super().wait(timeout) or Outcome("nobody")


@frozen
class NoSlots(Base):
    def slots(self, jobs: int | None) -> int:
        return 0


ONCE = "test_every_work_is_done_once_after_its_messages"
ERRORS = "test_an_error_is_an_outcome"


@pytest.mark.parametrize(
    ("component", "test", "message"),
    [
        (broken(DropsMessages), ONCE, "0 of 3 messages were received before the outcome"),
        (broken(MessagesComeLate), ONCE, "0 of 3 messages were received before the outcome"),
        (broken(RunsTwice), ONCE, "6 of 3 messages"),
        (broken(ForgetsThePlace), ONCE, "the outcome's place is ''"),
        (broken(LosesFailures), ERRORS, "a work that failed is lost"),
        (broken(IgnoresFullDisks), ERRORS, "`out_of_space` is not True for a full disk"),
        (broken(AcceptsAll), "test_no_more_works_run_than_requested", "64 works are accepted at a time, and 1 were requested"),
        (broken(AnswersForNobody), "test_waiting_ends_after_the_timeout", "`wait` returns an outcome of no work"),
        (NoSlots, "test_numbers_of_a_stage_are_positive", "`slots` is 0"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_broken_executor_fails(component: type[Executor], test: str, message: str, tmp_path: Path) -> None:
    found = failures_of(ExecutorTests, test, tmp_path, component=component, jobs=1)
    assert message in "\n".join(found.values())


@pytest.mark.parametrize("test", [ONCE, ERRORS, "test_waiting_ends_after_the_timeout", "test_no_more_works_run_than_requested"])
def test_an_executor_that_keeps_its_contract_passes(test: str, tmp_path: Path) -> None:
    assert failures_of(ExecutorTests, test, tmp_path, component=Base, jobs=1) == {}
