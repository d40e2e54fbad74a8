"""Commands on a system that lacks what Linux has: no fork, timer signals, SIGHUP, SIGKILL, signal masks or CPU affinity.

The names are deleted in every process by a ``sitecustomize.py`` on the path, before anything else is imported.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.small_recipe import needs_textattack

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]

LACKING = """
import os, signal, subprocess

KILL = signal.SIGKILL
subprocess.Popen.kill = lambda self: self.send_signal(KILL)
for module, names in {
    os: ("fork", "forkpty", "sched_getaffinity"),
    signal: ("setitimer", "getitimer", "SIGALRM", "SIGHUP", "SIGKILL", "pthread_sigmask", "pthread_kill"),
}.items():
    for name in names:
        delattr(module, name)
"""


@pytest.fixture
def elsewhere(tmp_path):
    """Run ticketlab with these arguments on such a system, in an empty folder."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(LACKING, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path / "site"), str(Path(__file__).parents[1]), str(Path(__file__).parent)])

    def run(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_every_module_is_imported_without_them(elsewhere):
    code = """
import importlib, os, pkgutil, signal
import ticketlab
assert not hasattr(os, "fork") and not hasattr(signal, "SIGKILL")
names = [module.name for module in pkgutil.walk_packages(ticketlab.__path__, "ticketlab.") if not module.name.endswith("__main__")]
optional = ("ray", "optuna", "accelerate")
for name in names:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as problem:
        assert problem.name.partition(".")[0] in optional, (name, problem)
print(len(names))
"""
    assert int(elsewhere("-c", code)) > 500


@needs_textattack
def test_an_attack_in_spawned_processes_gives_the_same_records_and_enforces_its_limit(elsewhere, tmp_path):
    code = """
import sys
from support.attack_fixtures import VOCABULARY, _make_model
from transformers import BertTokenizerFast
open("vocabulary.txt", "w").write("\\n".join(VOCABULARY))
model = _make_model()
model.config.id2label, model.config.label2id = {0: "negative", 1: "positive"}, {"negative": 0, "positive": 1}
model.save_pretrained("model")
try:
    tokenizer = BertTokenizerFast("vocabulary.txt")
except TypeError:
    tokenizer = BertTokenizerFast(vocab={word: number for number, word in enumerate(VOCABULARY)})
tokenizer.save_pretrained("model")
"""
    elsewhere("-c", code)
    words = ["the", "film", "was", "good", "and", "great", "plot", "dull", "but", "music", "not", "bad", "very", "awful", "story", "fine"]
    rows = [f"{' '.join(words[i : i + 5])},{('negative', 'positive')[i % 2]}" for i in range(12)]
    (tmp_path / "data.csv").write_text("\n".join(["text,label", *rows, "it naps awful music,positive"]), encoding="utf-8")
    plugin = str(Path(__file__).parent / "support" / "deadly_attack.py")
    common = ["attack", "model", "--task", "data.csv", "--split", "all", "--attack", "deadly", "--plugin", plugin, "--json"]
    elsewhere("-m", "ticketlab", *common, "--lab", "one", "--workers", "1", "--out", "one.jsonl")
    elsewhere("-m", "ticketlab", *common, "--lab", "two", "--workers", "2", "--timeout", "60", "--out", "two.jsonl")
    one, two = (
        [json.loads(line) for line in (tmp_path / name).read_text(encoding="utf-8").splitlines()[1:]] for name in ("one.jsonl", "two.jsonl")
    )
    assert two == one
    assert len(one) == 13


def test_a_study_runs_in_two_processes(elsewhere, tmp_path):
    arguments = ["ablate", "fine-tune", "--vary", "finetune.lr=1e-4,2e-4", "--task", "demo", "--model", "demo", "--scale", "demo"]
    out = elsewhere("-m", "ticketlab", *arguments, "--set", "finetune.epochs=1", "--attack", "none", "--jobs", "2", "--json")
    assert len(json.loads(out)["cells"]) == 2
