"""Labs made of files alone, for tests of the notebook: nothing is trained."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.core import files
from ticketlab.lab.run_file import RunFile

NOW = 1_800_000_000
"""The time of the newest run, in seconds since the epoch."""


def key(name: str) -> str:
    """Return a key that begins with the hexadecimal digits of a short name."""
    return name.encode().hex().ljust(64, "0")[:64]


def fake_stage(lab: Path, name: str, content: Mapping[str, int] | None = None, *, finished: bool = True, **result: Any) -> str:
    """Make a stage with files of these names and sizes, and return its key."""
    own = key(name)
    folder = lab / "stages" / own[:2] / own
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".lock").touch()
    for path, size in (content or {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(b"x" * size)
    if finished:
        files.write_json(folder / "result.json", {"cost": {"seconds": 2.5}, **result})
    return own


def data_set(fingerprint: str) -> dict[str, Any]:
    """Return what results say about a data set."""
    return {
        "fingerprint": fingerprint, "rows": {"train": 9, "dev": 3, "test": 80}, "columns": ["text"], "labels": ["a", "b"],
        "positive_label": None, "measures": [], "dropped": {}, "counts": {}, "notices": [], "warnings": [],
    }  # fmt: skip


def clean(accuracy: float, n: int = 80) -> dict[str, Any]:
    """Return the result of an evaluation on the test split."""
    return {"split": "test", "accuracy": accuracy, "n": n, "correct": round(accuracy * n)}


def measured(name: str, accuracy: float, aua: float | None = None, ood: float | None = None) -> dict[str, dict[str, Any]]:
    """Return the results of a training, its evaluation and, with ``aua``, an attack; the keys begin with ``name``."""
    evaluation = {"of": "finetune", "clean": clean(accuracy), **({"ood": {"hans": clean(ood)}} if ood is not None else {})}
    stages: dict[str, dict[str, Any]] = {
        "finetune": {"kind": "train", "key": key(f"{name}t"), "train": {"history": []}, "cost": {"seconds": 2.5, "training_seconds": 2.0}},
        "evaluate": {"kind": "evaluate", "key": key(f"{name}e"), "inputs": {"model": "finetune"}, **evaluation},
    }
    if aua is not None:
        numbers = {"n": 20, "clean": accuracy, "aua": aua, "suc": 0.5, "queries": 40.0, "successes": 1, "failures": 1, "skipped": 18}
        sample = {"split": "test", "size": 20, "seed": 0}
        stages["attack"] = {"kind": "attack", "key": key(f"{name}a"), "of": "finetune", "attacks": {"pwws": numbers}, "sample": sample}
    return stages


def fake_run(
    lab: Path,
    name: str,
    tasks: Mapping[str, Mapping[int, Mapping[str, Any]]],
    *,
    recipe: str = "fine-tune",
    differs: str = "",
    names: Sequence[str] = (),
    age: float = 0,
    finished: bool = True,
    toml: str = "",
    **results: Any,
) -> Path:
    """Make a run from the results of its stages by task and seed, ``age`` seconds old, with the folders of the stages."""
    folder = lab / "runs" / name
    folder.mkdir(parents=True)
    label = f"{recipe} ({differs})" if differs else recipe
    stages = [stage for seeds in tasks.values() for of_seed in seeds.values() for stage in of_seed.values()]
    seeds = sorted({seed for seeds in tasks.values() for seed in seeds})
    RunFile(
        digest=name.rpartition("-")[2].ljust(64, "0"), names=tuple(names), recipe=recipe, scale="full", label=label, overrides={},
        model="bert", tasks=tuple(tasks), seeds=tuple(seeds), keys=tuple(stage["key"] for stage in stages), working_directory="/",
        started="2026-01-31T00:00:00+00:00",
    ).write(folder)  # fmt: skip
    for stage in stages:
        made_by = lab / "stages" / stage["key"][:2] / stage["key"]
        if not made_by.exists():
            made_by.mkdir(parents=True)
            files.write_json(made_by / "result.json", {"cost": {"seconds": 2.5}})
    (folder / "recipe.toml").write_text(toml or f'model = "bert"\nseeds = {seeds}\n[finetune]\nkind = "train"\n', encoding="utf-8")
    about = data_set("f")
    by_task = {task: {str(seed): dict(stages) for seed, stages in by_seed.items()} for task, by_seed in tasks.items()}
    content = {
        "run": name, "recipe": recipe, "label": label, "overrides": {}, "scale": "full", "model": "bert", "precision": "fp32",
        "seeds": seeds, "ood": [], "data": dict.fromkeys(tasks, about), "tasks": by_task, **results,
    }  # fmt: skip
    (folder / "log.jsonl").write_text("", encoding="utf-8")
    if finished:
        files.write_json(folder / "results.json", content)
    for number, file in enumerate(("log.jsonl", "results.json")):
        if (folder / file).exists():
            os.utime(folder / file, (NOW - age, NOW - age + number))
    return folder
