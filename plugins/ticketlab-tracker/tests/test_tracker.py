"""What is in the files of TensorBoard and Weights & Biases after runs, which are read back."""

from __future__ import annotations

import importlib.util
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ticketlab_tracker
from ticketlab_tracker import tracker, writers
from ticketlab_tracker.flat import numbers_in, settings_in

import ticketlab
from ticketlab.testing import PluginTests, tiny_model

PLUGIN = Path(ticketlab_tracker.__file__).parent
Track = Callable[..., Any]


def needs(library: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(library) is None, reason=f"{library} is not installed")


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [f"a {word} film number {number},{label}" for number in range(20) for word, label in (("fine", "good"), ("dull", "bad"))]
    file = tmp_path_factory.mktemp("data") / "reviews.csv"
    file.write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model("bert", tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def _plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Load the plugin for a test."""
    monkeypatch.setenv("TICKETLAB_STRICT_PLUGINS", "1")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    before = ticketlab.load_plugins()
    assert before.problems == []
    ticketlab.load_plugins(PLUGIN)
    yield
    ticketlab.load_plugins()


@pytest.fixture
def track(model: Path, reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Track:
    """Fine-tune a tiny model for two epochs, and return the run."""

    def track(choice: str, *sets: str, seeds: tuple[int, ...] = (0,)) -> Any:
        monkeypatch.setenv(writers.CHOICE, choice)
        table = {"finetune.epochs": 2, "finetune.batch_size": 8, "max_length": 16, "precision": "fp32", "seeds": list(seeds)}
        assignments = [*(f"{name}={json.dumps(value)}" for name, value in table.items()), *sets]
        recipe = ticketlab.compose("fine-tune", model=str(model), tasks=[str(reviews)], attacks=["none"], sets=assignments)
        return ticketlab.run(recipe, tmp_path / "lab")

    return track


def events(folder: Path) -> Any:
    """Return the events in a folder of TensorBoard."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found: Any = EventAccumulator(str(folder))
    found.Reload()
    return found


def curve(found: Any, name: str) -> dict[int, float]:
    return {event.step: event.value for event in found.Scalars(name)}


def wandb_records(folder: Path) -> list[Any]:
    """Return the records of the offline runs in a folder of Weights & Biases, whose own process may still write when they have ended."""
    files = sorted(folder.glob("offline-run-*/*.wandb"))
    deadline = time.monotonic() + 60
    while not all(any(record.HasField("exit") for record in records_of(file)) for file in files):
        assert time.monotonic() < deadline, "a run was not written to its end"
        time.sleep(0.05)
    return [record for file in files for record in records_of(file)]


def records_of(file: Path) -> list[Any]:
    from wandb.proto import wandb_internal_pb2

    records = []
    for content in chunks(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(content)
        records.append(record)
    return records


def chunks(log: bytes, block: int = 1 << 15, header: int = 7) -> Iterator[bytes]:
    """Yield the records of a file in LevelDB's log format, after the header of the file: checksum (4 bytes), length (2), type (1), data."""
    assert log[:4] == b":W&B"
    position, parts = header, b""
    while position + header <= len(log):
        if block - position % block < header:  # the end of a block is padded
            position += block - position % block
            continue
        length, kind = struct.unpack_from("<HB", log, position + 4)
        if position + header + length > len(log):
            return  # still being written
        parts += log[position + header : position + header + length]
        position += header + length
        if kind in (1, 4):  # a whole record, or its last part
            yield parts
            parts = b""


def by_name(items: Any) -> dict[str, Any]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}


def history(run: Any, seed: int = 0) -> list[dict[str, float]]:
    found: list[dict[str, float]] = run.stages(seed=seed)["finetune"]["train"]["history"]
    return found


@needs("tensorboard")
def test_tensorboard_has_the_epochs_the_results_and_the_settings(track: Track, capsys: pytest.CaptureFixture[str]) -> None:
    run = track("tensorboard", seeds=(0, 1))
    for seed in (0, 1):
        (folder,) = (run.directory / "tracker" / "tensorboard").glob(f"*/seed-{seed}")
        found = events(folder)
        epochs = history(run, seed)
        for name in ("loss", "dev_accuracy"):
            assert curve(found, f"finetune/{name}") == pytest.approx({record["step"]: record[name] for record in epochs}, abs=1e-6)
        accuracy = run.metrics(seed=seed)["accuracy"]
        assert curve(found, "results/evaluate/clean/accuracy") == pytest.approx({0: accuracy}, abs=1e-6)
        hparams = found.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
        assert b"finetune.epochs" in hparams
        assert found.Tensors("status/text_summary")[0].tensor_proto.string_val == [b"finished"]
    told = capsys.readouterr().err
    assert told.count(f"ticketlab-tracker: {run.directory.name} is tracked in {folder}\n") == 1
    assert not (run.directory / "tracker" / "wandb").exists()


@needs("tensorboard")
def test_a_stage_that_is_found_has_its_results_alone(track: Track) -> None:
    run = track("none")
    assert not (run.directory / "tracker").exists()
    again = track("tensorboard")
    assert again.results == run.results
    (folder,) = (run.directory / "tracker" / "tensorboard").glob("*/seed-0")
    names = events(folder).Tags()["scalars"]
    assert "results/finetune/train/loss" in names
    assert not [name for name in names if not name.startswith("results/")]


@needs("tensorboard")
def test_a_run_that_fails_closes_its_files(track: Track, monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    class Broken(Exception):
        pass

    def broken(*_: Any, **__: Any) -> Any:
        raise Broken("no luck")

    evaluate: Any = ticketlab.compose("fine-tune", model=str(model), tasks=["demo"], attacks=["none"]).stages["evaluate"]
    monkeypatch.setattr(type(evaluate), "run", broken)
    with pytest.raises(Broken):
        track("tensorboard")
    assert tracker.of_this_process().open == {}


@needs("wandb")
def test_an_offline_run_of_wandb_has_the_epochs_the_results_and_the_settings(track: Track) -> None:
    run = track("wandb")
    folder = run.directory / "tracker" / "wandb"
    records = wandb_records(folder)
    rows = [by_name(record.history.item) for record in records if record.HasField("history")]
    logged = {row["step"]: row["finetune/loss"] for row in rows if "finetune/loss" in row}
    assert logged == {record["step"]: record["loss"] for record in history(run)}
    (begun,) = (record.run for record in records if record.HasField("run"))
    assert (begun.project, begun.run_group) == ("ticketlab", run.directory.name)
    config = by_name(begun.config.update)
    assert (config["finetune.epochs"], config["recipe"], config["precision"]) == (2, "fine-tune", "fp32")
    summary: dict[str, Any] = {}
    for record in records:
        summary |= by_name(record.summary.update) if record.HasField("summary") else {}
    assert summary["results/evaluate/clean/accuracy"] == run.metrics()["accuracy"]
    assert summary["status"] == "finished"
    assert [record.exit.exit_code for record in records if record.HasField("exit")] == [0]
    assert not list(folder.glob("offline-run-*/files/requirements.txt"))


@needs("tensorboard")
@needs("wandb")
@pytest.mark.slow
def test_the_workers_of_a_study_write_what_they_compute(model: Path, reviews: Path, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        'recipes = ["fine-tune"]\nuntil = "finetune"\n'
        '[set]\n"finetune.epochs" = 1\n"finetune.batch_size" = 8\nmax_length = 16\n[vary]\n"finetune.lr" = [1e-3, 1e-4]\n',
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "ticketlab", "ablate", study, "--plugin", PLUGIN, "--task", reviews, "--model", model]
    command += ["--lab", tmp_path / "lab", "--jobs", "2", "--seeds", "1"]
    environment = {**os.environ, writers.CHOICE: "tensorboard,wandb"}
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "is not told about anything more" not in done.stderr
    directory = next(path.parent for path in (tmp_path / "lab").rglob("tracker") if "studies" in path.parts)
    trainings = list((directory / "tracker" / "tensorboard").glob("*/seed-0/finetune-*"))
    losses = [curve(events(folder), "finetune/loss") for folder in trainings]
    assert len(losses) == 2
    assert all(len(loss) == 1 for loss in losses)
    assert losses[0] != losses[1]
    records = wandb_records(directory / "tracker" / "wandb")
    names = {record.run.display_name for record in records if record.HasField("run")}
    assert {folder.name for folder in trainings} <= {name.rpartition("/")[2] for name in names}


@pytest.mark.parametrize(
    ("value", "installed", "expected"),
    [
        ("", ("tensorboard", "wandb"), ["tensorboard", "wandb"]),
        ("", ("wandb",), ["wandb"]),
        ("", (), []),
        ("none", ("tensorboard",), []),
        (" Wandb , tensorboard,wandb", ("tensorboard", "wandb"), ["wandb", "tensorboard"]),
        ("tensorbord", ("tensorboard",), "TICKETLAB_TRACKER=tensorbord: there is no tracker `tensorbord`; did you mean `tensorboard`?"),
        ("mlflow", ("tensorboard",), "TICKETLAB_TRACKER=mlflow: there is no tracker `mlflow`; available: 'tensorboard', 'wandb', 'none'"),
        ("wandb", ("tensorboard",), "TICKETLAB_TRACKER=wandb: wandb is not installed: pip install 'ticketlab-tracker[wandb]'"),
    ],
)
def test_the_trackers_are_chosen(monkeypatch: pytest.MonkeyPatch, value: str, installed: tuple[str, ...], expected: Any) -> None:
    monkeypatch.setenv(writers.CHOICE, value)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name in installed else None)
    if isinstance(expected, list):
        assert writers.chosen() == expected
        return
    with pytest.raises((ValueError, ImportError)) as caught:
        writers.chosen()
    assert str(caught.value) == expected


def test_it_says_that_nothing_is_tracked(track: Track, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in writers.WRITERS else find(name, *rest))
    track("", seeds=(0, 1))
    told = "ticketlab-tracker: nothing is tracked: pip install 'ticketlab-tracker[tensorboard]' or 'ticketlab-tracker[wandb]'\n"
    assert capsys.readouterr().err.count(told) == 1


def test_a_mistake_in_the_choice_is_told_once_when_the_run_starts(track: Track, capsys: pytest.CaptureFixture[str]) -> None:
    run = track("tensorbord", seeds=(0, 1))
    said = capsys.readouterr().err
    mistake = "TICKETLAB_TRACKER=tensorbord: there is no tracker `tensorbord`; did you mean `tensorboard`?"
    line = f"ticketlab-tracker: nothing is tracked: {mistake}"
    assert said.splitlines().count(line) == 1
    assert said.index(line) < said.index("finetune")
    assert "not told about anything more" not in said
    assert not (run.directory / "tracker").exists()


def test_listing_it_imports_nothing() -> None:
    code = "import ticketlab_tracker, sys; print({'torch', 'tensorboard', 'wandb', 'ticketlab_tracker.tracker'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PLUGIN.parent), os.environ.get("PYTHONPATH", "")])}
    assert subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout == "set()\n"


def test_nested_tables_become_flat() -> None:
    table = {"a": {"b": 1, "c": {"d": 0.5, "e": True}, "f": [1, 2]}, "g": None, "h": "text"}
    assert numbers_in(table, "stage") == {"stage/a/b": 1.0, "stage/a/c/d": 0.5}
    assert settings_in(table) == {"a.b": 1, "a.c.d": 0.5, "a.c.e": True, "a.f": "[1, 2]", "h": "text"}


class TestPlugin(PluginTests):
    """The entry module: it is listed fast, and listens without an effect on results."""

    plugin = ticketlab_tracker
