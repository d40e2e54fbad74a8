"""The provenance of models in a lab, and export as a stage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.small_recipe import needs_textattack

from ticketlab.backbone.loading import load_finished
from ticketlab.core import files
from ticketlab.lab.finished_models import resolve
from ticketlab.runs.provenance import provenance_of
from ticketlab.runs.run import run


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lab with models that were not attacked."""
    return tmp_path_factory.mktemp("provenance") / "lab"


def stage_folder(root: Path, results: Any, name: str) -> Path:
    (stages,) = (stages for seeds in results["tasks"].values() for stages in seeds.values())
    key = stages[name]["key"]
    return root / "stages" / key[:2] / key


def test_provenance_has_the_stages_and_measurements_of_a_run_s_model(make_recipe: Any, lab: Path) -> None:
    done = run(make_recipe(), lab)
    provenance = provenance_of(resolve(str(done.directory)))
    assert (provenance.recipe, provenance.seed) == ("small", 0)
    assert [name for name, *_ in provenance.stages] == ["finetune", "search", "draw", "retrain"]
    settings = {name: known for name, _, known in provenance.stages}
    assert settings["search"]["pruner"] == "hard-concrete"
    assert settings["search"]["adversary"] == "freelb"
    assert settings["draw"]["sparsity"] == 0.3
    assert "adversary" not in settings["finetune"]
    assert provenance.ticket is not None
    assert abs(provenance.ticket.sparsity() - 0.3) < 0.01
    (measured,) = provenance.measurements
    (stages,) = (stages for seeds in done.results["tasks"].values() for stages in seeds.values())
    assert measured.clean == stages["evaluate"]["clean"]["accuracy"]
    clean = stages["evaluate"]["clean"]
    assert measured.examples == f"{clean['n']} examples of test; majority class {100 * clean['majority']:.1f} %"


def test_a_stage_folder_has_the_same_provenance_as_its_run(make_recipe: Any, lab: Path) -> None:
    done = run(make_recipe(), lab)
    folder = stage_folder(lab, done.results, "retrain")
    for place in (folder, folder / "model"):
        assert provenance_of(place).measurements == provenance_of(resolve(str(done.directory))).measurements
    earlier = provenance_of(stage_folder(lab, done.results, "finetune"))
    assert [name for name, *_ in earlier.stages] == ["finetune"]
    assert earlier.ticket is None
    assert not earlier.measurements


def test_the_model_of_a_damaged_lab_has_no_provenance(make_recipe: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(make_recipe(without=("attack", "search", "draw", "retrain", "evaluate")), tmp_path / "lab")
    folder = stage_folder(tmp_path / "lab", done.results, "finetune")
    (done.directory / "results.json").write_text('{"tasks": 3}', encoding="utf-8")
    assert provenance_of(folder).recipe == ""
    assert "damaged" in capsys.readouterr().err


def test_a_folder_outside_a_lab_has_no_provenance(tmp_path: Path) -> None:
    assert provenance_of(tmp_path).recipe == ""


def test_a_model_on_the_hub_is_the_base_model_of_its_export() -> None:
    assert provenance_of("somebody/their-classifier").base_model == "somebody/their-classifier"


@needs_textattack
def test_measurements_of_attacks_describe_their_sample(make_recipe: Any, shared_lab: Path) -> None:
    done = run(make_recipe(without=()), shared_lab)
    measured = provenance_of(resolve(str(done.directory))).measurements
    attacked = {one.examples: one for one in measured if one.attack == "deepwordbug"}
    assert attacked["8 examples of test, sample seed 0, 4 attacked"].aua is not None


def test_export_is_available_as_a_stage(make_recipe: Any, lab: Path) -> None:
    made = make_recipe("draw.sparsity=0.5")
    table = made.to_table() | {"export": {"kind": "export", "model": "retrain", "ticket": "draw", "format": "dense"}}
    table["tasks"] = list(made.tasks)
    from ticketlab.recipes import recipe

    done = run(recipe.build_recipe("small", table), lab)
    folder = stage_folder(lab, done.results, "export")
    model, _, _ = load_finished(str(folder / "exported"))
    found = files.read_json(folder / "result.json")["export"]
    assert found["format"] == "dense"
    assert found["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    assert found["bytes"] == (folder / "exported" / "model.safetensors").stat().st_size
    assert found["sparsity"] == {"weights": 0.5}
    assert (folder / "exported" / "README.md").is_file()
