"""Training on texts that fooled a model: which ones are used, where they come from, and what the results record about them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ticketlab
from ticketlab.attacks.results import export
from ticketlab.attacks.results.adversarial_examples import AdversarialDataset, AdversarialExample, collect
from ticketlab.attacks.results.augmentation import augment
from ticketlab.attacks.results.record import Record
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.core.errors import DataError, SettingError, UsageError
from ticketlab.lab.finished_models import resolve
from ticketlab.recipes import recipe, tables
from ticketlab.recipes.compose import compose
from ticketlab.recipes.recipe import build_recipe
from ticketlab.report.rows import result_rows
from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.demo.reviews import DemoTask

needs_textattack = pytest.mark.skipif(importlib.util.find_spec("textattack") is None, reason="textattack is not installed")
DEMO = DemoTask(rows=48, dev_rows=12, test_rows=24)
NAMES = ("negative", "positive")


def data_of(**splits: list[Example]) -> TaskData:
    whole = {"train": (), "dev": (), "test": (), **{name: tuple(examples) for name, examples in splits.items()}}
    return TaskData("films", ("text",), NAMES, whole, "fingerprint", subsets=("kind",))


DATA = data_of(
    train=[Example("train-1", ("a good film",), 1, ("short",)), Example("train-2", ("a bad film",), 0, ("long",))],
    dev=[Example("train-3", ("a fine film",), 1, ("short",))],
    test=[Example("test-1", ("a dull film",), 0, ("short",))],
)


def text(original: str, after: str = "a film", label: str = "positive", **more: Any) -> AdversarialExample:
    facts = {"attack": "pwws", "model": "finetune", "taken_from": "train", **more}
    return AdversarialExample(f"{facts['attack']}/{original}", original, (after,), label, **facts)


def added(*texts: AdversarialExample, repeated: int = 0) -> Any:
    return augment(DATA, AdversarialDataset(("text",), texts, repeated, (Path("records.jsonl"),)))


def test_texts_are_appended_to_the_training_examples_only() -> None:
    found = added(text("train-2", "a bda film", "negative"), text("train-1", "a goood film"), repeated=3)
    own, more = found.data.splits["train"][:2], found.data.splits["train"][2:]
    assert own == DATA.splits["train"]
    assert more == (
        Example("pwws/train-2", ("a bda film",), 0, ("long",)),
        Example("pwws/train-1", ("a goood film",), 1, ("short",)),
    )
    assert [found.data.splits[split] for split in ("dev", "test")] == [DATA.splits[split] for split in ("dev", "test")]
    assert found.facts() == {"added": 2, "by_attack": {"pwws": 2}, "unknown": 0, "repeated": 3}
    assert found.data.fingerprint != DATA.fingerprint
    assert added().data.splits == DATA.splits


@pytest.mark.parametrize(
    "stranger",
    [
        pytest.param(text("train-9"), id="an unknown id"),
        pytest.param(text("train-3"), id="a development example"),
        pytest.param(text("test-1", label="negative"), id="a test example"),
        pytest.param(text("train-2"), id="another label"),
        pytest.param(text("train-2", label="neutral"), id="an unknown label"),
        pytest.param(text("train-1", before=("a good book",)), id="other words"),
    ],
)
def test_only_texts_of_training_examples_are_used(stranger: AdversarialExample) -> None:
    found = added(stranger, text("train-1", before=("a good film",)))
    assert [example.id for example in found.data.splits["train"]] == ["train-1", "train-2", "pwws/train-1"]
    assert found.unknown == 1
    with pytest.raises(DataError, match=r"records.jsonl: none of 1 text comes from a training example of films"):
        added(stranger)


@pytest.mark.parametrize("split", ["test", "dev", "all", ""])
def test_texts_of_other_splits_are_refused(split: str) -> None:
    with pytest.raises(UsageError, match=f"records.jsonl: `pwws/train-1` comes from {split or 'an unknown split'}; only examples of"):
        added(text("train-1", taken_from=split))


def test_ids_are_unique() -> None:
    taken = data_of(train=[Example("train-1", ("a",), 1, ("",)), Example("pwws/train-1", ("b",), 1, ("",))])
    found = augment(taken, AdversarialDataset(("text",), (text("train-1", "c"), text("train-1", "d")), 0, ()))
    assert [example.id for example in found.data.splits["train"]][2:] == ["pwws/train-1#2", "pwws/train-1#3"]


def test_texts_with_another_number_of_columns_are_refused() -> None:
    pair = AdversarialExample("pwws/train-1", "train-1", ("a", "b"), "positive", "pwws", "", "train")
    with pytest.raises(DataError, match="has 2 texts for the columns text"):
        added(pair)


TABLE: dict[str, Any] = {
    "finetune": {"kind": "train", "epochs": 1, "lr": 1e-3, "batch_size": 8},
    "perturb": {"kind": "attack", "model": "finetune", "split": "train", "examples": 16, "similarity": "none"},
    "retrain": {"kind": "train", "augment": "perturb", "epochs": 1, "lr": 1e-3, "batch_size": 8},
    "evaluate": {"kind": "evaluate", "model": "retrain"},
}


@pytest.fixture
def make(tiny: dict[str, Path]) -> Callable[..., recipe.Recipe]:
    def make(*sets: str, without: tuple[str, ...] = ()) -> recipe.Recipe:
        table = {"model": str(tiny["bert"]), "max_length": 48, "precision": "fp32", "tasks": [DEMO]}
        table |= {name: stage for name, stage in TABLE.items() if name not in without}
        for assignment in sets:
            table = tables.override(table, assignment)
        return build_recipe("small", table)

    return make


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        (
            ["perturb.split=test"],
            r"^retrain.augment: `perturb` attacks test examples, and training may use only training examples",
        ),
        (["perturb.split=all"], r"^retrain.augment: `perturb` attacks all examples"),
        (["perturb.split=dev"], r"\(--set perturb.split=train\)$"),
        (["retrain.augment=finetune"], r"^retrain.augment: `finetune` is a train stage; this needs an attack stage"),
        (["retrain.augment=pertrub"], r"^retrain.augment: there is no earlier stage `pertrub`; did you mean `perturb`"),
        (["finetune.augment=perturb"], r"^finetune.augment: there is no earlier stage `perturb`"),
        (
            ["retrain.loss=poe", "retrain.bias=./bias.jsonl"],
            r"^retrain.augment: the loss `poe` needs a bias model, which covers no",
        ),
    ],
)
def test_invalid_augmentation_is_refused_when_the_recipe_is_built(
    make: Callable[..., recipe.Recipe], sets: list[str], expected: str
) -> None:
    with pytest.raises(SettingError, match=expected) as problem:
        make(*sets)
    assert "\n" not in str(problem.value)


def test_training_without_the_task_uses_no_adversarial_texts(make: Callable[..., recipe.Recipe]) -> None:
    stage: Any = make("retrain.objective.name=mlm", "retrain.objective.text=text.txt").stages["retrain"]
    assert "augment" not in stage.references()
    assert "augment" not in stage.identity()


def test_removing_attacks_keeps_those_that_augment_the_training() -> None:
    composed = compose("adversarial-augmentation", tasks=["demo"], attacks=["none"])
    assert list(composed.stages) == ["finetune", "perturb", "retrain", "evaluate"]
    named: Any = compose("adversarial-augmentation", tasks=["demo"], attacks=["pwws"], examples=7).stages
    assert [[attack.name for attack in named[name].attacks] for name in ("perturb", "attack")] == [["pwws"], ["pwws"]]
    assert (named["perturb"].examples, named["attack"].examples, named["perturb"].split) == (7, 7, "train")


def records(path: Path, *, split: str = "train", examples: list[Example] | None = None) -> Path:
    """Write a file of records as an attack on the demo writes it."""
    data = DEMO.load()
    file = RecordFile(path, "abc", attack="pwws", columns=["text"], model="finetune", sample={"split": split, "size": 9, "seed": 0})
    for example in examples or data.splits[split][:9]:
        after = (f"{example.texts[0]} indeed",)
        label = data.label_names[example.label]
        file.add(Record(id=example.id, status="success", original=example.texts, perturbed=after, label=label))
    return path


def stages(done: ticketlab.Run) -> dict[str, Any]:
    (found,) = done.results["tasks"]["demo"].values()
    return dict(found)


def test_records_and_data_exported_from_them_give_the_same_training(make: Callable[..., recipe.Recipe], tmp_path: Path) -> None:
    file = records(tmp_path / "pwws.jsonl")
    export.write(collect([file]), tmp_path / "adversarial.csv")
    found = {}
    for name in ("pwws.jsonl", "adversarial.csv"):
        small = make(f"retrain.augment={tmp_path / name}", without=("finetune", "perturb"))
        found[name] = stages(ticketlab.run(small, tmp_path / "lab"))["retrain"]["train"]
    first, second = found.values()
    assert first["augmented"] == {"by": str(tmp_path / "pwws.jsonl"), "added": 9, "by_attack": {"pwws": 9}, "unknown": 0, "repeated": 0}
    assert first["rows"] == 48 + 9
    assert {**second, "augmented": first["augmented"]} == first
    plain = stages(ticketlab.run(make("retrain.augment=none", without=("finetune", "perturb")), tmp_path / "lab"))["retrain"]["train"]
    assert plain["rows"] == 48
    assert "augmented" not in plain
    assert plain["loss"] != first["loss"]


def test_editing_the_file_changes_the_key(make: Callable[..., recipe.Recipe], tmp_path: Path) -> None:
    file = records(tmp_path / "pwws.jsonl")
    small = make(f"retrain.augment={file}", without=("finetune", "perturb", "evaluate"))
    first = stages(ticketlab.run(small, tmp_path / "lab"))["retrain"]
    again = stages(ticketlab.run(small, tmp_path / "lab"))["retrain"]
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    edited = stages(ticketlab.run(small, tmp_path / "lab"))["retrain"]
    assert first["key"] == again["key"] != edited["key"]
    assert edited["train"]["augmented"]["added"] == 8


def test_a_search_learns_from_adversarial_texts_too(make: Callable[..., recipe.Recipe], tmp_path: Path) -> None:
    head = {key: value for key, value in make().to_table().items() if key not in TABLE}
    table = {"kind": "search", "augment": str(records(tmp_path / "pwws.jsonl")), "epochs": 1, "batch_size": 8}
    small = build_recipe("small", {**head, "search": table})
    found = stages(ticketlab.run(small, tmp_path / "lab"))["search"]["search"]
    assert found["augmented"]["added"] == 9
    assert found["steps"] == -(-(48 + 9) // 8)


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda path: records(path, split="test"), r"comes from test; only examples of train may be used for training"),
        (
            lambda path: records(path, examples=[Example("train-0", ("other words",), 0)]),
            r"none of 1 text comes from a training example",
        ),
        (
            lambda path: path.write_text('{"text": "a", "label": "b"}\n', encoding="utf-8"),
            r"neither a file of attack records nor a data set",
        ),
        (lambda path: path.mkdir(), r"there is no such file"),
    ],
    ids=["of the test", "of other data", "another data set", "a folder"],
)
def test_invalid_augmentation_files_are_refused_before_anything_runs(
    make: Callable[..., recipe.Recipe], tmp_path: Path, write: Callable[[Path], object], expected: str
) -> None:
    write(tmp_path / "texts.jsonl")
    small = make(f"retrain.augment={tmp_path / 'texts.jsonl'}", without=("perturb",))
    with pytest.raises(UsageError, match=expected) as problem:
        ticketlab.run(small, tmp_path / "lab")
    assert "\n" not in str(problem.value)
    assert not (tmp_path / "lab").exists()


@pytest.fixture(scope="module")
def done(tiny: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> ticketlab.Run:
    """The recipe, at the scale of the demo, on little data."""
    sets = [f"{stage}.{setting}" for stage in ("finetune", "retrain") for setting in ("epochs=6", "lr=2e-3", "batch_size=16")]
    sets += ["perturb.examples=24", "attack.examples=6", "attack.similarity=none"]
    small = compose(
        "adversarial-augmentation", tasks=[DemoTask(rows=200, dev_rows=20, test_rows=40)], scale="demo", model=str(tiny["bert"]), sets=sets
    )
    return ticketlab.run(small, tmp_path_factory.mktemp("augmentation") / "lab")


@needs_textattack
def test_training_uses_the_texts_of_successful_attacks(done: ticketlab.Run) -> None:
    found = stages(done)
    attacked = found["perturb"]["attacks"]["deepwordbug"]
    learnt = found["retrain"]["train"]
    assert attacked["successes"] > 3
    labels = {"negative": 12, "positive": 12}
    seen = {"train": 24, "swapped": 0, "dev": 0, "text": 0}
    assert found["perturb"]["sample"] == {"split": "train", "size": 24, "seed": 0, "labels": labels, "trained_on": seen}
    assert not [warning for warning in found["perturb"].get("warnings", ()) if "trained on" in warning], "that is what it is for"
    assert learnt["augmented"]["by"] == "perturb"
    assert learnt["augmented"]["added"] + learnt["augmented"]["repeated"] == attacked["successes"]
    assert learnt["rows"] == 200 + learnt["augmented"]["added"]
    assert "augmented" not in found["finetune"]["train"]


@needs_textattack
def test_the_attack_on_training_examples_is_not_reported_as_a_measurement(done: ticketlab.Run) -> None:
    (row,) = result_rows(done.results)
    assert row.label.startswith("adversarial-augmentation (")
    assert row.attacks[0].clean is not None
    assert row.attacks[0].clean.n == 6
    found = stages(done)
    assert row.seconds is not None
    assert row.seconds.mean == pytest.approx(sum(found[name]["cost"]["seconds"] for name in ("finetune", "perturb", "retrain")))
    assert Path(resolve(str(done.directory))).parent.name == found["retrain"]["key"]


@needs_textattack
def test_the_same_recipe_finds_all_stages_in_the_lab(done: ticketlab.Run) -> None:
    name, table, _ = tables.read(done.directory / "recipe.toml")
    again = ticketlab.run(build_recipe(name, table), done.directory.parent.parent)
    assert stages(again) == stages(done)


@needs_textattack
def test_the_folder_of_an_attack_stage_is_equivalent_to_the_stage(done: ticketlab.Run, make: Callable[..., recipe.Recipe]) -> None:
    key = stages(done)["perturb"]["key"]
    folder = done.directory.parent.parent / "stages" / key[:2] / key
    learnt = stages(done)["retrain"]["train"]
    small = make(
        f"retrain.augment={folder}",
        "tasks=[{name='demo', rows=200, dev_rows=20, test_rows=40}]",
        without=("finetune", "perturb", "evaluate"),
    )
    found = stages(ticketlab.run(small, done.directory.parent.parent))["retrain"]["train"]
    assert (found["rows"], found["task_fingerprint"]) == (learnt["rows"], learnt["task_fingerprint"])


@needs_textattack
def test_the_records_have_the_key_and_the_sample_in_their_header(done: ticketlab.Run) -> None:
    key = stages(done)["perturb"]["key"]
    path = done.directory.parent.parent / "stages" / key[:2] / key / "records" / "deepwordbug.jsonl"
    header = json.loads(path.read_text(encoding="utf-8").split("\n")[0])
    assert header["config"] == key
    assert (header["model"], header["columns"], header["sample"]["split"]) == ("finetune", ["text"], "train")
