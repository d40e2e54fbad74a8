"""The conformance tests of executors: what becomes of work, of workers that die, and of a study."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, cast

import pytest

from ticketlab.core import registry
from ticketlab.core.component import Component
from ticketlab.core.plugin_selection import PluginSelection
from ticketlab.core.processes import is_gone
from ticketlab.executors.base import Executor, ExecutorRun, Message, Outcome, Session, Work, WorkResources
from ticketlab.executors.local import Local
from ticketlab.executors.messages import WARN
from ticketlab.studies.study import run_study
from ticketlab.testing.component_tests import ComponentTests
from ticketlab.testing.trials.executor_work import SAID, work
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.small_study import small_study, without_cost
from ticketlab.testing.trials.workspace import Workspace

MOST = 64
"""More works than any executor of a test accepts at a time."""
PLUGIN = """
from typing import ClassVar
from attrs import frozen
from ticketlab.plugin import Adversary, hookimpl, plain_step

@frozen
class Tested(Adversary):
    name: ClassVar[str] = "plugin-of-the-driver"
    summary: ClassVar[str] = "plain training"

    def backward(self, loss_function, batch):
        return plain_step(loss_function, batch)

@hookimpl
def ticketlab_adversaries():
    return [Tested]
"""


class ExecutorTests(ComponentTests):
    """The tests of an executor, whose workers see the same files as the driver.

    - ``jobs``: how many works to run at a time.
    - ``patience``: seconds that the executor may take to answer a work that takes none, a start of its workers included.
    """

    component: ClassVar[type[Executor]]
    jobs: ClassVar[int] = 2
    patience: ClassVar[float] = 240.0

    def test_numbers_of_a_stage_are_positive(self, made: Component) -> None:
        """Slots, cores and threads are known before anything is opened."""
        executor = cast(Executor, made)
        for jobs in (None, 1, self.jobs):
            for name in ("slots", "cpus", "threads"):  # the first is used for the others
                number = getattr(executor, name)(jobs)
                require(type(number) is int and number >= 1, f"`{name}` is {number!r}: return a whole number from 1")

    def test_every_work_is_done_once_after_its_messages(self, made: Component, tmp_path: Path) -> None:
        """Each work has one outcome with its answer. Its messages, in order, have been received by then, and have its place."""
        plugin = tmp_path / "plugin_of_the_driver.py"
        plugin.write_text(PLUGIN, encoding="utf-8")
        done = tmp_path / "done"
        works = [work(str(number), "answer", done=str(done), text="é") for number in range(2 * self.jobs + 1)]
        with self._open(made, tmp_path, PluginSelection((str(plugin),), installed=False)) as (running, messages):
            for outcome in self._drive(running, works):
                self._require_answer(outcome)
                said = [message for message in messages if message.key == outcome.key and message.kind == "number"]
                require(
                    [message.payload for message in said] == list(range(SAID)),
                    f"{len(said)} of {SAID} messages were received before the outcome of their work, or in another order: pass what "
                    "`Worker.say` sends to `receive` before `wait` returns the outcome",
                )
                answer = outcome.answer
                require({message.place for message in said} == {answer["place"]}, "a message has another place than its worker")
                require(outcome.place == answer["place"], f"the outcome's place is {outcome.place!r}, and not {answer['place']!r}")
                require(answer["said"] == "é", "the arguments of a work have changed on their way")
                require(
                    answer["threads"] == 1,
                    f"a worker has {answer['threads']} threads, and the session 1: call `set_up`, results depend on it",
                )
                require(
                    "plugin-of-the-driver" in answer["adversaries"],
                    "a worker has not loaded the plugins of the session: call `set_up`",
                )
                elsewhere = answer["pid"] != os.getpid()
                warned = [message.key for message in messages if message.kind == WARN]
                require(not elsewhere or outcome.key in warned, "what a worker prints is lost: call `run_work`, which sends it")
        times = Counter(done.read_text(encoding="utf-8").split())
        require(set(times.values()) == {1}, f"work is done more than once: {times.most_common(1)}")

    def test_no_more_works_run_than_requested(self, made: Component, tmp_path: Path) -> None:
        """``accepts`` is True until ``session.jobs`` works run at most; those that were accepted run at the same time."""
        executor, folder = cast(Executor, made), tmp_path / "met"
        folder.mkdir()
        with self._open(made, tmp_path) as (running, _):
            number = 0
            while number < MOST and running.accepts(WorkResources()):
                number += 1
                running.start(work(f"work-{number}", "meet", folder=str(folder), number=executor.slots(self.jobs)))
            allowed = max(self.jobs, executor.slots(self.jobs))
            require(0 < number <= allowed, f"{number} works are accepted at a time, and {allowed} were requested")
            if number < executor.slots(self.jobs):
                (folder / "one of another machine").touch()
            outcomes = [self._wait(running) for _ in range(number)]
            require(all(outcome.answer is True for outcome in outcomes), "works that were accepted together do not run at the same time")
            require(running.accepts(WorkResources()), "no work is accepted after all have ended")

    def test_an_error_is_an_outcome(self, made: Component, tmp_path: Path) -> None:
        """A work that fails has the one-line message of its error, and is not lost; the next ones run."""
        works = [work("ours", "fail", ours=True), work("other", "fail", ours=False), work("full", "fill_disk")]
        with self._open(made, tmp_path) as (running, _):
            outcomes = {outcome.key: outcome for outcome in self._drive(running, works)}
            (after,) = self._drive(running, [work("after", "answer", done=str(tmp_path / "done"))])
        self._require_answer(after)
        for key, expected in {"ours": "it is missing", "other": "ValueError: two lines"}.items():
            error = outcomes[key].error
            require(error == expected, f"the error of a work is {error!r} instead of {expected!r}: return the outcome of `run_work`")
        require(not any(outcome.lost for outcome in outcomes.values()), "a work that failed is lost: only those of dead workers are")
        require(outcomes["full"].out_of_space, "`out_of_space` is not True for a full disk: return the outcome of `run_work` as it is")

    def test_the_work_of_a_worker_that_dies_is_lost(self, made: Component, tmp_path: Path) -> None:
        """A work whose process is killed is lost, with a reason. Others are done, and a new worker takes the next ones."""
        works = [work("dies", "die", driver=os.getpid()), work("lives", "answer", done=str(tmp_path / "done"))]
        with self._open(made, tmp_path) as (running, _):
            outcomes = {outcome.key: outcome for outcome in self._drive(running, works)}
            if outcomes["dies"].answer == "driver":
                pytest.skip("the work runs in the process of the driver")
            require(outcomes["dies"].lost, f"the work of a process that was killed is not lost, but has the outcome {outcomes['dies']}")
            require(bool(outcomes["dies"].error.strip()), "a lost work has no `error`: write why it was lost")
            again = self._drive(running, [work("again", "answer", done=str(tmp_path / "done"))])
            for outcome in (outcomes["lives"], *again):
                self._require_answer(outcome)

    def test_waiting_ends_after_the_timeout(self, made: Component, tmp_path: Path) -> None:
        """``wait`` returns None when no work runs, and when none ends in time."""
        with self._open(made, tmp_path) as (running, _):
            begun = time.monotonic()
            require(running.wait(0.2) is None, "`wait` returns an outcome of no work")
            require(time.monotonic() - begun < self.patience, "`wait` with a timeout does not return while no work runs")

    def test_closing_lets_a_training_save_a_checkpoint(self, made: Component, tmp_path: Path) -> None:
        """``close`` interrupts what runs, waits until it has written a checkpoint, and leaves no process."""
        begun, saved = tmp_path / "begun", tmp_path / "saved"
        with self._open(made, tmp_path) as (running, _):
            (first,) = self._drive(running, [work("first", "answer", done=str(tmp_path / "done"))])
            if first.answer["pid"] == os.getpid():
                pytest.skip("the work runs in the process of the driver")
            running.start(work("train", "train", begun=str(begun), saved=str(saved)))
            self._until(begun.exists, "a work that was started does not begin")
            host, _, number = begun.read_text(encoding="utf-8").rpartition(" ")
        require(saved.exists(), "`close` does not give the workers time: send SIGTERM, and wait until they have ended")
        if host == socket.gethostname():
            self._until(lambda: is_gone(int(number)), "`close` leaves the process of a worker")

    def test_a_study_is_that_of_one_process(self, made: Component, workspace: Workspace, tmp_path: Path) -> None:
        """The cells of a small study have the same numbers as in one process, and each stage is computed once."""
        study = small_study(workspace)
        alone = run_study(study, tmp_path / "alone", executor=Local())
        done = run_study(study, tmp_path / "lab", executor=cast(Executor, made), jobs=self.jobs)
        require(not done.failed, f"a cell fails: {next((cell.error for cell in done.comparison.cells if cell.error), '')}")
        require(done.computed == alone.computed, f"{done.computed} stages are computed instead of {alone.computed}")
        pairs = zip(done.comparison.cells, alone.comparison.cells, strict=True)
        same = all(without_cost(one.results) == without_cost(other.results) for one, other in pairs)
        require(same, "a cell has other results than in one process: workers need the threads of the session, see `set_up`")

    @contextlib.contextmanager
    def _open(self, made: Component, folder: Path, plugins: PluginSelection | None = None) -> Iterator[tuple[ExecutorRun, list[Message]]]:
        """Open the executor. Yields the execution and the list of the messages that it has received."""
        messages: list[Message] = []
        plugins = PluginSelection(installed=False) if plugins is None else plugins
        session = Session(str(folder / "lab"), folder / "log.jsonl", self.jobs, 1, plugins)
        with registry.using(registry.load_selection(plugins)), cast(Executor, made).open(session, messages.append) as running:
            yield running, messages

    def _drive(self, running: ExecutorRun, works: Sequence[Work]) -> Iterator[Outcome]:
        """Run works as a driver does, and yield their outcomes."""
        todo, keys = deque(works), {work.key for work in works}
        while keys:
            while todo and running.accepts(todo[0].resources):
                running.start(todo.popleft())
            outcome = self._wait(running)
            require(outcome.key in keys, f"`wait` returns the outcome of `{outcome.key}`, which is not running")
            keys.remove(outcome.key)
            yield outcome

    def _wait(self, running: ExecutorRun) -> Outcome:
        until = time.monotonic() + self.patience
        while time.monotonic() < until:
            outcome = running.wait(0.5)
            if outcome is not None:
                return outcome
        pytest.fail(f"a work has no outcome after {self.patience:g} seconds", pytrace=False)

    def _until(self, holds: Callable[[], bool], message: str) -> None:
        until = time.monotonic() + self.patience
        while not holds():
            require(time.monotonic() < until, message)
            time.sleep(0.05)

    def _require_answer(self, outcome: Outcome) -> None:
        require(not outcome.error, f"a work that succeeds has the error {outcome.error!r}")
        require(isinstance(outcome.answer, dict), f"the answer of a work is {outcome.answer!r}: return the outcome of `run_work`")
