"""The results of a run identify the model, checkpoint, stage and data behind each number."""

import json
import shutil

import pyarrow.parquet as pq
import pytest
import torch
from attrs import evolve
from safetensors.torch import load_file, save_file
from support.small_recipe import needs_textattack

from ticketlab.backbone.loading import load_finished
from ticketlab.core.errors import TicketlabError
from ticketlab.lab.finished_models import locate
from ticketlab.recipes.compose import compose
from ticketlab.report.cells import compare_runs
from ticketlab.report.numbers import numbers
from ticketlab.report.rows import result_rows
from ticketlab.runs.measure import evaluate
from ticketlab.runs.provenance import provenance_of
from ticketlab.runs.run import directory_name, run
from ticketlab.tasks.datasets.local import LocalDataset

PARTS = ("search", "draw", "retrain", "attack")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Two files of equal content, with labels in proportion 3 to 1."""
    rows = [{"text": f"text {number} {'good' if number % 4 else 'bad'}", "label": "pos" if number % 4 else "neg"} for number in range(40)]
    folder = tmp_path_factory.mktemp("data")
    for name in ("one", "two"):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return tmp_path_factory.mktemp("lab")


@pytest.fixture
def recipe(make_recipe, pairs):
    """A recipe with two tasks of equal content that evaluates a checkpoint, the model, and the model again in a stage of another name."""
    made = make_recipe("evaluate.model=finetune", without=PARTS)
    stage = made.stages["evaluate"]
    more = {"early": evolve(stage, model="finetune@3"), "evaluate": stage, "again": evolve(stage, batch_size=3)}
    tasks = (LocalDataset(path=str(pairs / "one.jsonl"), positive_label="neg"), LocalDataset(path=str(pairs / "two.jsonl")))
    return evolve(made, stages={"finetune": made.stages["finetune"], **more}, tasks=tasks)


def test_results_and_predictions_identify_their_model_and_data(recipe, lab):
    done = run(recipe, lab)
    one, two = (done.results["tasks"][name]["0"] for name in ("one", "two"))
    assert done.results["run"] == done.directory.name == directory_name(recipe)
    assert [(stage["of"], stage.get("at"), stage["inputs"]) for name, stage in one.items() if name != "finetune"] == [
        ("finetune", "3", {"model": "finetune@3"}), ("finetune", None, {"model": "finetune"}), ("finetune", None, {"model": "finetune"})
    ]  # fmt: skip
    assert (one["again"]["same_as"], "same_as" in one["evaluate"]) == (["one", "0", "evaluate"], False)
    assert two["finetune"]["key"] != one["finetune"]["key"]  # another positive label may select other checkpoints
    assert one["evaluate"]["settings"] == {"split": "test", "label_map": []}
    clean = one["evaluate"]["clean"]
    assert (clean["split"], clean["positive_label"]) == ("test", "neg")
    assert "binary_f1" not in two["evaluate"]["clean"]
    assert {path.name for path in (done.directory / "predictions").iterdir()} == {
        f"{task}-{stage}-seed0.parquet" for task in ("one", "two") for stage in ("early", "evaluate", "again")
    }
    lines = pq.read_table(done.directory / "predictions" / "one-evaluate-seed0.parquet").to_pylist()
    data = recipe.tasks[0].load()
    assert [line["id"] for line in lines] == [example.id for example in data.examples("test")]
    assert {line["set"] for line in lines} == {""}
    assert {line["split"] for line in lines} == {"test"}
    assert sum(line["label"] == line["predicted"] for line in lines) == clean["correct"]
    for line in lines:
        probabilities = {label: line[f"probability_{label}"] for label in data.label_names}
        assert line["predicted"] == max(probabilities, key=probabilities.get)
        assert sum(probabilities.values()) == pytest.approx(1, abs=1e-5)


def test_a_run_resolves_to_its_model_and_cards_separate_the_model_from_its_checkpoints(recipe, lab):
    done = run(recipe, lab)
    key = done.results["tasks"]["one"]["0"]["finetune"]["key"]
    folder = lab / "stages" / key[:2] / key
    assert locate(str(done.directory)) == str(folder / "model")  # even though the checkpoint was measured first
    alone = evolve(recipe, stages={name: recipe.stages[name] for name in ("finetune", "early")}, tasks=recipe.tasks[:1])
    early = run(alone, lab)
    assert locate(str(early.directory)) == str(folder / "model@3")
    accuracy = {name: done.results["tasks"]["one"]["0"][name]["clean"]["accuracy"] for name in ("early", "evaluate")}
    assert [one.clean for one in provenance_of(folder / "model").measurements] == [accuracy["evaluate"]]
    assert [one.clean for one in provenance_of(folder / "model@3").measurements] == [accuracy["early"]]
    assert provenance_of(folder / "model").measurements[0].examples.split(";")[0].endswith("examples of test")


def test_a_changed_model_in_the_same_folder_gives_another_run(tiny, tmp_path, pairs):
    shutil.copytree(tiny["bert"], tmp_path / "model")
    recipe = compose("fine-tune", tasks=str(pairs / "one.jsonl"), model=str(tmp_path / "model"), attacks=["none"])
    before = directory_name(recipe)
    weights = load_file(tmp_path / "model" / "model.safetensors")
    save_file({name: value + 1 for name, value in weights.items()}, tmp_path / "model" / "model.safetensors", metadata={"format": "pt"})
    assert directory_name(recipe) != before


def test_a_model_whose_logits_are_nan_is_an_error(recipe, lab, tmp_path, pairs):
    done = run(recipe, lab)
    model, tokenizer, _ = load_finished(locate(str(done.directory)))
    torch.nn.init.constant_(model.classifier.weight, 3e38)  # finite, but the sum overflows
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "broken")
    with pytest.raises(TicketlabError, match=r"returns \[\[nan, nan\]\] for a text, not one finite number for each label"):
        evaluate(tmp_path / "broken", tasks=str(pairs / "one.jsonl"), lab=tmp_path / "lab")


def test_missing_predictions_are_an_error_with_advice(recipe, lab):
    done = run(recipe, lab)
    key = done.results["tasks"]["one"]["0"]["early"]["key"]
    (lab / "stages" / key[:2] / key / "predictions.parquet").unlink()
    with pytest.raises(TicketlabError, match=r"predictions\.parquet is missing; delete .*, and the stage is computed again"):
        run(recipe, lab)


@needs_textattack
def test_checkpoints_of_retraining_are_evaluated_and_attacked_like_its_end(make_recipe, shared_lab):
    """The curve of Clean and Aua over the steps of a training; the checkpoint at 100 % is the finished model."""
    made = make_recipe("attack.examples=3", without=())
    stages = dict(made.stages)
    for at in ("25%", "100%"):
        for kind in ("evaluate", "attack"):
            stages[f"{kind}-{at.strip('%')}"] = evolve(made.stages[kind], model=f"retrain@{at}")
    done = run(evolve(made, stages=stages), shared_lab)
    rows = {row.checkpoint: row for row in result_rows(done.results)}
    assert list(rows) == ["", "25%", "100%"]
    assert (rows["100%"].clean, rows["100%"].attacks[0].aua) == (rows[""].clean, rows[""].attacks[0].aua)
    found = {
        (number.checkpoint, number.metric): number.value
        for number in numbers(compare_runs([done.directory]).cells[0])
        if number.metric in ("clean.accuracy", "attack.deepwordbug.aua")
    }
    assert {checkpoint for checkpoint, _ in found} == set(rows)
    assert all(found[at, "clean.accuracy"] == row.clean.mean for at, row in rows.items())
    assert all(found[at, "attack.deepwordbug.aua"] == row.attacks[0].aua.mean for at, row in rows.items())
