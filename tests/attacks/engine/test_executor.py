"""Attacks whose examples are shared out to the workers of an executor give the records of one process."""

from __future__ import annotations

import json
import os
import queue
import random
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import asdict, define, field, frozen

from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.engine import executor
from ticketlab.attacks.engine.attacker import Attacker
from ticketlab.attacks.engine.chunk_work import FUNCTION, RECORD, arguments_of, model_reference
from ticketlab.attacks.engine.executor import FIRST_CHUNK, AttackExecution, SharedVictim
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record import Record
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.attacks.textfooler import TextFooler
from ticketlab.backbone import fingerprint
from ticketlab.backbone.onnx_classifier import load_measured
from ticketlab.core import registry
from ticketlab.core.errors import TicketlabError
from ticketlab.core.platforms import cores
from ticketlab.core.plugin_selection import PluginSelection
from ticketlab.core.settings import build_component
from ticketlab.executors.base import Executor, ExecutorRun, Message, Outcome, Session, Work, WorkResources
from ticketlab.executors.local import Local
from ticketlab.executors.worker import Worker, call, place
from ticketlab.inference.victim import Victim
from ticketlab.lab.lab import Lab
from ticketlab.resources.textattack_import import installed
from ticketlab.tasks.base import Example

pytestmark = pytest.mark.skipif(not installed(), reason="textattack is not installed")

NAMES = ("negative", "positive")
WORDS = ("the", "film", "was", "good", "and", "acting", "great", "plot", "dull", "but", "music", "not", "bad", "very", "awful", "story")
PLUGIN = Path(__file__).parents[2] / "support" / "deadly_attack.py"


def examples(count: int) -> list[Example]:
    draw = random.Random(4)
    return [Example(f"row-{n}", (" ".join(draw.choices(WORDS, k=draw.randint(1, 12))),), draw.randint(0, 1)) for n in range(count)]


class Death(BaseException):
    """Stands for the end of a worker process."""


@frozen
class Threads(Executor):
    """Runs each work in a thread of this process, two at a time; works and messages pass through JSON, as between machines.

    The works whose numbers are in ``lost`` are lost before they begin.
    """

    name: ClassVar[str] = "threads"
    summary: ClassVar[str] = "threads of this process"

    lost: tuple[int, ...] = ()

    def open(self, session, receive):
        return _ThreadsRun(session, receive, self.lost)


@define
class _ThreadsRun(ExecutorRun):
    session: Any
    receive: Any
    lost: Any
    sizes: list[int] = field(factory=list)
    resources: list[WorkResources] = field(factory=list)
    outcomes: queue.SimpleQueue = field(factory=queue.SimpleQueue)
    threads: list[threading.Thread] = field(factory=list)
    idle: list[Worker] = field(init=False)

    def __attrs_post_init__(self):
        self.idle = [Worker(self.session, self._send) for _ in range(2)]

    def _send(self, message):
        self.receive(Message(**json.loads(json.dumps(asdict(message)))))

    def accepts(self, resources):
        return bool(self.idle)

    def start(self, work):
        self.resources.append(work.resources)
        work = Work.from_table(json.loads(json.dumps(work.to_table())))
        number = len(self.sizes)
        self.sizes.append(len(work.arguments["examples"]))
        self.threads.append(threading.Thread(target=self._run, args=(work, number, self.idle.pop())))
        self.threads[-1].start()

    def _run(self, work, number, worker):
        with _ONE_AT_A_TIME:  # torch's settings are those of the process
            try:
                if number in self.lost:
                    raise Death
                outcome = call(work, worker)
            except Death:
                outcome = Outcome(work.key, error="the machine is gone", lost=True, place="node 1")
        self.outcomes.put((outcome, worker))

    def wait(self, timeout=None):
        try:
            outcome, worker = self.outcomes.get(timeout=timeout)
        except queue.Empty:
            return None
        self.idle.append(worker)
        return outcome

    def close(self):
        for thread in self.threads:
            thread.join()


_ONE_AT_A_TIME = threading.Lock()


@pytest.fixture
def folder(model, tokenizer, tmp_path):
    model.config.id2label = dict(enumerate(NAMES))
    model.config.label2id = {name: index for index, name in enumerate(NAMES)}
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return str(tmp_path / "model")


@pytest.fixture
def loaded(folder):
    model, tokenizer, names = load_measured(folder)
    return Victim(model, tokenizer, names, max_length=64)


def attack(victim, rows, path, *, how=None, **more):
    records = RecordFile(path, "c")
    found = run_attack(how or DeepWordBug(), victim, rows, columns=("text",), label_names=NAMES, records=records, seed=3, **more)
    records.finish([row.id for row in rows])
    return found


def shared(execution, folder):
    return SharedVictim(execution, model_reference(folder, execution.lab))


@pytest.mark.parametrize(
    "executor",
    [Threads(), Local(), pytest.param(Local(jobs=2), marks=[pytest.mark.system, pytest.mark.timeout(900)])],
    ids=["threads", "this process", "two processes"],
)
def test_records_equal_those_of_one_process(executor, loaded, folder, tmp_path):
    rows = examples(30)
    attack(loaded, rows, tmp_path / "alone")
    with AttackExecution(executor, Lab(tmp_path / "lab")) as execution:
        before = loaded.rows_everywhere
        attack(loaded, rows, tmp_path / "shared", shared=shared(execution, folder))
    assert (tmp_path / "shared").read_bytes() == (tmp_path / "alone").read_bytes()
    assert loaded.rows_everywhere - before > len(rows)


def test_chunks_begin_small_and_end_small_and_each_example_is_in_one(loaded, folder, tmp_path):
    with AttackExecution(Threads(), Lab(tmp_path / "lab")) as execution:
        attack(loaded, examples(60), None, shared=shared(execution, folder))
        sizes = execution.run().sizes
    assert sizes[:2] == [FIRST_CHUNK, FIRST_CHUNK]
    assert max(sizes) == 52 // 4
    assert sizes[-1] == 1
    assert sum(sizes) == 60


def test_it_resumes_from_the_records_that_are_there_and_keeps_the_workers_for_the_next_attack(loaded, folder, tmp_path):
    rows = examples(12)
    attack(loaded, rows, tmp_path / "alone")
    with AttackExecution(Threads(), Lab(tmp_path / "lab")) as execution:
        attack(loaded, rows[:5], tmp_path / "shared", shared=shared(execution, folder))
        attack(loaded, rows, tmp_path / "shared", shared=shared(execution, folder))
        assert sum(execution.run().sizes) == len(rows)
    assert (tmp_path / "shared").read_bytes() == (tmp_path / "alone").read_bytes()


@pytest.mark.parametrize("lost", [(), (0, 1, 3), (2, 5)], ids=["no other work is lost", "the first works are lost too", "later works are"])
def test_an_example_that_kills_its_workers_is_found_and_loses_only_its_own_record(loaded, folder, tmp_path, monkeypatch, lost):
    rows = examples(20)
    rows[3] = Example("deadly", ("a good film dies",), 0)
    healthy = {record.id: record for record in attack(loaded, [row for row in rows if row.id != "deadly"], None)}
    attack_one = Attacker.attack_one

    def deadly(self, example):
        if "dies" in example.texts[0]:
            raise Death
        return attack_one(self, example)

    monkeypatch.setattr(Attacker, "attack_one", deadly)
    with AttackExecution(Threads(lost=lost), Lab(tmp_path / "lab")) as execution:
        found = {record.id: record for record in attack(loaded, rows, None, shared=shared(execution, folder))}
    assert (found["deadly"].status, found["deadly"].message) == ("error", "the worker process died: also with this example alone")
    assert {name: record for name, record in found.items() if name != "deadly"} == healthy


@pytest.mark.parametrize("healthy", [0, 1, 2], ids=["all", "all but the first", "all but two"])
def test_workers_that_die_before_their_first_example_end_the_run_and_no_example_is_blamed(loaded, folder, tmp_path, healthy):
    with AttackExecution(Threads(lost=tuple(range(healthy, 50))), Lab(tmp_path / "lab")) as execution:
        with pytest.raises(TicketlabError, match=r"^a worker of the attack ended before its first example: the machine is gone$"):
            attack(loaded, examples(20), tmp_path / "records", shared=shared(execution, folder))
        assert len(execution.run().sizes) <= healthy + 6
    assert "error" not in {record.status for record in RecordFile(tmp_path / "records", "c")}


def test_suspects_whose_workers_die_before_they_begin_are_not_blamed(loaded, folder, tmp_path, monkeypatch):
    attack_one, died = Attacker.attack_one, []

    def deadly_once(self, example):
        if not died:
            died.append(example.id)
            raise Death
        return attack_one(self, example)

    monkeypatch.setattr(Attacker, "attack_one", deadly_once)
    with (
        AttackExecution(Threads(lost=tuple(range(1, 50))), Lab(tmp_path / "lab")) as execution,
        pytest.raises(TicketlabError, match=r"^a worker of the attack ended before its first example"),
    ):
        attack(loaded, examples(3), tmp_path / "records", shared=shared(execution, folder))
    assert died
    assert list(RecordFile(tmp_path / "records", "c")) == []


def test_a_chunk_counts_with_the_cores_and_the_memory_of_its_worker(loaded, folder, tmp_path):
    weights = sum(weight.numel() * weight.element_size() for weight in loaded.model.parameters())
    with AttackExecution(Threads(), Lab(tmp_path / "lab"), jobs=1) as execution:
        attack(loaded, examples(6), None, shared=shared(execution, folder))
        assert set(execution.run().resources) == {WorkResources(cores(), 0, 2 * 10**9 + weights)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"place": "/nowhere/model"}, "/nowhere/model: there is no such model on this machine; put it in the same place on all of them"),
        ({"fingerprint": "sha256:0"}, "model: on this machine it is another model; put the same one in this place on all of them"),
    ],
    ids=["missing", "another"],
)
def test_a_worker_without_the_model_ends_the_run_with_one_line(loaded, folder, tmp_path, change, said):
    with AttackExecution(Local(), Lab(tmp_path / "lab")) as execution:
        reference = {**model_reference(folder, execution.lab), **change}
        with pytest.raises(TicketlabError) as raised:
            attack(loaded, examples(3), None, shared=SharedVictim(execution, reference))
    assert str(raised.value).startswith(f"{place()}: ")
    assert str(raised.value).endswith(said)


def test_a_worker_with_other_word_vectors_or_another_device_is_refused(loaded, folder, tmp_path, vector_file, tiny_encoder_folder):
    vectors = tmp_path / "vectors.txt"
    vectors.write_bytes(Path(vector_file).read_bytes())
    how = TextFooler(word_vectors=str(vectors), encoder=tiny_encoder_folder, tagger="none")
    attacker = Attacker(how, loaded, how.prepare(), ("text",), NAMES, 3, None, 1)
    arguments = arguments_of(attacker, {"place": folder, "fingerprint": fingerprint.of_model(folder)}) | {"examples": [], "in_flight": 1}
    assert run_chunk(arguments, tmp_path) == ""
    assert "the model runs on cpu, and where the attack was started on cuda" in run_chunk({**arguments, "device": "cuda"}, tmp_path)
    vectors.write_text(vectors.read_text(encoding="utf-8").replace("0.05", "0.06"), encoding="utf-8")
    assert run_chunk(arguments, tmp_path) == (
        f"word_vectors ({vectors}): not the one that the attack was started with; install the same one"
    )


def run_chunk(arguments, tmp_path):
    worker = Worker(Session(str(tmp_path), Path(os.devnull), None, 1, PluginSelection()), lambda _: None)
    return call(Work("key", "title", FUNCTION, json.loads(json.dumps(arguments))), worker).error


@pytest.mark.system
@pytest.mark.timeout(900)
def test_records_on_a_ray_cluster_equal_those_of_one_process_although_a_worker_is_killed(
    loaded, folder, tmp_path, monkeypatch, own_registry
):
    pytest.importorskip("ray")
    from support.ray_cluster import cluster, join

    from ticketlab.executors.ray import Ray

    monkeypatch.setattr(registry, "_current", registry.load([PLUGIN], entry_points=False))
    rows = [Example(f"nap-{row.id}", (f"{row.texts[0]} naps",), row.label) for row in examples(24)]
    how = build_component("attack", "deadly", "attack")
    attack(loaded, rows, tmp_path / "alone", how=how)
    killed = []

    def kill_one(message):
        if message.kind == RECORD and not killed:
            killed.append(int(message.place.split()[1]))
            os.kill(killed[0], signal.SIGKILL)
        receive(message)

    with cluster() as nodes:
        join(nodes, "second")
        execution = AttackExecution(Ray(address=nodes.address, num_cpus=1), Lab(tmp_path / "lab"))
        receive = execution._receive
        monkeypatch.setattr(AttackExecution, "_receive", lambda _, message: kill_one(message))
        with execution:
            attack(loaded, rows, tmp_path / "shared", how=how, shared=shared(execution, folder))
    assert killed
    assert (tmp_path / "shared").read_bytes() == (tmp_path / "alone").read_bytes()


@pytest.mark.system
@pytest.mark.timeout(900)
def test_worker_processes_may_die_of_examples_or_be_killed(loaded, folder, tmp_path, monkeypatch, own_registry):
    monkeypatch.setattr(registry, "_current", registry.load([PLUGIN], entry_points=False))
    rows = examples(24)
    rows[3], rows[12] = Example("exits", ("a good film exits",), 0), Example("raises", ("it raises awful music",), 1)
    rows[14:18] = [Example(f"nap-{number}", (f"{row.texts[0]} naps",), row.label) for number, row in enumerate(rows[14:18])]
    how = build_component("attack", "deadly", "attack")
    alone = {record.id: record for record in attack(loaded, [row for row in rows if row.id != "exits"], None, how=how)}
    killed = []

    def kill_one(record):
        if not killed:
            killed.append(subprocess.check_output(["pgrep", "-P", str(os.getpid()), "-f", "local_worker"], text=True).split()[0])
            os.kill(int(killed[0]), signal.SIGKILL)
        return Record(**record)

    monkeypatch.setattr(executor, "Record", lambda **record: kill_one(record))
    with AttackExecution(Local(jobs=2), Lab(tmp_path / "lab")) as execution:
        found = {record.id: record for record in attack(loaded, rows, None, how=how, shared=shared(execution, folder))}
    assert killed
    assert found["exits"].message == "the worker process died: also with this example alone"
    assert {name: record for name, record in found.items() if name != "exits"} == alone
    assert alone["raises"].message == "DataError: broken example"
