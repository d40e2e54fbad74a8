"""A listener of a plugin: it keeps the history of trainings, the final numbers and the places of models, as an experiment tracker does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ticketlab.plugin import RunInfo, hookimpl

FILE = "scribe.jsonl"


def write(run: RunInfo, **line: Any) -> None:
    with (run.directory / FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"run": run.name, **line}) + "\n")


@hookimpl
def ticketlab_run_started(run: RunInfo) -> None:
    write(run, event="run", recipe=run.recipe, tasks=run.tasks, seeds=run.seeds, epochs=run.settings["finetune"]["epochs"])


@hookimpl
def ticketlab_stage_started(run: RunInfo, stage: str, kind: str, settings: Mapping[str, Any]) -> None:
    write(run, event="stage", stage=stage, kind=kind, lr=settings.get("lr"))


@hookimpl
def ticketlab_on_log(run: RunInfo, record: Mapping[str, Any]) -> None:
    if record["event"] == "epoch":
        tag = f"{record['task']}/{record['seed']}/{record['stage']}/loss"
        write(run, event="scalar", tag=tag, step=record["step"], value=record["loss"])


@hookimpl
def ticketlab_stage_finished(
    run: RunInfo, stage: str, task: str, seed: int, key: str, found: bool, directory: Path, result: Mapping[str, Any]
) -> None:
    files = sorted(path.name for path in directory.iterdir() if path.name in ("model", "predictions.parquet"))
    history = [record["loss"] for record in result.get("train", {}).get("history", ())]
    write(run, event="done", stage=stage, task=task, seed=seed, key=key, found=found, files=files, history=history)


@hookimpl
def ticketlab_run_finished(run: RunInfo, status: str, error: str, results: Mapping[str, Any]) -> None:
    write(run, event="end", status=status, error=error, tasks=list(results.get("tasks", ())))
