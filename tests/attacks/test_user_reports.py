"""What users of attack tools reported: rows C (attack runs) and F (results) of the table of such reports, by their numbers.

==  ==========================================================  =====================================================================
26  a crash loses everything; resuming skips what was in flight  here, test_attack_records (damaged files, other configurations)
27  parallel workers hang, or end without a word                  here
29  one example takes hours                                       here, test_attack_long_words (pieces of words), test_attack_engine
30  the model is moved to another device                          here, test_attack_victim
31  the model is attacked in training mode, its mode lost         here, test_attack_victim
32  workers draw other random numbers                             here
47  results are printed only, and say `nan`                       here, test_attack_metrics (means over nothing)
48  undeclared dependencies, breaks with each transformers        here; .ci/run tests the oldest and the newest major version
==  ==========================================================  =====================================================================

Rows 1, 2, 4, 6 and 10 (data) meet attacks in test_attack_odd_inputs.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import json
import multiprocessing
import os
import random
import re
import signal
import sys
import time
import tomllib
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from attrs import frozen
from click.testing import CliRunner
from torch import nn

from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.records import RecordFile
from ticketlab.cli.main import cli
from ticketlab.core import registry
from ticketlab.core.errors import UsageError
from ticketlab.inference.victim import Victim
from ticketlab.resources.resources import Resources
from ticketlab.resources.textattack_import import import_textattack, installed
from ticketlab.tasks.base import Example

NAMES = ("negative", "positive")
ROOT = Path(__file__).parents[2]
TEXTS = [
    "the film was good and the acting great",
    "The plot is dull, but the music is not bad!",
    "a very awful movie; not a good story",
    "great cast, great song, great tune",
    "it was fine",
    "bad acting and a bad plot",
    "good music but a dull story",
    "the movie is great",
]
EXAMPLES = [Example(f"row-{number}", (text,), number % 2) for number, text in enumerate(TEXTS)]
PARENT = os.getpid()

needs_textattack = pytest.mark.skipif(not installed(), reason="textattack is not installed")


@frozen
class Odd(DeepWordBug):
    """DeepWordBug, but some texts ask for something odd first."""

    name: ClassVar[str] = "odd"
    summary: ClassVar[str] = "odd"

    def build(self, victim, resources):
        built = super().build(victim, resources)
        attack = built.attack

        def odd(text, label):
            victim(["fine"])  # so that others come between
            for word, act in ACTS.items():
                if word in text.text:
                    act()
            return attack(text, label)

        built.attack = odd
        return built


def _in_a_worker(act):
    def go():
        assert os.getpid() != PARENT, "this would end the tests"
        act()

    return go


def _recurse():
    _recurse()


def _spin():
    while True:
        pass


def _busy():
    until = time.perf_counter() + 0.4
    while time.perf_counter() < until:
        pass


def _raise():
    raise RuntimeError("a fault of its own")


ACTS = {
    "exits": _in_a_worker(lambda: os._exit(3)),
    "exits quietly": _in_a_worker(lambda: os._exit(0)),
    "leaves": _in_a_worker(sys.exit),
    "killed": _in_a_worker(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "sleeps": lambda: time.sleep(60),
    "spins": _spin,
    "naps": lambda: time.sleep(0.02),
    "busy": _busy,
    "backtracks": lambda: re.match(r"(a+)+$", "a" * 60 + "b"),
    "recurses": _recurse,
    "raises": _raise,
    "draws": lambda: (random.random(), np.random.rand()),
}


def attack(victim, examples=EXAMPLES, *, how=None, records=None, seed=1, **more):
    """Attack, and put the records in order, as the stage does."""
    records = records if records is not None else RecordFile(None, "test")
    names = {"columns": ("text",), "label_names": NAMES}
    found = run_attack(how or DeepWordBug(), victim, examples, **names, records=records, seed=seed, **more)
    records.finish([example.id for example in examples])
    return found


def rows(*texts) -> list[Example]:
    return [Example(f"{number}", (text,), number % 2) for number, text in enumerate(texts)]


def _until(said, seconds=60.0):
    end = time.monotonic() + seconds
    while not said():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.002)


def _longer(lines, goal) -> bool:
    return lines() >= goal


# 26


@needs_textattack
@pytest.mark.parametrize(("in_flight", "workers"), [(1, 1), (4, 1), (4, 2)])
def test_report_26_a_killed_run_loses_what_was_in_flight_and_no_more(victim, tmp_path, in_flight, workers):
    path = tmp_path / "records.jsonl"
    examples = [Example(f"{turn}/{one.id}", (f"{one.texts[0]} naps",), one.label) for turn in range(5) for one in EXAMPLES]
    whole = attack(victim, examples, how=Odd())

    def lines() -> int:
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def run():
        attack(victim, examples, how=Odd(), records=RecordFile(path, "c"), in_flight=in_flight, workers=workers)

    for _ in range(3):
        before = lines()
        process = multiprocessing.get_context("fork").Process(target=run)
        process.start()
        _until(functools.partial(_longer, lines, before + random.randint(1, 7)))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert lines() > before
        with path.open("ab") as file:
            file.write(b'{"id": "half')  # as a kill in the middle of a line leaves it
    kept = len(RecordFile(path, "c"))
    assert 0 < kept < len(examples)
    asked = victim.rows
    file = RecordFile(path, "c")
    assert attack(victim, examples, how=Odd(), records=file) == whole
    assert victim.rows > asked
    assert list(RecordFile(path, "c")) == whole
    asked = victim.rows
    attack(victim, examples, how=Odd(), records=RecordFile(path, "c"))
    assert victim.rows - asked <= 1  # trying the attack out at most: nothing is attacked again


@needs_textattack
def test_report_26_what_an_interruption_left_is_that_of_an_uninterrupted_run(victim, tmp_path):
    path, whole = tmp_path / "records.jsonl", tmp_path / "whole.jsonl"
    attack(victim, records=RecordFile(whole, "c"))
    attack(victim, records=RecordFile(path, "c"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:1] + lines[4:7]) + lines[7][:-9])
    attack(victim, records=RecordFile(path, "c"))
    assert path.read_bytes() == whole.read_bytes()


@needs_textattack
def test_report_26_records_of_another_configuration_are_refused(victim, tmp_path):
    attack(victim, records=RecordFile(tmp_path / "records.jsonl", "one"))
    before = (tmp_path / "records.jsonl").read_bytes()
    with pytest.raises(UsageError, match="another configuration"):
        RecordFile(tmp_path / "records.jsonl", "another")
    assert (tmp_path / "records.jsonl").read_bytes() == before


# 27


@needs_textattack
def test_report_27_workers_work_on_a_processor(victim):
    assert attack(victim, workers=2) == attack(victim)


@needs_textattack
@pytest.mark.parametrize("in_flight", [1, 64])
@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("good film exits", "exit code 3"),
        ("good film exits quietly", "exit code"),
        ("good film killed", "signal SIGKILL"),
    ],
)
def test_report_27_a_worker_that_dies_costs_the_example_that_killed_it(victim, text, how, in_flight):
    calm = attack(victim, rows("good film", *TEXTS))
    begun = time.monotonic()
    found = attack(victim, rows(text, *TEXTS), how=Odd(), workers=2, in_flight=in_flight)
    assert time.monotonic() - begun < 60
    assert (found[0].status, found[0].original) == ("error", (text,))
    assert how in found[0].message
    assert found[1:] == calm[1:]


@needs_textattack
def test_report_27_workers_may_all_die_again_and_again(victim):
    texts = ["good film exits", "bad film", "killed film", "exits", "great music", "killed killed"]
    found = attack(victim, rows(*texts), how=Odd(), workers=3)
    assert [record.status == "error" for record in found] == [True, False, True, True, False, True]


@needs_textattack
def test_report_27_a_worker_that_hangs_is_given_up(victim):
    begun = time.monotonic()
    found = attack(victim, rows("good film sleeps", *TEXTS[:4]), how=Odd(), workers=2, timeout=1.0)
    assert time.monotonic() - begun < 30
    assert [record.status == "timeout" for record in found] == [True, False, False, False, False]


@needs_textattack
@pytest.mark.parametrize("text", ["good film raises", "good film recurses"])
def test_report_27_an_exception_in_a_worker_is_an_error_of_its_row(victim, text):
    found = attack(victim, rows(text, *TEXTS[:4]), how=Odd(), workers=2)
    assert [record.status == "error" for record in found] == [True, False, False, False, False]
    assert re.match(r"RuntimeError: a fault of its own|RecursionError", found[0].message)


@needs_textattack
def test_report_27_no_worker_is_left(victim):
    before = multiprocessing.active_children()
    attack(victim, rows("good film killed", *TEXTS), how=Odd(), workers=2)
    assert multiprocessing.active_children() == before


# 29


@needs_textattack
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("text", ["good film sleeps", "good film spins", "good film backtracks"])
def test_report_29_an_example_that_takes_too_long_is_given_up_and_the_others_go_on(victim, text, workers):
    calm = attack(victim, rows("good film", *TEXTS))
    begun = time.monotonic()
    found = attack(victim, rows(text, *TEXTS), how=Odd(), timeout=1.0, workers=workers)
    assert time.monotonic() - begun < 30
    assert (found[0].status, found[0].message) == ("timeout", "given up after 1 seconds")
    assert found[1:] == calm[1:]


@needs_textattack
def test_report_29_the_time_of_an_example_is_what_was_spent_on_it(victim):
    texts = [f"{text} busy" for text in TEXTS]
    begun = time.monotonic()
    found = attack(victim, rows(*texts), how=Odd(), timeout=2.5)
    assert time.monotonic() - begun > 2.5
    assert {record.status for record in found} <= {"success", "failed", "skipped"}


@needs_textattack
def test_report_29_endless_recursion_is_an_error_of_its_row(victim):
    found = attack(victim, rows("good film recurses", *TEXTS), how=Odd())
    assert found[0].message.startswith("RecursionError")
    assert found[1:] == attack(victim, rows("good film", *TEXTS))[1:]


# 30


@needs_textattack
@pytest.mark.parametrize("workers", [1, 2])
def test_report_30_the_model_stays_where_it_is(victim, monkeypatch, workers):
    places = [parameter.data_ptr() for parameter in victim.model.parameters()]
    apply = nn.Module._apply

    def watched(module, *arguments, **more):
        assert module not in set(victim.model.modules()), "the model was moved"
        return apply(module, *arguments, **more)

    monkeypatch.setattr(nn.Module, "_apply", watched)
    found = attack(victim, workers=workers)
    assert {record.status for record in found} <= {"success", "failed", "skipped"}
    assert [parameter.data_ptr() for parameter in victim.model.parameters()] == places


@needs_textattack
def test_report_30_what_an_attack_loads_goes_where_the_model_is(every_attack, victim, monkeypatch):
    asked = {}

    def here(name, load):
        def loading(resources, device="cpu"):
            asked[name] = str(device)
            return load(resources, "cpu")

        return loading

    for name in ("load_encoder", "load_mlm"):
        monkeypatch.setattr(Resources, name, here(name, getattr(Resources, name)))
    monkeypatch.setattr(Victim, "device", property(lambda _: torch.device("cuda", 3)))
    import_textattack()
    every_attack.build(victim, every_attack.prepare())
    needed = every_attack.needed() if every_attack.name == "textattack" else every_attack.needs
    assert asked == {f"load_{name}": "cuda:3" for name in ("encoder", "mlm") if name in needed}


# 31


class Noisy(nn.Module):
    """Half of what it gets, at random: in training alone."""

    def forward(self, hidden):
        return nn.functional.dropout(hidden, 0.5, self.training)


@pytest.fixture
def noisy(make_model, tokenizer):
    model = make_model()
    model.dropout = Noisy()
    return Victim(model, tokenizer, NAMES, max_length=64)


@needs_textattack
@pytest.mark.parametrize("workers", [1, 2])
def test_report_31_a_model_in_training_mode_is_attacked_without_noise_and_gets_its_modes_back(noisy, workers):
    calm = attack(noisy)
    noisy.model.train()
    frozen_part = noisy.model.bert.encoder.layer[0].eval()
    modes = {name: module.training for name, module in noisy.model.named_modules()}
    assert True in modes.values()
    assert False in modes.values()
    assert attack(noisy, workers=workers) == calm
    assert {name: module.training for name, module in noisy.model.named_modules()} == modes
    assert not frozen_part.training


@needs_textattack
def test_report_31_modes_come_back_after_an_interruption_too(noisy):
    @frozen
    class Stopped(DeepWordBug):
        name: ClassVar[str] = "stopped"
        summary: ClassVar[str] = "stopped by the user"

        def build(self, victim, resources):
            built = super().build(victim, resources)

            def attack(text, label):
                assert not victim.model.training
                raise KeyboardInterrupt

            built.attack = attack
            return built

    noisy.model.train()
    with pytest.raises(KeyboardInterrupt):
        attack(noisy, how=Stopped())
    assert all(module.training for module in noisy.model.modules())


# 32


@needs_textattack
def test_report_32_the_file_of_records_is_the_same_whatever_ran_it(victim, tmp_path):
    texts = [f"{text} draws" for text in TEXTS * 2]
    contents = set()
    for in_flight, workers in ((1, 1), (64, 1), (5, 2), (1, 4), (64, 2)):
        path = tmp_path / f"{in_flight}-{workers}.jsonl"
        random.seed(in_flight)
        np.random.seed(workers)
        attack(victim, rows(*texts), how=Odd(), records=RecordFile(path, "c"), in_flight=in_flight, workers=workers)
        contents.add(path.read_bytes())
    assert len(contents) == 1
    other = tmp_path / "other.jsonl"
    attack(victim, rows(*texts), how=Odd(), records=RecordFile(other, "c"), seed=2, workers=2)
    assert other.read_bytes() not in contents


@needs_textattack
def test_report_32_examples_with_one_text_draw_numbers_of_their_own(victim):
    same = [Example(f"{number}", (TEXTS[0],), int(victim([TEXTS[0]]).argmax())) for number in range(12)]
    assert len({record.perturbed for record in attack(victim, same)}) > 1


# 47


@pytest.fixture
def folder(tmp_path, make_model, tokenizer):
    model = make_model()
    model.config.id2label, model.config.label2id = dict(enumerate(NAMES)), {name: index for index, name in enumerate(NAMES)}
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@needs_textattack
def test_report_47_results_are_on_disk_and_a_mean_over_nothing_is_null(folder, victim, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_current", None)
    wrong = [{"text": text, "label": NAMES[1 - int(victim([text]).argmax())]} for text in [*TEXTS, *(f"{text} movie" for text in TEXTS)]]
    task = tmp_path / "rows.jsonl"
    task.write_text("".join(f"{json.dumps(row)}\n" for row in wrong), encoding="utf-8")
    common = ["--task", task, "--attack", "deepwordbug", "--split", "all", "--max-length", "64", "--lab", tmp_path / "lab"]
    arguments = ["attack", folder, *common, "--csv", tmp_path / "numbers.csv"]
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="ticketlab")
    assert result.exit_code == 0, result.stderr
    (written,) = (tmp_path / "lab" / "runs").glob("*/results.json")

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    found = json.loads(written.read_text(encoding="utf-8"), parse_constant=refuse)["tasks"]["rows"]["0"]["attack"]["attacks"]["deepwordbug"]
    assert (found["n"], found["skipped"], found["clean"], found["aua"]) == (len(wrong), len(wrong), 0.0, 0.0)
    assert (found["suc"], found["queries"], found["words_changed"]) == (None, None, None)
    assert "deepwordbug" in (tmp_path / "numbers.csv").read_text(encoding="utf-8")
    shown = [
        result.stdout,
        *(file.read_text(encoding="utf-8") for file in tmp_path.rglob("*") if file.suffix in (".json", ".jsonl", ".csv")),
    ]
    assert not [text for text in shown if re.search(r"\bnan\b", text.replace("tokenizer", ""), re.IGNORECASE) and "vocab" not in text]


# 48

OTHER_NAMES = {"sklearn": "scikit-learn", "PIL": "pillow"}
BROUGHT_BY = {"tokenizers": "transformers", "Levenshtein": "textattack"}
"""What comes with a dependency that cannot do without it."""


def _imported() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for file in sorted((ROOT / "ticketlab").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            found |= {name.partition(".")[0]: file for name in names}
    return {name: file for name, file in found.items() if name not in sys.stdlib_module_names}


def _project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _name(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def test_report_48_everything_that_is_imported_is_declared():
    project = _project()
    declared = {_name(line) for lines in (project["dependencies"], *project["optional-dependencies"].values()) for line in lines}

    def is_declared(name: str) -> bool:
        return name == "ticketlab" or OTHER_NAMES.get(name, name).replace("_", "-") in declared or BROUGHT_BY.get(name) in declared

    assert {name: str(file.relative_to(ROOT)) for name, file in _imported().items() if not is_declared(name)} == {}


@pytest.mark.parametrize("name", BROUGHT_BY)
def test_report_48_what_is_said_to_come_with_another_does(name):
    try:
        lines = importlib.metadata.requires(BROUGHT_BY[name]) or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{BROUGHT_BY[name]} is not installed")
    assert name.lower() in {_name(line).removeprefix("python-") for line in lines if "extra ==" not in line}


def test_report_48_the_oldest_and_the_newest_major_version_of_transformers_are_tested():
    (line,) = [line for line in _project()["dependencies"] if _name(line) == "transformers"]
    oldest, above = re.search(r">=(\d+)", line), re.search(r"<(\d+)", line)
    pinned = [
        re.search(r"^transformers==(\d+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        for name in ("constraints.txt", "constraints-core.txt")
    ]
    assert [int(found[1]) for found in pinned] == [int(oldest[1]), int(above[1]) - 1]
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.findall(r"-c (constraints[\w-]*\.txt) torch==\S+ -e", steps) == ["constraints.txt", "constraints-core.txt"]
