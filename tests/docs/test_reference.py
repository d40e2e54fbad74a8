"""The reference agrees with the code."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
from support.doc_blocks import ROOT, Reader

from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.results.metrics import AttackMetrics
from ticketlab.attacks.results.record import Record
from ticketlab.attacks.results.record_header import facts
from ticketlab.core import hookspecs
from ticketlab.resources.resources import Resources
from ticketlab.tasks.base import TaskData

REFERENCE = ROOT / "docs" / "reference"
NAMES_OF_DATA = {
    *(
        "reviews",
        "mnli",
        "deepwordbug",
        "positive",
        "negative",
        "hans",
        "entailment",
        "neutral",
        "contradiction",
        "non-entailment",
        "heuristic",
        "subcase",
    ),
    *(
        "lexical_overlap",
        "subsequence",
        "constituent",
        *(f"{name} {n}" for name in ("lexical_overlap", "subsequence", "constituent") for n in (0, 1)),
    ),
}
"""Names of attacks, challenge sets, labels, columns and their values, which are keys in results."""
FLAG = r"--[a-z][a-z_-]+"
FLAGS_OF_OTHERS = {
    "pip": {"--no-deps", "--extra-index-url", "--no-index", "--find-links", "--editable"},
    "ray start": {"--head", "--address", "--port", "--num-cpus", "--num-gpus"},
    "#SBATCH": {
        *("--array", "--cpus-per-task", "--gpus", "--job-name", "--mem", "--output", "--requeue", "--signal", "--time"),
        *("--dependency", "--wrap"),
    },
    "accelerate launch": {"--num_processes"},
    "torchrun": {"--nproc-per-node"},
    "benchmarks/attack_throughput.py": {"--attacks", "--max-length", "--only", "--words"},
    "benchmarks/attack_scaling.py": {"--in-flight", "--threads"},
    "benchmarks/importance_cost.py": {"--batch", "--length", "--repeats"},
    "benchmarks/executor_overhead.py": {"--speed-up"},
    "benchmarks/simulate_cluster.py": {"--parts"},
    "benchmarks/text_length.py": {"--words", "--queries-per-word", "--with-models"},
    "benchmarks/train_steps.py": {"--batches"},
    "variable": {"--figure-", "--figure-grid"},
}
"""What else pages have that looks like a flag, by the words with which they name the program."""


@pytest.fixture(scope="module")
def generate(docs_modules: None) -> Any:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_up_to_date(generate: Any) -> None:
    stale = [name for name, text in generate.pages().items() if _text(name) != text]
    assert stale == [], "run `python docs/generate.py`"


def test_every_hook_is_documented_with_its_signature() -> None:
    page = re.sub(r",?\n\) ->", ") ->", re.sub(r"([(,])\n +(?=\w+: )", lambda found: found[1].replace(",", ", "), _text("hooks.md")))
    hooks = {name: function for name, function in vars(hookspecs).items() if name.startswith("ticketlab_")}
    assert set(re.findall(r"^### (\w+)$", page, re.MULTILINE)) == set(hooks)
    for name, function in hooks.items():
        signature = str(inspect.signature(function)).replace("'", "")
        assert f"@hookspec\ndef {name}{signature}: ...\n" in page


def test_every_field_of_a_record_is_documented() -> None:
    assert _named("records.md") >= {field.name for field in attrs.fields(Record)}


def test_everything_in_the_header_of_records_is_documented() -> None:
    data = TaskData("task", ("text",), ("a", "b"), {}, "")
    where = {"split": "test", "size": 1, "seed": 0, "max_length": 8, "precision": "fp32"}
    assert _named("records.md") >= {"format", "config", *facts(DeepWordBug(), Resources(), data, model="m", **where)}  # type: ignore[arg-type]


def test_every_metric_is_documented() -> None:
    assert _named("metrics.md") >= {field.name for field in attrs.fields(AttackMetrics)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe",
    [
        ["robust-ticket"],
        pytest.param(["adversarial-augmentation"], marks=pytest.mark.system),
        ["early-robust", "--stop", "patience"],
        ["orticket", "--text", "articles.txt"],
        ["srnet", "--ood", "hans"],
    ],
    ids=lambda recipe: recipe[0],
)
def test_every_key_of_results_is_documented(recipe: list[str], reader: Reader, folder: Path) -> None:
    task = "mnli" if "--ood" in recipe else "reviews"
    attacked = recipe[0] in ("robust-ticket", "adversarial-augmentation")
    if recipe == ["adversarial-augmentation"] and not importlib.util.find_spec("textattack"):
        pytest.skip("textattack is not installed")
    attack = ["--attack", "deepwordbug" if importlib.util.find_spec("textattack") and attacked else "none"]
    reader.ticketlab(["run", *recipe, "--task", task, "--model", "demo", *attack])
    (path,) = (folder / "lab" / "runs").glob("*/results.json")
    results = json.loads(path.read_text(encoding="utf-8"))
    stages = [stage for seeds in results.pop("tasks").values() for seed in seeds.values() for stage in seed.values()]
    for holder, settings in [(results, "overrides"), *((stage, "settings") for stage in stages if "settings" in stage)]:
        holder[settings] = {}  # their keys are documented with the stages
    for about in results["data"].values():
        about["counts"] = {}  # their keys contain the names of splits and tasks
    assert sorted(_keys([results, *stages]) - _named("results.md") - _named("metrics.md") - NAMES_OF_DATA) == []


def test_every_flag_in_the_documentation_exists() -> None:
    """Every ``--flag`` that a page names is an option of some command, or of another program that the page names."""
    known = set(re.findall(FLAG, _text("commands.md")))
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        others = set[str]().union(*(flags for program, flags in FLAGS_OF_OTHERS.items() if program in text))
        unknown = set(re.findall(rf"(?<![\w-]){FLAG}", text)) - known - others
        assert unknown == set(), page


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("sphinx") is None, reason="sphinx is not installed")
def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", tmp_path / "trees", ROOT / "docs", tmp_path / "html"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _text(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def _named(page: str) -> set[str]:
    """Return the words in code type on a page, split at dots."""
    return {part for words in re.findall(r"`([\w.<>]+)`", _text(page)) for part in words.split(".")}


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for inner in value.values() for key in _keys(inner)}
    if isinstance(value, list):
        return {key for inner in value for key in _keys(inner)}
    return set()
