"""A stage and a metric of plugins work in a recipe as the built-in ones do: references, keys, results, tables, selection."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ticketlab.core import registry
from ticketlab.core.errors import PluginError, SettingError, UsageError
from ticketlab.lab.layout import RESULT, stage_folder
from ticketlab.notebook.stage_kinds import kind_of_stage
from ticketlab.recipes import recipe, required_stages, tables
from ticketlab.report.cells import compare_runs
from ticketlab.report.dev_score import dev_score
from ticketlab.report.metric_text import metric_text
from ticketlab.report.metric_values import lower_is_better
from ticketlab.report.numbers import Number, all_numbers
from ticketlab.report.rows import result_rows
from ticketlab.runs.run import Run, run
from ticketlab.stages.base import Stage
from ticketlab.stages.best_checkpoint import BestCheckpoint
from ticketlab.stages.result import check_files, check_result
from ticketlab.stages.train import Train
from ticketlab.tasks.demo.pairs import DemoPairs, DemoPairsOOD

PLUGINS = Path(__file__).parents[1] / "third_party"
TABLE: dict[str, Any] = {
    "finetune": {"kind": "train", "epochs": 1, "lr": 1e-3, "batch_size": 8},
    "quantised": {"kind": "quantise", "model": "finetune", "bits": 4},
    "distilled": {
        **{"kind": "train", "loss": "distillation", "teacher": "quantised", "epochs": 3, "lr": 1e-3, "batch_size": 8},
        **{"metrics": [{"name": "calibration", "bins": 5}], "select": "best", "select_on": "calibration"},
    },
    "evaluate": {"kind": "evaluate", "model": "quantised", "metrics": ["supported-f1", "calibration"]},
    "final": {"kind": "evaluate", "model": "distilled", "metrics": ["calibration"]},
}


@pytest.fixture(scope="module", autouse=True)
def plugins() -> Iterator[registry.Registry]:
    files = [PLUGINS / "quantise_stage.py", PLUGINS / "supported_f1.py"]
    with registry.using(registry.load(files, entry_points=False)) as found:
        assert found.problems == []
        yield found


@pytest.fixture(scope="module")
def done(tiny: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(build(tiny), tmp_path_factory.mktemp("third-party") / "lab")


def build(tiny: dict[str, Path], *sets: str) -> recipe.Recipe:
    table = {**TABLE, "model": str(tiny["bert"]), "max_length": 32, "precision": "fp32", "seeds": [0]}
    for assignment in sets:
        table = tables.override(table, assignment)
    table |= {"tasks": [DemoPairs(rows=48, dev_rows=12, test_rows=24)], "ood": [DemoPairsOOD(test_rows=16)]}
    return recipe.build_recipe("small", table)


def numbers_of(done: Run) -> dict[tuple[str, str], Number]:
    """Return the numbers of a run by stage and metric."""
    return {(number.stage, number.metric): number for number in all_numbers(compare_runs([done.directory])) if number.step is None}


def test_the_model_of_a_plugin_s_stage_is_evaluated_and_teaches(done: Run) -> None:
    stages = done.stages()
    assert {name: stage["kind"] for name, stage in stages.items()} == {name: stage["kind"] for name, stage in TABLE.items()}
    assert stages["quantised"]["inputs"] == {"model": "finetune"}
    assert stages["quantised"]["replaces"] == ["train"]
    assert stages["distilled"]["inputs"]["teacher"] == "quantised"
    assert stages["evaluate"]["of"] == "quantised"
    assert stages["evaluate"]["clean"]["trained_on"] == stages["final"]["clean"]["trained_on"]
    assert {row.of: row.seconds is not None for row in result_rows(done.results)}["quantised"]


def test_its_files_are_sealed_and_its_kind_is_known_in_the_lab(done: Run) -> None:
    folder = stage_folder(done.directory.parents[1], done.stages()["quantised"]["key"])
    assert (folder / "model" / "model.safetensors").is_file()
    assert '"model/model.safetensors"' in (folder / RESULT).read_text()
    assert kind_of_stage(folder) == "quantise"


def test_its_numbers_are_those_of_its_own_model(done: Run) -> None:
    number = numbers_of(done)["quantised", "quantise.largest_change"]
    assert number.of == "quantised"
    assert number.value == done.stages()["quantised"]["numbers"]["largest_change"] > 0
    (row,) = (row for row in result_rows(done.results) if row.of == "quantised")
    assert row.numbers["quantise.largest_change"].mean == number.value


def test_requested_metrics_are_in_results_numbers_and_tables(done: Run, tmp_path: Path) -> None:
    clean = done.metrics("evaluate")
    assert set(clean["metrics"]) == {"supported-f1", "calibration"}
    assert clean["metrics"]["supported-f1"] == pytest.approx(clean["macro_f1"])  # both classes have examples
    assert done.stages()["evaluate"]["ood"]["demo_nli_ood"]["metrics"].keys() == clean["metrics"].keys()
    found = numbers_of(done)
    assert found["evaluate", "clean.calibration"].value == clean["metrics"]["calibration"]
    assert found["evaluate", "ood.demo_nli_ood.supported-f1"].n == 16
    (row,) = (row for row in result_rows(done.results) if row.of == "quantised")
    assert row.own_split is not None
    assert row.own_split.shown[-2:] == ("supported-f1", "calibration")
    assert metric_text("clean.supported-f1").heading == "Supported F1 %"
    assert (metric_text("ood.demo_nli_ood.supported-f1").better, lower_is_better("dev.clean.calibration")) == (1, True)


def test_a_training_selects_by_a_metric_of_which_less_is_better(done: Run) -> None:
    history = done.stages()["distilled"]["train"]["history"]
    measured = [record["dev_calibration"] for record in history]
    assert len(set(measured)) > 1
    (cell,) = compare_runs([done.directory]).cells
    score = dev_score(cell, "demo_nli", done.stages(), "distilled", "", "calibration")
    assert score.metric == "history.distilled.dev_calibration"
    assert score.value == min(measured)


def test_the_key_depends_on_the_plugin_and_on_the_metrics(done: Run, tiny: dict[str, Path], tmp_path: Path) -> None:
    lab = done.directory.parents[1]
    again = run(build(tiny), lab)
    assert again.directory == done.directory
    changed = tmp_path / "quantise_stage.py"
    shutil.copy(PLUGINS / "quantise_stage.py", changed)
    with changed.open("a") as file:
        file.write("\n# another version\n")
    other = registry.load([changed, PLUGINS / "supported_f1.py"], entry_points=False)
    with registry.using(other):
        newer = run(build(tiny), lab).stages()
    keys = {name: (stage["key"], newer[name]["key"]) for name, stage in done.stages().items()}
    assert [name for name, (old, new) in keys.items() if old == new] == ["finetune"]


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("quantised.bit=4", "quantised.bit: stage `quantise` has no such setting; did you mean `bits`?"),
        ("quantised.bits=1", "quantised.bits: must be at least 2, not 1"),
        ("quantised.model=quantized", "quantised.model: there is no earlier stage `quantized`"),
        ("evaluate.model=quantised@500", "evaluate.model: `quantised` is a quantise stage; only a train stage saves checkpoints"),
        ("evaluate.metrics=['calibraton']", "evaluate.metrics[0]: unknown metric `calibraton`; did you mean `calibration`?"),
        ("distilled.select_on=callibration", "distilled.select_on: must be one of accuracy"),
    ],
)
def test_mistakes_are_refused_with_the_place_and_the_nearest_name(assignment: str, message: str, tiny: dict[str, Path]) -> None:
    with pytest.raises(SettingError) as problem:
        build(tiny, assignment)
    assert str(problem.value).startswith(message)


def test_the_check_of_a_plugin_s_stage_sees_the_stages_that_it_names(tiny: dict[str, Path]) -> None:
    table = {"model": str(tiny["bert"]), "finetune": TABLE["finetune"], "a": TABLE["quantised"], "b": {"kind": "quantise", "model": "a"}}
    with pytest.raises(SettingError, match=r"^b.model: `a` is quantised already"):
        recipe.build_recipe("twice", table | {"tasks": ["demo"]})


def test_without_its_plugin_the_direction_of_a_metric_is_unknown() -> None:
    with registry.using(registry.load(entry_points=False)), pytest.raises(UsageError, match=r"^`clean.supported-f1`: .* load the plugin"):
        lower_is_better("clean.supported-f1")


def test_a_teacher_is_found_for_the_distillation_loss() -> None:
    table: dict[str, Any] = {name: TABLE[name] for name in ("finetune", "distilled")}
    table["distilled"] = {key: value for key, value in table["distilled"].items() if key != "teacher"}
    assert required_stages.add_required_stages(table)["distilled"]["teacher"] == "finetune"


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "returned None; `run` must return a dict"),
        ({"key": "mine"}, "returned `key`, which the run adds itself"),
        ({"numbers": {"bytes": "12"}}, "returned `numbers` {'bytes': '12'}; they must be a dict of numbers"),
        ({"mine": Path("x")}, "returned a result that is not JSON: Object of type PosixPath is not JSON serializable"),
    ],
)
def test_a_result_that_cannot_be_stored_is_refused(result: Any, message: str) -> None:
    with pytest.raises(PluginError) as problem:
        check_result("mine", result)
    assert str(problem.value).startswith(f"the stage kind `mine` {message}")


def test_a_stage_in_place_of_train_writes_a_model(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"^the stage kind `mine` replaces `train` and wrote no model; `run` calls context.save_model"):
        check_files("mine", ("train",), tmp_path)
    check_files("mine", ("draw",), tmp_path)
    (tmp_path / "model").mkdir()
    check_files("mine", ("train",), tmp_path)


@pytest.mark.parametrize(("select", "warnings"), [("best", ["no evaluation has `accuracy`"]), ("last", [])])
def test_a_selection_by_a_score_that_is_never_defined_is_reported(select: Any, warnings: list[str], tmp_path: Path) -> None:
    said: list[str] = []
    context: Any = SimpleNamespace(warn=said.append)
    assert Train(select=select).kept(BestCheckpoint(tmp_path), context) == {}
    assert [text.partition(",")[0] for text in said] == warnings


def test_built_in_stages_are_registered_like_those_of_plugins() -> None:
    known = registry.load(entry_points=False)
    assert known.names("stage") == ["attack", "bias", "draw", "evaluate", "export", "measure", "search", "train"]
    assert all(issubclass(known.get("stage", name), Stage) for name in known.names("stage"))
