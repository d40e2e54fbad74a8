"""Every wrong command line ends with an exit code and one line on stderr that says what is wrong and names the nearest valid choice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ticketlab.cli import run_recipe
from ticketlab.core.errors import Interrupted, TicketlabError

RECIPE = """
[finetune]
kind = "train"
epochs = 1

[search]
kind = "search"
start = "finetune"

[search.pruner]
name = "hard-concrete"
penalti = 2
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(RECIPE, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["rum"], ["`ticketlab rum`", "did you mean `run`?"], id="command"),
        pytest.param(["ticket", "inf", "x"], ["did you mean `info`?"], id="subcommand"),
        pytest.param(["run", "--sparcity", "0.3"], ["`--sparcity`", "did you mean `--sparsity`?"], id="option"),
        pytest.param(["run", "--warmup", "0"], ["--set finetune.warmup=0.1, --set search.warmup=0.1"], id="option for a setting"),
        pytest.param(["run", "--learning-rate", "1"], ["did you mean `--lr`?"], id="name of another library"),
        pytest.param(["run", "robust-ticket", "--lambda", "1"], ["--set search.pruner.penalty=0.5"], id="option for a symbol"),
        pytest.param(["attack", "x", "--batchsize", "1"], ["unknown option `--batchsize` (`ticketlab attack"], id="unknown option"),
        pytest.param(["run", "--device", "cpu"], ["`--device`; the environment variable TICKETLAB_DEVICE sets it"], id="device"),
        pytest.param(["evaluate", "--model", "x"], ["`--model`; MODEL is an argument: write it without `--model`"], id="argument"),
        pytest.param(["run", "--seeds", "0,1"], ["'0,1' is not a number of seeds; 3 runs the seeds 0, 1 and 2"], id="list of seeds"),
        pytest.param(["show", "imp"], ["`imp` is not a kind: write `ticketlab show pruner imp`"], id="component without kind"),
        pytest.param(["show", "srnet"], ["`srnet` is not a kind: write `ticketlab recipes show srnet`"], id="recipe as kind"),
        pytest.param(["run", "--lab", ""], ["invalid value for '--lab': the path is empty"], id="empty path"),
        pytest.param(["run", "--task", "demo", "--model", "a\0b"], ["a path cannot contain a NUL character"], id="NUL in a path"),
        pytest.param(["run", "x" * 1_000_000], ["unknown recipe `xxx", "xxx ... ", "ends in .toml"], id="a megabyte"),
        pytest.param(["run", "--xyz", "1"], ["unknown option `--xyz` (`"], id="unknown short option"),
        pytest.param(
            ["run", "--seed", "1", "--seed=2"], ["--seed is given more than once", "run the command once for each"], id="option twice"
        ),
        *(
            pytest.param(["run", *given], [message], id=" ".join(given))
            for given, message in [
                (
                    ["--sparsity", "0.1", "--sparsity=0.3"],
                    "--sparsity is given more than once but takes one value; to compare several: ticketlab ablate --vary sparsity=0.1,0.3",
                ),
                (
                    ["--sparsity", "0.1,0.3"],
                    "--sparsity 0.1,0.3: takes one value; to compare several: ticketlab ablate --vary sparsity=0.1,0.3",
                ),
                (["--pruner=imp, random"], "ticketlab ablate --vary pruner=imp,random"),
                (["--heads", "1/6,1/3"], "ticketlab ablate --vary heads=1/6,1/3"),
                (["--n", "10,20"], "ticketlab ablate --vary n=10,20"),
                (["--scope", "global,local"], "ticketlab ablate --vary scope=global,local"),
                (["--retrain-loss", "poe", "--retrain-loss", "focal"], "ticketlab ablate --vary retrain-loss=poe,focal"),
                (["--scale", "small", "--scale", "demo"], "ticketlab ablate --vary scale=small,demo"),
                (["--task", "demo", "--text", "./a,b.txt"], "the recipe `ticket` has no stage whose objective is `mlm`"),
            ]
        ),
        pytest.param(
            ["ticket", "draw", "x", "--keep-a-head", "--no-keep-a-head"],
            ["--keep-a-head is given more than once"],
            id="flag and its opposite",
        ),
        pytest.param(["run", "--n", "few"], ["'--n'", "few", "ticketlab run --help"], id="option value"),
        pytest.param(["attack"], ["MODEL"], id="argument missing"),
        pytest.param(["run"], ["--task", "ticketlab show task"], id="no task"),
        pytest.param(["run", "--task", "demoo"], ["task `demoo`", "did you mean `demo`?"], id="task"),
        pytest.param(["attack", "x", "--split", "tset"], ["'--split'", "did you mean `test`?"], id="choice"),
        pytest.param(["run", "--task", "./nowhere.csv", "--dry-run", "--set", "x=1"], ["x"], id="set of an unknown path"),
        pytest.param(["run", "--text-column", "text"], ["--task"], id="column without task"),
        pytest.param(["run", "robust-tiket", "--task", "demo"], ["did you mean `robust-ticket`?"], id="recipe"),
        pytest.param(["run", "recipe.yml", "--task", "demo"], ["recipe.yml"], id="recipe.yml"),
        pytest.param(["run", "./recipe.toml", "--task", "demo"], ["recipe.toml: there is no such file"], id="recipe file"),
        pytest.param(["run", "--task", "demo", "--scale", "smal"], ["did you mean `small`?"], id="scale"),
        pytest.param(["run", "--task", "demo", "--seed", "1", "--seeds", "2"], ["--seed", "--seeds"], id="seed and seeds"),
        pytest.param(["run", "--task", "demo", "--pruner", "magnitud"], ["search.pruner", "did you mean `magnitude`?"], id="pruner"),
        pytest.param(["run", "--task", "demo", "--attack", "textfoler"], ["attack.attacks[0]", "did you mean `textfooler`?"], id="attack"),
        pytest.param(["run", "--task", "demo", "--sparsity", "7"], ["search.sparsity", "at most 1"], id="sparsity"),
        pytest.param(["run", "--task", "demo", "--sparsity", "a/b"], ["a/b"], id="not a fraction"),
        pytest.param(["run", "--task", "demo", "--set", "search.pruner.penalti=2"], ["search.pruner.penalti", "`penalty`"], id="set"),
        pytest.param(["run", "--task", "demo", "--set", "serch.lr=2"], ["serch", "did you mean `search`?"], id="set stage"),
        pytest.param(["run", "--task", "demo", "--set", "search.lr"], ["path=value"], id="set without value"),
        pytest.param(["run", "--task", "demo", "--encoder", "demo"], ["--encoder", "deepwordbug"], id="unused resource"),
        pytest.param(["--plugin", "nowhere.py", "plugins"], ["nowhere.py: there is no such file"], id="plugin file"),
        pytest.param(["show", "prunner"], ["did you mean `pruner`?"], id="kind"),
        pytest.param(["show", "pruner", "hard-concret"], ["did you mean `hard-concrete`?"], id="component"),
        pytest.param(["show", "stage", "trains"], ["did you mean `train`?"], id="stage kind"),
        pytest.param(["evaluate", "bert", "--task", "demo"], ["bert: neither a folder here", "owner/name"], id="model"),
        pytest.param(["evaluate", "./bert"], ["--task"], id="evaluate without task"),
        pytest.param(["ticket", "info", "nowhere.safetensors"], ["there is no such file"], id="ticket"),
        pytest.param(["ticket", "draw", "nowhere", "--sparsity", "0.3", "--out", "x"], ["nowhere", "result.json"], id="scores"),
        pytest.param(["ticket", "draw", "nowhere", "--out", "x"], ["--sparsity", "--like"], id="draw without a sparsity"),
    ],
)
def test_wrong_usage_is_one_line(invoke: Any, arguments: list[str], expected: list[str]) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for part in expected:
        assert part in result.stderr


def test_a_flag_for_a_missing_stage_lists_the_stages(invoke: Any) -> None:
    general = invoke("run", "fine-tune", "--task", "demo", "--pruner", "random").stderr
    named = invoke("run", "fine-tune", "--task", "demo", "--retrain-adversary", "freelb").stderr
    assert "--pruner: the recipe `fine-tune` has no search stage" in general
    assert "--retrain-adversary: the recipe `fine-tune` has no stage `retrain`" in named
    assert "finetune (train), evaluate, attack" in general
    assert "(for `finetune`: `--set finetune.adversary=NAME`)" in named


def test_an_unknown_setting_in_a_file_has_its_line(invoke: Any, recipe: Path) -> None:
    result = invoke("run", recipe, "--task", "demo", "--dry-run")
    assert result.exit_code == 2
    assert "search.pruner.penalti" in result.stderr
    assert "did you mean `penalty`?" in result.stderr
    assert "(mine.toml line 12)" in result.stderr


@pytest.mark.parametrize("content", ["", "# nothing\n", 'summary = "empty"\n', "[scales.small.search]\nepochs = 1\n"])
def test_an_empty_recipe_is_reported_as_empty(invoke: Any, tmp_path: Path, content: str) -> None:
    path = tmp_path / "empty.toml"
    path.write_text(content, encoding="utf-8")
    result = invoke("run", path, "--task", "demo")
    assert result.exit_code == 2
    assert "empty.toml: an empty recipe" in result.stderr


def test_a_recipe_that_is_not_toml_is_named(invoke: Any, tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("stages:\n  - train\n", encoding="utf-8")
    assert "broken.toml: not TOML" in invoke("run", path, "--task", "demo").stderr


@pytest.mark.parametrize(
    ("problem", "code", "expected"),
    [
        pytest.param(TicketlabError("disk\nfull"), 1, "error: disk full\n", id="an error of ours"),
        pytest.param(ValueError("odd\nvalue"), 1, "error: internal: ValueError: odd value (set TICKETLAB_DEBUG=1", id="a bug"),
        pytest.param(
            OSError(28, "No space left on device", "lab/x"), 1, "error: lab/x cannot be written: no space is left (", id="the disk"
        ),
        pytest.param(KeyboardInterrupt(), 130, "interrupted; run the same command again to resume", id="ctrl-c"),
        pytest.param(
            Interrupted("stopped after step 3 of finetune"), 130, "stopped after step 3 of finetune; run the same", id="ctrl-c, saved"
        ),
    ],
)
def test_failures_of_a_run(invoke: Any, monkeypatch: pytest.MonkeyPatch, problem: BaseException, code: int, expected: str) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise problem

    monkeypatch.setattr(run_recipe, "run_in_lab", fail)
    result = invoke("run", "--task", "demo")
    assert result.exit_code == code
    assert result.stderr.startswith(expected)
    assert result.stderr.count("\n") == 1


def test_the_debug_traceback_has_control_characters_escaped(invoke: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        try:
            raise KeyError("label \x1b[2J")
        except KeyError as problem:
            raise ValueError("file \x1b]0;title\x07\u202e\ud800") from problem

    monkeypatch.setenv("TICKETLAB_DEBUG", "1")
    monkeypatch.setattr(run_recipe, "run_in_lab", fail)
    stderr = invoke("run", "--task", "demo").stderr
    assert stderr.startswith("Traceback (most recent call last):\n")
    assert r"label \x1b[2J" in stderr
    assert r"ValueError: file \x1b]0;title\x07\u202e\ud800" in stderr
    assert not set("\x1b\x07\u202e") & set(stderr)
