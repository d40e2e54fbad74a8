"""Evaluated and attacked texts that the model was trained on are counted and reported, also by later commands, however it was made."""

from __future__ import annotations

import csv
import importlib.util
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ticketlab.backbone.loading import load_classifier, save
from ticketlab.cli.main import cli
from ticketlab.core import files
from ticketlab.lab import integrity
from ticketlab.lab.lab import Lab
from ticketlab.tasks.base import Example
from ticketlab.tasks.trained_on import FILE, hash_texts

FIRST = """
[scales.small]
max_length = 24
[guesses]
kind = "train"
objective = { name = "mlm", text = "ROOT/text.txt", shortest = 1 }
epochs = 1
[finetune]
kind = "train"
start = "guesses"
select = "best"
epochs = 1
[search]
kind = "search"
start = "finetune"
pruner = "magnitude"
[draw]
kind = "draw"
[evaluate]
kind = "evaluate"
model = "finetune"
"""
WITH_TICKET = """
[retrain]
kind = "train"
ticket = "TICKET"
epochs = 1
[evaluate]
kind = "evaluate"
model = "retrain"
"""
AGAIN = """
[finetune]
kind = "train"
epochs = 1
[evaluate]
kind = "evaluate"
model = "finetune"
"""
OWN = [f"a film number {number}" for number in range(32)]
TRAIN, DEV, TEST = OWN[:20], OWN[20:26], OWN[26:]
NEW = [f"a new film {number}" for number in range(8)]
LEAK = [*(text.upper() for text in TRAIN[:4]), DEV[0], *NEW[:5]]
TRAINED, SELECTED, GUESSED = (
    "{} evaluated texts of {} are among those that the model was trained on: its numbers do not show how it performs on new texts",
    "{} evaluated texts of {} are among those that the model was selected on: its numbers may be better than on new texts",
    "{} evaluated texts of {} are in the text that the model or its ticket was trained on without labels",
)
ONE_SELECTED = SELECTED.format("1 of 10", "leak (test)").replace(" are among", " is among")
ON_LEAK = [TRAINED.format("4 of 10", "leak (test)"), ONE_SELECTED, GUESSED.format("2 of 10", "leak (test)")]
MESSAGES = (" was trained on", " was selected on", " without labels", " in train", " another: confidence intervals")
REPEATS = "1 of 4 test texts (25.0 %) repeats another: confidence intervals treat each as an independent text"
REPEATS_IN_ALL = "5 of 18 texts of all splits (27.8 %) repeat another: confidence intervals treat each as an independent text"
IN_TRAIN = "2 of 4 test texts (50.0 %) are also in train: a model may have memorised their labels"
OOD_IN_TRAIN = "5 of 10 test texts (50.0 %) are in train of new"
needs_textattack = pytest.mark.skipif(importlib.util.find_spec("textattack") is None, reason="textattack is not installed")


def call(*arguments: object) -> Result:
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="ticketlab")
    assert done.exit_code == 0, done.stderr
    return done


def write(folder: Path, **splits: list[str]) -> None:
    folder.mkdir()
    for split, texts in splits.items():
        lines = "".join(f"{text},{'ab'[number % 2]}\n" for number, text in enumerate(texts))
        (folder / f"{split}.csv").write_text(f"text,label\n{lines}")


def warned(done: Result) -> list[str]:
    """Return the warnings about duplicate texts and texts seen before, without their prefixes."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("warning: ") and any(message in line for message in MESSAGES)]
    return [line.split(": ", 2)[2] for line in lines]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, tiny: dict[str, Path]) -> Path:
    """A lab with a run, models made from its model, a model from elsewhere, and data sets."""
    root = tmp_path_factory.mktemp("trained-on")
    write(root / "own", train=TRAIN, validation=DEV, test=TEST)
    write(root / "leak", test=LEAK)
    write(root / "new", train=[*NEW, *NEW[:2]], validation=[f"v {number}" for number in range(4)], test=[*NEW[:2], "x one", "x one"])
    (root / "text.txt").write_text("\n\n".join([*LEAK[-2:], *(f"words to guess {number}" for number in range(20))]))
    (root / "first.toml").write_text(FIRST.replace("ROOT", str(root)))
    first = call("run", root / "first.toml", "--scale", "small", "--task", root / "own", "--model", tiny["bert"], "--lab", root / "lab")
    assert warned(first) == []
    (run,) = (root / "lab" / "runs").iterdir()
    (root / "run").symlink_to(run)
    (root / "ticket.toml").write_text(WITH_TICKET.replace("TICKET", str(run / "tickets" / "own-draw-seed0.safetensors")))
    (root / "again.toml").write_text(AGAIN)
    call("ticket", "export", "first", "--format", "dense", "--out", root / "exported", "--lab", root / "lab")
    call("ticket", "apply", run, run, "--out", root / "applied", "--lab", root / "lab")
    model, tokenizer = load_classifier(str(tiny["bert"]), ("a", "b"), 0)
    save(model, tokenizer, root / "elsewhere")
    return root


@pytest.mark.parametrize(
    ("command", "messages", "scale"),
    [
        pytest.param("evaluate first --task leak", ON_LEAK, "small", id="another data set"),
        pytest.param("evaluate exported --task leak", ON_LEAK, "", id="an exported model"),
        pytest.param("evaluate applied --task leak", ON_LEAK, "", id="a model with a ticket"),
        pytest.param("evaluate first --task own", [], "small", id="its own test split"),
        pytest.param(
            "evaluate first --task own --split train", [TRAINED.format("20 of 20", "own (train)")], "small", id="its own training split"
        ),
        pytest.param(
            "evaluate first --task own --split all",
            [TRAINED.format("20 of 32", "own (all)"), SELECTED.format("6 of 32", "own (all)")],
            "small",
            id="all of its data",
        ),
        pytest.param("evaluate first --task new --ood leak", [REPEATS, *ON_LEAK], "small", id="training split of new data"),
        pytest.param(
            "evaluate first --task new --split all",
            [REPEATS_IN_ALL, GUESSED.format("2 of 18", "new (all)")],
            "small",
            id="duplicates in the evaluated data",
        ),
        pytest.param("evaluate elsewhere --task new --ood leak", [OOD_IN_TRAIN, REPEATS, IN_TRAIN], "", id="a model from elsewhere"),
        pytest.param(
            "run again.toml --model run --task new --ood leak",
            [OOD_IN_TRAIN, REPEATS, IN_TRAIN, TRAINED.format("9 of 10", "leak (test)"), *ON_LEAK[1:]],
            "full",
            id="trained again",
        ),
        pytest.param(
            "run ticket.toml --model elsewhere --task new --ood leak",
            [OOD_IN_TRAIN, REPEATS, IN_TRAIN, TRAINED.format("9 of 10", "leak (test)"), *ON_LEAK[1:]],
            "full",
            id="with a ticket of the run",
        ),
        pytest.param(
            "attack first --task leak --attack deepwordbug --n 10 --workers 1",
            [message.replace("evaluated", "attacked") for message in ON_LEAK],
            "small",
            id="attacked",
            marks=needs_textattack,
        ),
    ],
)
def test_texts_that_a_model_was_trained_on_are_reported_however_it_was_made(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, messages: list[str], scale: str
) -> None:
    monkeypatch.chdir(world)
    for time in ("computed", "found"):
        done = call(*command.split(), "--lab", "lab", "--csv", tmp_path / "numbers.csv")
        assert warned(done) == messages, time
        assert ("found in the lab" in done.stderr) == (time == "found")
    assert [message for message in messages if message not in done.stdout] == [], "notes under the table"
    with (tmp_path / "numbers.csv").open() as file:
        assert {line["scale"] for line in csv.DictReader(file)} == {scale}


def test_the_results_have_the_counts(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world)
    for model, counts in (("run", {"train": 4, "swapped": 0, "dev": 1, "text": 2}), ("elsewhere", None)):
        results = json.loads(call("evaluate", model, "--task", "leak", "--lab", "lab", "--json").stdout)
        assert results["tasks"]["leak"]["0"]["evaluate"]["clean"].get("trained_on") == counts


def test_the_file_is_sealed_and_a_lab_without_it_can_be_read(world: Path, tmp_path: Path) -> None:
    lab = Lab(shutil.copytree(world / "lab", tmp_path / "lab"))
    stages = json.loads((world / "run" / "results.json").read_text())["tasks"]["own"]["0"]
    folder = lab.stage(stages["finetune"]["key"])
    arguments = ["evaluate", str(folder), "--task", str(world / "leak"), "--lab", str(tmp_path / "other")]
    path = folder / "model" / FILE
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert f"{FILE} is damaged: it is not what the stage wrote" in CliRunner().invoke(cli, arguments).stderr
    path.unlink()
    result = integrity.read_result(folder / integrity.RESULT)
    files.write_json(folder / integrity.RESULT, integrity.seal(folder, result))  # as an earlier version left it
    assert warned(call(*arguments)) == []


def test_a_damaged_file_is_one_line(world: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(world / "exported", tmp_path / "copy")
    (copy / FILE).write_text("{}")
    done = CliRunner().invoke(cli, ["evaluate", str(copy), "--task", str(world / "leak"), "--lab", str(tmp_path / "lab")])
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith(f"error: {copy / FILE}: damaged (")


def test_a_pair_in_the_other_order_is_counted_separately() -> None:
    known = hash_texts(train=[("a", "b"), ("c", "d"), ("d", "c")], dev=[("e", "f")])
    examples = [Example(str(number), texts, 0) for number, texts in enumerate([("B", " a"), ("C", "d"), ("f", "e"), ("a", "b")])]
    assert known.count(examples) == {"train": 2, "swapped": 1, "dev": 0, "text": 0}
