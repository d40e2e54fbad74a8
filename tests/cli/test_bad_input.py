"""Bad input of every kind ends in one line that says what is wrong and where, and damages no file."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import ticketlab
from ticketlab.cli.main import cli
from ticketlab.lab.lab import Lab

RECIPE = """
max_length = 16
[finetune]
kind = "train"
epochs = 1
batch_size = 8
[search]
kind = "search"
start = "finetune"
pruner = "magnitude"
[draw]
kind = "draw"
search = "search"
[evaluate]
kind = "evaluate"
model = "finetune"
"""
ATTACKED = """
[attack]
kind = "attack"
model = "finetune"
attacks = ["deepwordbug"]
examples = 2
"""
needs_attacks = pytest.mark.skipif(importlib.util.find_spec("textattack") is None, reason="textattack is not installed")


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="ticketlab")


def rows(labels: str, count: int = 40) -> str:
    names = labels.split()
    texts = [f"a {('bad', 'good', 'fine', 'awful')[number % 4]} film {number},{names[number % len(names)]}" for number in range(count)]
    return "\n".join(["text,label", *texts, ""])


FILES: dict[str, str | bytes] = {
    "ok.csv": rows("neg pos"),
    "numbers.csv": rows("1 2 3"),
    "empty.csv": "",
    "header.csv": "text,label\n",
    "single.csv": rows("pos"),
    "few.csv": "text,label\na,x\nb,y\n",
    "unlabelled.csv": rows("-1"),
    "no-label.csv": "text,other\na,b\n",
    "ragged.csv": "text,label\na,b,c\n",
    "quote.csv": 'text,label\n"a,b\n',
    "twice.csv": "text,text,label\na,b,c\n",
    "binary.csv": bytes(range(256)),
    "latin.csv": "text,label\né,x\n".encode("latin-1"),
    "utf16.csv": "text,label\né,x\n".encode("utf-16"),
    "not.parquet": "text",
    "bad.jsonl": "{\n",
    "numbers.jsonl": "3\n",
    "deep.json": "[" * 5000,
    "digits.jsonl": '{"text": "a", "label": ' + "1" * 5000 + "}\n",
    "notes.txt": "notes",
    "pairs.csv": "premise,hypothesis,label\n" + "".join(f"a {number},b {number},{number % 2}\n" for number in range(40)),
    "empty/.keep": "",
    "folder.csv/.keep": "",
    "other/ok.csv": rows("neg pos"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, tiny: dict[str, Path]) -> SimpleNamespace:
    """A folder of bad files, and a lab with one finished run of a tiny model."""
    root = tmp_path_factory.mktemp("bad")
    for name, content in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (root / "mini.toml").write_text(RECIPE, encoding="utf-8")
    (root / "attacked.toml").write_text(RECIPE + ATTACKED, encoding="utf-8")
    shutil.copytree(tiny["bert"], root / "encoder")
    shutil.copytree(tiny["distilbert"], root / "distilbert")
    run = ["run", root / "mini.toml", "--task", root / "ok.csv", "--model", root / "encoder", "--lab", root / "lab", "--json"]
    finished = call(*run)
    assert finished.exit_code == 0, finished.stderr
    stages = json.loads(finished.stdout)["tasks"]["ok"]["0"]
    found = {name: root / "lab" / "stages" / stage["key"][:2] / stage["key"] for name, stage in stages.items()}
    (directory,) = (root / "lab" / "runs").iterdir()
    return SimpleNamespace(root=root, stages=found, run=directory, model=found["finetune"] / "model")


@pytest.fixture(autouse=True)
def _in_world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(request.getfixturevalue("world").root)


def refused(result: Result, *expected: str, code: int = 2) -> None:
    """Check that a command failed with one line that shows no internals."""
    error = result.stderr.splitlines()[-1] if result.stderr else ""
    assert result.exit_code == code, result.stderr
    assert error.startswith("error: ")
    assert result.stderr.count("error: ") == 1
    assert "internal" not in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    for part in expected:
        assert part in error


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("empty.csv", "empty.csv: there are no rows"),
        ("header.csv", "header.csv: there are no rows"),
        ("single.csv", "single.csv: all training rows are labelled `pos`"),
        ("few.csv", "few.csv: no usable rows are left for the train split"),
        ("unlabelled.csv", "40 unlabelled"),
        ("no-label.csv", "--label-column"),
        ("ragged.csv", "ragged.csv line 2: malformed"),
        ("quote.csv", "quote.csv line 2: malformed"),
        ("twice.csv", "two columns are named `text`"),
        ("binary.csv", "not UTF-8"),
        ("latin.csv", "latin.csv line 2: not UTF-8"),
        ("utf16.csv", "utf16.csv: no usable rows are left for the train split"),
        ("not.parquet", "not.parquet: not a parquet file"),
        ("bad.jsonl", "bad.jsonl line 1: malformed"),
        ("numbers.jsonl", "numbers.jsonl line 1: must be a JSON object"),
        ("deep.json", "deep.json line 1: malformed"),
        ("digits.jsonl", "digits.jsonl line 1: malformed"),
        ("notes.txt", "notes.txt: lines of text without columns"),
        ("empty", "empty: there is no .csv"),
        ("folder.csv", "folder.csv: there is no .csv"),
        ("okk.csv", "did you mean `ok.csv`?"),
        ("nowhere/x.csv", "nowhere/x.csv: there is no such file or folder"),
        ("/dev/null", "/dev/null"),
        (" ", "unknown task ` `"),
        ("", "unknown task ``"),
        ("фильм", "unknown task `фильм`"),
        ("local", "needs a path"),
        ("\udcff.csv", "not UTF-8"),
        pytest.param("~nobody-of-this-name/x.csv", "~nobody-of-this-name/x.csv: there is no such file"),
    ],
)
def test_a_bad_data_set_is_refused(task: str, expected: str) -> None:
    refused(call("run", "mini.toml", "--task", task, "--model", "encoder"), expected)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--seeds", "0"], "'--seeds': 0 is not in the range"),
        (["--seeds", "1000000000"], "'--seeds': 1000000000 is not in the range"),
        (["--seeds", "two"], "'--seeds': 'two'"),
        (["--seed", "-1"], "'--seed': -1 is not in the range"),
        (["--n", "0"], "'--n': 0 is not in the range"),
        (["--max-length", "-5"], "max_length: must be at least 4, not -5"),
        (["--sparsity", "2"], "search.sparsity: must be at most 1, not 2.0"),
        (["--sparsity", "-0.1"], "search.sparsity: must be at least 0, not -0.1"),
        (["--sparsity", "1/0"], "search.sparsity: '1/0' is not a fraction; write 0.3 or 1/6"),
        (["--sparsity", "30%"], "search.sparsity: '30%' is not a fraction"),
        (["--sparsity", "nan"], "search.sparsity: must be a finite number"),
        (["--precision", "fp16"], "'fp16' is not one of"),
        pytest.param(["--attack", "deepwordbug", "--attack", "deepwordbug"], "already named `deepwordbug`", marks=needs_attacks),
        (["--attack", ""], "unknown attack ``"),
        pytest.param(
            ["--attack", "textfooler", "--word-vectors", "nowhere.txt"], "word vectors `nowhere.txt` not found", marks=needs_attacks
        ),
        pytest.param(["--attack", "textfooler", "--encoder", "nowhere"], "sentence encoder `nowhere` not found", marks=needs_attacks),
        (["--task", "ok.csv"], "another task is already named `ok`"),
        (["--task", "other/ok.csv"], "another task is already named `ok`"),
        (["--lab", "ok.csv"], "'ok.csv' is a file"),
        (["--csv", "empty"], "'empty' is a directory"),
        (["--set", "draw.scope=globl"], "draw.scope: must be one of global, local, not 'globl'"),
        (["--set", "finetune.lr=inf"], "finetune.lr: must be a finite number, not inf"),
        (["--set", "finetune.epochs=" + "9" * 400], "finetune.epochs: int too large"),
        (["--set", "finetune.lr=" + "9" * 5000], "finetune.lr: must be a number"),
        (["--set", "finetune.lr=" + "[" * 5000], "finetune.lr: must be a number"),
        (["--set", "evaluate.label_map=a=b"], "evaluate.label_map: must be a list, not 'a=b'"),
        (["--set", "scale=small"], "choose it with --scale"),
        (["--set", "tasks=demo"], "tasks: must be a list, not 'demo'"),
        (["--set", "süche.lr=3"], "no stage or setting `süche`"),
        (["--model", ""], "the name of the model is empty"),
        (["--model", "./nowhere"], "./nowhere: there is no such folder"),
        (["--model", "ok.csv"], "ok.csv: a model is a folder"),
        (["--model", "empty"], "empty: the folder has no config.json"),
        pytest.param(["--model", "no-such-model"], "no-such-model: cannot be loaded"),
        pytest.param(["--attack", "textfooler", "--word-vectors", "empty"], "empty", marks=needs_attacks),
        (["--model", "a b/c"], "a b/c: there is no such folder"),
        (["--text-column", "text", "--text-column", "text"], "one column cannot be used twice"),
        (["--text-column", "txt"], "there is no column `txt`; did you mean `text`?"),
        (["--label-column", "text"], "ok.csv"),
        (["--labels", "neg"], "the label `pos` is not one of the declared labels"),
        (["--labels", "neg,pos"], "the label `neg` is not one of the declared labels: `neg,pos` is a single label; declare each by itself"),
        (["--labels", "pos", "--labels", "pos"], "declared twice"),
        (["--drop-label", "-1"], "drop_labels: no row is labelled `-1`"),
        (["--set", "tasks.split_column=text"], "split_column: column `text`"),
        (["--set", "tasks.split_colum=none"], "tasks[0].split_colum: task `local` has no such setting; did you mean `split_column`?"),
    ],
)
def test_a_bad_flag_is_refused(flags: list[str], expected: str) -> None:
    model = [] if "--model" in flags else ["--model", "encoder"]
    lab = [] if "--lab" in flags else ["--lab", "lab"]
    recipe = "attacked.toml" if "--attack" in flags else "mini.toml"
    refused(call("run", recipe, "--task", "ok.csv", *model, *lab, *flags), expected)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[vary]\nepochs = [1, 2]", "bad.toml: a study, not a recipe; `ticketlab ablate"),
        ("per_task = 3", "per_task: must contain tables of stages"),
        ("scales.small = 3", "scales: must contain tables of stages"),
        ("tasks = 3", "tasks: must be a list, not 3"),
        ("tasks = [[1]]", "tasks[0]: must name a component of kind task"),
        ("seeds = [-1]", "seeds: must be at least 0"),
        ("task = 3", "task: a recipe has no such setting; did you mean `tasks`? (bad.toml line 1)"),
        ("epochs = 3", "epochs: is a setting of stages, not of a recipe; did you mean `finetune.epochs`? (bad.toml line 1)"),
        ('[""]\nkind = "train"', "a stage name may contain letters"),
        ('["../../x"]\nkind = "train"', "../../x: a stage name may contain letters"),
        ('[a]\nkind = "train"\nstart = "b"\n[b]\nkind = "train"\nstart = "a"', "(bad.toml line 3)"),
        ('[a]\nkind = "train"\n[a]\nkind = "train"', "bad.toml: not TOML"),
    ],
)
def test_a_bad_recipe_is_refused(tmp_path: Path, content: str, expected: str) -> None:
    recipe = tmp_path / "bad.toml"
    recipe.write_text(f"{content}\n{RECIPE.partition('[finetune]')[1]}\nkind = 'train'\n", encoding="utf-8")
    task = [] if "tasks" in content else ["--task", "demo"]
    refused(call("run", recipe, *task, "--scale", "small" if "scales" in content else "full"), expected)


def test_numeric_labels_from_one_are_names() -> None:
    result = call("run", "mini.toml", "--task", "numbers.csv", "--model", "encoder", "--lab", "lab")
    assert result.exit_code == 0, result.stderr
    assert "labels 0=1, 1=2, 2=3" in result.stderr


def _cut(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-999])


def _config(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")

    return change


def _write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None  # type: ignore[return-value]


def _without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        pytest.param(_cut, "damaged or cut short", id="weights cut short"),
        pytest.param(_write("model.safetensors", b"garbage" * 99), "damaged or cut short", id="weights of garbage"),
        pytest.param(_write("config.json", b"{"), "config.json is not valid JSON", id="config not JSON"),
        pytest.param(_write("config.json", b"[]"), "must hold an object", id="config a list"),
        pytest.param(_without("model.safetensors"), "model.safetensors", id="no weights"),
        pytest.param(_without("config.json"), "no config.json", id="no config"),
        pytest.param(_without("tokenizer.json"), "no tokenizer", id="no tokenizer"),
        pytest.param(_config(model_type="gpt2"), "the checkpoint is incomplete", id="another family"),
        pytest.param(_config(model_type="own", auto_map={"AutoConfig": "own.Config"}), "never run", id="custom code"),
        pytest.param(_write("tokenizer.json", b"{"), "cannot be loaded", id="tokenizer not JSON"),
        pytest.param(_config(num_attention_heads=5), "cannot be loaded", id="five heads"),
        pytest.param(_config(num_hidden_layers=1), "smaller model", id="fewer layers"),
        pytest.param(_config(id2label={"0": "pos", "1": "pos"}), "two outputs are called `pos`", id="duplicate label"),
        pytest.param(_config(id2label={"0": "LABEL_0", "1": "LABEL_1"}), "--label-map LABEL_0=NAME", id="labels without names"),
    ],
)
def test_a_bad_model_is_refused(world: SimpleNamespace, tmp_path: Path, damage: Callable[[Path], None], expected: str) -> None:
    model = shutil.copytree(world.model, tmp_path / "model")
    damage(model)
    refused(call("evaluate", model, "--task", "ok.csv", "--lab", tmp_path / "lab"), expected)


@pytest.mark.parametrize("command", [["evaluate"], ["attack", "--attack", "deepwordbug"]], ids=["evaluate", "attack"])
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--task", "pairs.csv"], "neg, pos and the task's 0, 1"),
        (["--task", "ok.csv", "--label-map", "neg"], "MODEL_LABEL=TASK_LABEL"),
        (["--task", "ok.csv", "--label-map", "neg=pos"], "two labels of the model stand for `pos`: `neg` (mapped)"),
    ],
    ids=["other labels", "no pair", "to a label that the model has"],
)
def test_labels_that_do_not_match_are_refused_before_a_run_begins(
    world: SimpleNamespace, tmp_path: Path, command: list[str], arguments: list[str], expected: str
) -> None:
    refused(call(command[0], world.model, *command[1:], *arguments, "--lab", tmp_path / "lab"), expected)
    assert not (tmp_path / "lab").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["evaluate", "encoder", "--task", "ok.csv"], "an encoder without a classifier"),
        (["evaluate", "demo", "--task", "ok.csv"], "an encoder without a classifier"),
        (["attack", "MODEL", "--task", "ok.csv"], "--attack"),
        (["attack", "MODEL", "--task", "ok.csv", "--attack", "deepwordbug", "--out", "empty"], "'empty' is a directory"),
        (["attack", "MODEL", "--task", "ok.csv", "--attack", "deepwordbug", "--seed", "-1"], "'--seed'"),
        (["ticket", "info", "SCORES"], "not a ticket"),
        (["ticket", "info", "ok.csv"], "ok.csv: not a ticket"),
        (["ticket", "info", "empty"], "empty/ticket.safetensors: there is no such file"),
        (["ticket", "info", "MODEL/model.safetensors"], "not a ticket"),
        (["ticket", "apply", "TICKET", "distilbert", "--label", "a", "--label", "b", "--out", "out"], "of another structure"),
        (["ticket", "apply", "TICKET", "encoder", "--out", "out"], "`ticketlab ticket apply --labels`"),
        (["ticket", "apply", "TICKET", "MODEL", "--out", "ok.csv"], "'ok.csv' is a file"),
        (["ticket", "apply", "TICKET", "MODEL", "--out", "other"], "other: holds other files"),
        pytest.param(["ticket", "apply", "TICKET", "MODEL", "--out", "."], "holds other files"),
        (["ticket", "apply", "TICKET", "MODEL", "--out", "MODEL"], "is MODEL itself"),
        (["ticket", "apply", "TICKET", "RUN", "--out", "MODEL"], "is MODEL itself"),
        (["ticket", "draw", "SEARCH", "--sparsity", "2", "--out", "out"], "between 0 and 1"),
        (["ticket", "draw", "SEARCH", "--sparsity", "half", "--out", "out"], "--sparsity: 'half' is not a fraction"),
        (["ticket", "draw", "SEARCH", "--like", "ok.csv", "--out", "out"], "ok.csv: not a ticket"),
        (["ticket", "draw", "SEARCH", "--sparsity", "0.3", "--out", "empty"], "'empty' is a directory"),
        (["ticket", "draw", "MODEL", "--sparsity", "0.3", "--out", "out"], "there is no such file"),
    ],
)
def test_a_bad_command_line_for_a_finished_run_is_refused(world: SimpleNamespace, arguments: list[str], expected: str) -> None:
    names = {
        "MODEL": world.model,
        "RUN": world.run,
        "SEARCH": world.stages["search"],
        "SCORES": world.stages["search"] / "scores.safetensors",
        "TICKET": world.stages["draw"] / "ticket.safetensors",
    }
    for name, path in names.items():
        arguments = [str(path) + argument.removeprefix(name) if argument.startswith(name) else argument for argument in arguments]
    weights = (world.model / "model.safetensors").read_bytes()
    refused(call(*arguments, *(["--lab", "lab"] if arguments[0] != "ticket" else [])), expected)
    assert (world.model / "model.safetensors").read_bytes() == weights
    assert not Path("out").exists()


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "header"])
def test_a_damaged_ticket_is_refused(world: SimpleNamespace, tmp_path: Path, damage: str) -> None:
    content = (world.stages["draw"] / "ticket.safetensors").read_bytes()
    changed = {
        "cut": content[:-9],
        "flipped": content[:-1] + bytes([content[-1] ^ 1]),
        "empty": b"",
        "header": b"\xff" * 8 + content[8:],
    }[damage]
    ticket = tmp_path / "ticket.safetensors"
    ticket.write_bytes(changed)
    for command in (["info", ticket], ["apply", ticket, world.model, "--out", tmp_path / "out"]):
        refused(call("ticket", *command), "ticket.safetensors", "damaged")
    assert [file.name for file in tmp_path.iterdir()] == ["ticket.safetensors"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff", b'{"search": {}}', b'{"search": "structure"}'])
def test_a_search_without_its_result_is_refused(world: SimpleNamespace, tmp_path: Path, content: bytes) -> None:
    shutil.copy(world.stages["search"] / "scores.safetensors", tmp_path)
    (tmp_path / "result.json").write_bytes(content)
    refused(call("ticket", "draw", tmp_path, "--sparsity", "0.3", "--out", tmp_path / "out"), "not the result of a search stage")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff", b'{"tasks": {"a": 3}}', b'{"tasks": {"a": {"0": {"e": 3}}}}'])
def test_a_run_with_damaged_results_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "results.json").write_bytes(content)
    refused(call("evaluate", tmp_path, "--task", "ok.csv"), "results.json: not the results of a run, or damaged")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_a_damaged_result_in_the_lab_is_named(world: SimpleNamespace, tmp_path: Path, content: bytes) -> None:
    lab = shutil.copytree(world.root / "lab", tmp_path / "lab")
    result = lab / world.stages["evaluate"].relative_to(world.root / "lab") / "result.json"
    result.write_bytes(content)
    refused(call("run", "mini.toml", "--task", "ok.csv", "--model", "encoder", "--lab", lab), "result.json", code=1)


def test_a_model_with_nan_weights_is_not_evaluated(world: SimpleNamespace, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    model = shutil.copytree(world.model, tmp_path / "model")
    weights = load_file(model / "model.safetensors")
    save_file({name: weight * float("nan") for name, weight in weights.items()}, model / "model.safetensors", {"format": "pt"})
    refused(call("evaluate", model, "--task", "ok.csv", "--lab", tmp_path / "lab"), str(model), code=1)


def test_a_csv_file_that_cannot_be_written_is_reported_before_any_work() -> None:
    run = ["run", "mini.toml", "--task", "ok.csv", "--model", "encoder", "--lab", "lab", "--csv", "ok.csv/numbers.csv"]
    refused(call(*run), "ok.csv/numbers.csv: no file can be written in")


def test_names_in_any_script_work_everywhere(tmp_path: Path) -> None:
    place = tmp_path / "отзывы ⭐ été"
    place.mkdir()
    data = place / "фильмы.csv"
    data.write_text(rows("плохо хорошо").replace("text,label", "текст,метка"), encoding="utf-8")
    recipe = place / "рецепт.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    flags = ["--text-column", "текст", "--label-column", "метка", "--model", "encoder", "--lab", place / "lab"]
    result = call("run", recipe, "--task", data, *flags)
    assert result.exit_code == 0, result.stderr
    assert "0=плохо, 1=хорошо" in result.stderr
    (ticket,) = (place / "lab").glob("runs/*/tickets/*")
    assert ticket.name == "фильмы-draw-seed0.safetensors"
    assert call("ticket", "info", ticket).exit_code == 0


def test_a_tilde_is_expanded_without_a_shell(world: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mini.toml", "ok.csv"):
        shutil.copy(name, tmp_path)
    shutil.copytree("encoder", tmp_path / "encoder")
    (tmp_path / "plugin.py").write_text("", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TICKETLAB_LAB", "~/lab")
    run = ["run", "~/mini.toml", "--task", "~/ok.csv", "--model", "~/encoder", "--plugin=~/plugin.py", "--csv=~/numbers.csv"]
    finished = call(*run)
    assert finished.exit_code == 0, finished.stderr
    assert (tmp_path / "numbers.csv").is_file()
    (found,) = (tmp_path / "lab" / "runs").iterdir()
    written = call("ticket", "export", f"~/lab/runs/{found.name}", "--format=dense", "--out=~/out")
    assert written.exit_code == 0, written.stderr
    drawn = call("ticket", "draw", f"~/lab/runs/{found.name}", "--sparsity", "0.5", "--out=~/half")
    assert drawn.exit_code == 0, drawn.stderr
    assert ticketlab.Ticket.load("~/half").sparsity() == pytest.approx(0.5, abs=0.01)
    assert Lab("~/lab").root == tmp_path / "lab"
    assert not Path("~").exists()


MAIN = "import sys; from ticketlab.cli.main import main; sys.argv[0] = 'ticketlab'; main()"


@pytest.mark.parametrize("arguments", [["plugins"], ["recipes", "show", "fine-tune"]], ids=lambda arguments: arguments[0])
def test_a_closed_stdout_is_not_an_error(arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-c", MAIN, *arguments], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert "error" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 0


def test_a_closed_stderr_does_not_change_the_exit_code() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-c", MAIN, "show", "nothing"], stdout=subprocess.PIPE, stderr=write, check=False)
    os.close(write)
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_full_disk_is_one_line() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", MAIN, "plugins"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr.startswith("error: a disk is full (")
    assert done.returncode == 1


def test_ctrl_c_while_a_command_is_imported_is_one_line() -> None:
    code = f"import sys\nclass Stop:\n    def find_spec(self, *_): raise KeyboardInterrupt\n{MAIN.partition('; main()')[0]}\n"
    code += "sys.meta_path.insert(0, Stop())\nmain()"
    done = subprocess.run([sys.executable, "-c", code, "run", "--task", "demo"], capture_output=True, text=True, check=False)
    assert done.stderr == "interrupted; run the same command again to resume\n"
    assert done.returncode == 130
