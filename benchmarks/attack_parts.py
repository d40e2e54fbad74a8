"""Code shared by the attack benchmarks: examples, cached trained models, resources, and clocks of a process."""

from __future__ import annotations

import argparse
import contextlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from attrs import evolve

from ticketlab import run
from ticketlab.attacks.engine.run import sample
from ticketlab.backbone.device import pick_device
from ticketlab.core import files, registry
from ticketlab.plugin import Example, TaskData
from ticketlab.recipes import recipe
from ticketlab.tasks.datasets.lookup import find_task

SEED = 0
LENGTH = 128
AS_TEXTATTACK = {"bert-attack": {"candidates": 8, "long_words": "first"}}
"""Settings with which our attacks equal textattack's recipes."""


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options common to the attack benchmarks."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", required=True, help="a folder of SST-2: train.jsonl and validation.jsonl")
    parser.add_argument("--victim", help="a classifier's folder; by default the demo encoder is fine-tuned on the task")
    parser.add_argument("--cache", default="lab", help="the lab that caches trained models")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, help="number of torch threads; by default torch chooses")
    return parser


def examples(task: str, n: int, words: int | None = None) -> tuple[TaskData, list[Example], Example]:
    """Return the task, a sample of its validation examples, and another example to warm up with.

    With ``words`` they are texts of at least that many words, each made of validation and development examples of one label.
    """
    data = find_task(task).load()
    found = data.splits["test"] if words is None else joined([*data.splits["test"], *data.splits["dev"]], words)
    drawn = sample(found, None, SEED)
    chosen = sample(found, n, SEED)
    used = {example.id for example in chosen}
    return data, chosen, next((example for example in drawn if example.id not in used), chosen[0])


def joined(found: Sequence[Example], words: int) -> list[Example]:
    """Return texts of at least this many words, each of examples of one label, in the order of the examples."""
    texts: list[Example] = []
    for label in sorted({example.label for example in found}):
        parts: list[str] = []
        for example in found:
            if example.label == label:
                parts.append(example.texts[0])
                if sum(len(part.split()) for part in parts) >= words:
                    texts.append(Example(f"joined-{len(texts)}", (" ".join(parts),), label))
                    parts = []
    return texts


def trained(kind: str, task: str, lab: str, text: str | None = None) -> str:
    """Return the folder of the demo encoder, fine-tuned on the task (``victim``) or with a trained masked-LM head (``mlm``)."""
    stages: dict[str, dict[str, Any]] = {
        "victim": {"kind": "train", "epochs": 2, "lr": 1e-4},
        "mlm": {"kind": "train", "objective": {"name": "mlm", "text": text}, "trains": "head", "epochs": 2, "lr": 3e-3},
    }
    table = {"model": "demo", "max_length": LENGTH, "seeds": [SEED], "tasks": [find_task(task)], kind: stages[kind]}
    done = run(recipe.build_recipe(f"benchmark-{kind}", table), lab)
    (seeds,) = done.results["tasks"].values()
    key = seeds[str(SEED)][kind]["key"]
    return str(Path(lab) / "stages" / key[:2] / key / "model")


def attack_of(name: str, mlm: str | None = None) -> Any:
    """Return one of our attacks with the settings of textattack's recipe and this masked language model."""
    made = registry.current().get("attack", name)(**AS_TEXTATTACK.get(name, {}))
    return evolve(made, mlm=mlm) if "mlm" in made.required_resources else made


def in_child(script: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """Run the script in a child process with the request ``wanted``; return its result."""
    with tempfile.TemporaryDirectory() as folder:
        request, result = Path(folder) / "request.json", Path(folder) / "result.json"
        files.write_json(request, wanted)
        subprocess.run([sys.executable, script, "--child", str(request), str(result)], check=True, stdout=sys.stderr)
        return files.read_json(result)


def ran_as_child(measure: Any) -> bool:
    """Return whether this process was started by :func:`in_child`; if so, call ``measure`` with the request and write its result."""
    if sys.argv[1:2] != ["--child"]:
        return False
    wanted = files.read_json(Path(sys.argv[2]))
    if wanted["threads"]:
        torch.set_num_threads(wanted["threads"])
    files.write_json(Path(sys.argv[3]), measure(wanted))
    return True


@contextlib.contextmanager
def clocks() -> Iterator[dict[str, float]]:
    """Measure the wall-clock and CPU seconds of a block, including those of finished child processes."""
    found: dict[str, float] = {}
    wall, cpu = time.perf_counter(), cpu_seconds()
    yield found
    if pick_device().type == "cuda":
        torch.cuda.synchronize()
    found |= {"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu}


def cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table in Markdown."""
    cells = [[_cell(value) for value in row] for row in [head, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [" | ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    return "\n".join(f"| {line} |" for line in [lines[0], " | ".join("-" * (width - 1) + ":" for width in widths), *lines[1:]])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
