"""Every command warns once about input that the model does not see, keeps the warning in the results, and notes it under tables."""

from __future__ import annotations

import importlib.util
import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ticketlab.backbone.loading import load_classifier, save

RECIPE = """
max_length = 8
[bias]
kind = "bias"
model = { name = "claim-only" }
folds = 2
[finetune]
kind = "train"
bias = "bias"
loss = "poe"
epochs = 1
batch_size = 16
[search]
kind = "search"
start = "finetune"
pruner = "magnitude"
[ticket]
kind = "draw"
search = "search"
sparsity = 0.5
[evaluate]
kind = "evaluate"
model = "finetune"
[guesses]
kind = "search"
pruner = "magnitude"
objective = { name = "mlm", text = "TEXT", shortest = 1 }
"""
LOWER = "warning: the tokenizer lower-cases its texts, but "
needs_attacks = pytest.mark.skipif(importlib.util.find_spec("textattack") is None, reason="textattack is not installed")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, tiny: dict[str, Path]) -> Path:
    root = tmp_path_factory.mktemp("seeing")
    long = [f"good film {'good film ' * 4}{number},{number % 2}" for number in range(20)]
    odd = [f"a film \U0001f995 {number},{number % 2}" for number in range(20)]
    (root / "long.csv").write_text("\n".join(["text,label", *long, *[line.replace("good ", "bad ", 1) for line in long], ""]))
    (root / "odd.csv").write_text("\n".join(["text,label", *odd, ""]))
    words = itertools.permutations(("a", "film", "good", "bad", "the"), 2)
    (root / "text.txt").write_text("".join(f"{one} {other} \U0001f995\n\n" for one, other in words))
    (root / "recipe.toml").write_text(RECIPE.replace("TEXT", str(root / "text.txt")))
    model, tokenizer = load_classifier(str(tiny["bert"]), ("0", "1"), 0)
    whole = save(model, tokenizer, root / "model")
    cased = shutil.copytree(whole, root / "cased")
    words = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    for file in cased.glob("*token*"):
        file.unlink()
    (cased / "vocab.txt").write_text("\n".join(word.capitalize() if number % 2 and word.isalpha() else word for word, number in words))
    return root


def evaluated(invoke: Any, *arguments: object) -> tuple[dict[str, Any], list[str]]:
    done = invoke("evaluate", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return next(iter(json.loads(done.stdout)["tasks"].values()))["0"]["evaluate"], done.stderr.splitlines()


def test_truncated_texts_and_unknown_tokens_are_reported_kept_and_reported_again(invoke: Any, world: Path, tmp_path: Path) -> None:
    arguments = (world / "model", "--task", world / "long.csv", "--split", "all", "--ood", world / "odd.csv", "--max-length", 8)
    cut = "long, all: 40 of 40 examples (100.0 %) cut off at 8 tokens (--max-length; the model's maximum is 128), which drops "
    unknown = "odd, test: 22.2 % of the tokens are unknown to the model, with 13.3 % of the characters"  # 1 of 4; 5 with two digits
    for time in ("computed", "found"):
        result, said = evaluated(invoke, *arguments, "--lab", tmp_path)
        assert [line for line in said if line.startswith(f"warning: {cut}")], time
        assert f"warning: {unknown}" in said
        assert any("found in the lab" in line for line in said) == (time == "found")
    assert (result["clean"]["truncated"], result["clean"]["tokens"], result["clean"]["unknown_share"]) == (40, 240, 0)
    assert result["ood"]["odd"]["unknown_tokens"] == 20
    assert result["ood"]["odd"]["tokens"] == 90
    table = invoke("evaluate", *arguments, "--lab", tmp_path).stdout
    assert f"Note: {unknown}" in table


def test_a_run_warns_once_before_it_trains(invoke: Any, world: Path, tiny: dict[str, Path], tmp_path: Path) -> None:
    arguments = ("--task", world / "long.csv", "--model", tiny["bert"], "--lab", tmp_path, "--seeds", 2, "--json")
    done = invoke("run", world / "recipe.toml", *arguments)
    assert done.exit_code == 0, done.stderr
    said = done.stderr.splitlines()
    place = {
        what: [number for number, line in enumerate(said) if line.startswith(f"warning: {what}")] for what in ("long, train", "long, test")
    }
    trained = next(number for number, line in enumerate(said) if line.startswith("long seed 0 finetune"))
    assert [len(lines) for lines in place.values()] == [1, 1]
    assert max(place["long, train"] + place["long, test"]) < trained
    assert sum(line.startswith("warning: text of guesses: 33.3 % of the tokens are unknown") for line in said) == 1
    for stages in json.loads(done.stdout)["tasks"]["long"].values():
        for name, kind in (("finetune", "train"), ("search", "search")):
            assert stages[name][kind]["truncated"] == stages[name][kind]["rows"]
        assert stages["guesses"]["search"]["unknown_share"] == pytest.approx(1 / 3)
        assert len(stages["evaluate"]["input_warnings"]) == 1


def test_a_model_limit_below_max_length_is_reported(invoke: Any, world: Path, tmp_path: Path) -> None:
    _, said = evaluated(invoke, world / "model", "--task", world / "odd.csv", "--split", "all", "--max-length", 512, "--lab", tmp_path)
    assert "the model takes at most 128 tokens, so max_length = 512 has the same effect" in said


def test_a_length_without_room_for_both_texts_is_an_error(invoke: Any, world: Path, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text(
        "premise,hypothesis,label\n" + "".join(f"a {number},b {number},{number % 2}\n" for number in range(20))
    )
    done = invoke("evaluate", world / "model", "--task", tmp_path / "pairs.csv", "--max-length", 4, "--lab", tmp_path / "lab")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith("error: max_length 4: a pair of texts needs 5 tokens or more, 3 of them special ones")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("evaluate", "{cased}"), id="evaluate"),
        pytest.param(("run", "{root}/recipe.toml", "--model", "{cased}", "--seeds", 2), id="run"),
        pytest.param(("attack", "{cased}", "--attack", "deepwordbug", "--n", 2, "--workers", 1), id="attack", marks=needs_attacks),
        pytest.param(("ticket", "export", "{cased}", "--format", "dense", "--out", "{out}"), id="export"),
    ],
)
def test_every_command_warns_once_about_a_lower_cased_cased_checkpoint(
    invoke: Any, world: Path, tmp_path: Path, arguments: tuple[object, ...]
) -> None:
    given = [str(argument).format(cased=world / "cased", root=world, out=tmp_path / "out") for argument in arguments]
    data = [] if given[0] == "ticket" else ["--task", world / "odd.csv", "--split", "all", "--lab", tmp_path / "lab"]
    done = invoke(*given, *(data[:2] + data[4:] if given[0] == "run" else data))
    assert done.exit_code == 0, done.stderr
    assert sum(line.startswith(LOWER) for line in done.stderr.splitlines()) == 1
    if data:
        assert done.stdout.count("Note: the tokenizer lower-cases its texts") == 1


def test_a_run_can_be_given_as_a_model_to_start_from_and_to_evaluate(
    invoke: Any, world: Path, tiny: dict[str, Path], tmp_path: Path
) -> None:
    arguments = ("--task", world / "odd.csv", "--model", tiny["bert"], "--lab", tmp_path / "lab", "--seeds", 2)
    first = invoke("run", world / "recipe.toml", *arguments)
    assert first.exit_code == 0, first.stderr
    (directory,) = (tmp_path / "lab" / "runs").iterdir()
    again = invoke("run", world / "recipe.toml", "--task", world / "odd.csv", "--model", directory, "--lab", tmp_path / "lab", "--json")
    assert again.exit_code == 0, again.stderr
    key = json.loads((directory / "results.json").read_text())["tasks"]["odd"]["0"]["finetune"]["key"]
    assert json.loads(again.stdout)["model"].endswith(f"{key}/model")
    shown = invoke("evaluate", directory, "--task", world / "odd.csv", "--lab", tmp_path / "lab", "--csv", tmp_path / "out.csv")
    assert shown.exit_code == 0, shown.stderr
    assert f"{directory}: finetune, odd, seed 0" in (tmp_path / "out.csv").read_text()
    assert invoke("ticket", "export", directory, "--format", "dense", "--out", tmp_path / "exported").exit_code == 0
    card = (tmp_path / "exported" / "README.md").read_text()
    note = next(line.removeprefix("Note: ") for line in shown.stdout.splitlines() if line.startswith("Note: odd, test"))
    assert f"- {note}" in card
    assert "examples of test; majority class 50.0 %" in card


def test_every_stage_that_reads_the_model_keeps_warnings_about_its_tokenizer_and_weights(invoke: Any, world: Path, tmp_path: Path) -> None:
    arguments = ("--task", world / "odd.csv", "--model", world / "cased", "--lab", tmp_path, "--json")
    stages = json.loads(invoke("run", world / "recipe.toml", *arguments).stdout)["tasks"]["odd"]["0"]
    kept = [name for name, stage in stages.items() if any(LOWER[9:] in message for message in stage.get("input_warnings", ()))]
    assert kept == [name for name in stages if name != "ticket"]  # it reads only weights
