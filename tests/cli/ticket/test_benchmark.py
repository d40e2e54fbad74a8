"""One command exports a model in several formats, and shows size, latency, accuracy and accuracy under attack of each."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from support.small_exports import needs_onnx, ticket_for
from support.small_recipe import needs_textattack

from ticketlab.backbone import saving
from ticketlab.backbone.loading import load_classifier
from ticketlab.core.errors import UsageError
from ticketlab.export import onnx
from ticketlab.lab.finished_models import model_of_run
from ticketlab.recipes.format_benchmark import format_benchmark
from ticketlab.recipes.measured_model import ChosenData, MeasuredModel
from ticketlab.tasks.demo.reviews import DemoTask

SMALL = ["--repeats", "2", "--length", "16", "--max-length", "32", "--set", "tasks.demo.test_rows=12", "--set", "tasks.demo.rows=20"]


@pytest.fixture(scope="module")
def shrunk(tiny: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    model, tokenizer = load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)
    return saving.save(ticket_for(model).shrink(model), tokenizer, tmp_path_factory.mktemp("shrunk") / "model")


@needs_onnx
@needs_textattack
@pytest.mark.slow
def test_one_table_has_each_format(shrunk: Path, tmp_path: Path, invoke: Callable[..., Result]) -> None:
    numbers = tmp_path / "numbers.csv"
    command = ["ticket", "benchmark", str(shrunk), "--task", "demo", "--lab", str(tmp_path / "lab"), "--csv", str(numbers), *SMALL]
    command += ["--format", "dense", "--format", "shrunk", "--format", "onnx-int8", "--attack", "deepwordbug", "--n", "2"]
    done = invoke(*command, "--metric", "calibration")
    assert done.exit_code == 0, done.output
    for heading in ("Clean %", "Calibration", "Size MB", "Parameters (M)", "batch 1", "batch 32", "Aua %"):
        assert heading in done.stdout
    with numbers.open(encoding="utf-8") as file:
        values = {(row["of"], row["metric"]): float(row["value"]) for row in csv.DictReader(file) if row["seed"] == "0"}
    for measured in ("clean.accuracy", "clean.calibration", "attack.deepwordbug.aua", "measure.latency_1", "measure.latency_32"):
        assert {of for of, metric in values if metric == measured} == {"dense", "shrunk", "onnx-int8"}
    assert values["dense", "clean.accuracy"] == values["shrunk", "clean.accuracy"]
    assert values["dense", "measure.parameters"] > values["shrunk", "measure.parameters"] == values["onnx-int8", "measure.parameters"]
    assert values["dense", "measure.bytes"] > values["shrunk", "measure.bytes"] > values["onnx-int8", "measure.bytes"]
    again = json.loads(invoke(*command, "--metric", "calibration", "--json").stdout)
    assert again["tasks"]["demo"]["0"]["onnx-int8-measure"]["of"] == "onnx-int8"
    key = again["tasks"]["demo"]["0"]["dense"]["key"]
    assert model_of_run(tmp_path / "lab" / "runs" / again["run"]).folder.parts[-2:] == (key, "exported")


def built(model: Path, **settings: Any) -> list[str]:
    data = ChosenData((DemoTask(),), (), ())
    recipe = format_benchmark(MeasuredModel(str(model), str(model)), data, **settings)
    return [name for name, stage in recipe.stages.items() if stage.name == "export"]


def test_the_formats_are_those_that_the_model_can_have(shrunk: Path, tiny: dict[str, Path]) -> None:
    assert built(shrunk) == ["dense", "shrunk", "onnx", "onnx-int8"]
    assert built(tiny["bert"]) == ["dense", "onnx", "onnx-int8"]
    assert built(tiny["bert"], ticket="./ticket.safetensors") == ["dense", "shrunk", "onnx", "onnx-int8"]
    with pytest.raises(UsageError, match=r"^--format onnx8: no such format; did you mean `onnx`\?"):
        built(shrunk, formats=["onnx8"])


def test_missing_packages_are_reported_before_anything_is_computed(
    shrunk: Path, tmp_path: Path, invoke: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx, "PACKAGES", ("no_such_package",))
    done = invoke("ticket", "benchmark", shrunk, "--task", "demo", "--lab", tmp_path / "lab", *SMALL)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].endswith('needs the package no_such_package; `pip install "ticketlab[onnx]"`')
    assert not (tmp_path / "lab" / "stages").exists()


@pytest.mark.parametrize(
    ("assignment", "changed"),
    [
        ("attack.workers=3", {"dense-attack-deepwordbug", "onnx-attack-deepwordbug", "dense-attack-pwws", "onnx-attack-pwws"}),
        ("attack.attacks.pwws.query_budget=7", {"dense-attack-pwws", "onnx-attack-pwws"}),
        ("measure.repeats=3", {"dense-measure", "onnx-measure"}),
        ("onnx-measure.repeats=3", {"onnx-measure"}),
    ],
)
def test_a_setting_of_a_kind_of_stage_is_that_of_all_its_stages(tiny: dict[str, Path], assignment: str, changed: set[str]) -> None:
    data = ChosenData((DemoTask(),), (), ())
    attacks = [{"name": "deepwordbug"}, {"name": "pwws"}]
    plain, other = (
        format_benchmark(MeasuredModel(str(tiny["bert"]), str(tiny["bert"])), data, formats=["dense", "onnx"], attacks=attacks, sets=sets)
        for sets in ([], [assignment])
    )
    assert {name for name, stage in other.stages.items() if stage != plain.stages[name]} == changed


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("attack.workerz=1", r"dense-attack-deepwordbug\.workerz: .* did you mean `workers`"),
        ("atack.workers=1", r"the recipe has no stage or setting `atack`"),
        ("attack.attacks.pwws.query_budget=1", r"the list has no `pwws`; available: `deepwordbug`"),
    ],
)
def test_a_wrong_setting_of_a_kind_of_stage_is_refused(tiny: dict[str, Path], assignment: str, message: str) -> None:
    data = ChosenData((DemoTask(),), (), ())
    with pytest.raises(UsageError, match=message):
        format_benchmark(MeasuredModel(str(tiny["bert"]), str(tiny["bert"])), data, attacks=[{"name": "deepwordbug"}], sets=[assignment])
