"""SRNets from the command line, on a tiny model and small files: the output, and the messages for mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ticketlab.backbone.loading import load_finished

Sets = SimpleNamespace
Tiny = dict[str, Path]
NLI = ("entailment", "neutral", "contradiction")
FAST = {
    "srnet": ("finetune", "search"),
    "srnet-dense": ("finetune",),
    "srnet-pretrained": ("search",),
}
"""The stages of each recipe that are shortened to one epoch."""


def pairs(path: Path, rows: int, labels: tuple[str | int, ...], shift: int = 0, **columns: tuple[str, ...]) -> Path:
    words = ("cat", "dog", "man", "boy", "girl", "ball", "tree", "road", "house", "car")
    lines = []
    for number in range(rows):
        first = f"the {words[(number + shift) % 10]} sees the {words[number // 10 % 10]} {number}"
        own = {name: values[number % len(values)] for name, values in columns.items()}
        lines.append({"premise": first, "hypothesis": f"a {words[number % 7]} is there", "label": labels[number % len(labels)], **own})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path.parent


@pytest.fixture
def sets(tmp_path: Path) -> SimpleNamespace:
    return SimpleNamespace(
        nli=pairs(tmp_path / "nli" / "train.jsonl", 90, NLI),
        hans=pairs(tmp_path / "hans" / "validation.jsonl", 40, ("entailment", "non-entailment"), 3, heuristic=("overlap", "subsequence")),
        fever=pairs(tmp_path / "symmetric" / "validation.jsonl", 20, ("SUPPORTS", "REFUTES"), 5),
        lab=tmp_path / "lab",
    )


def run(invoke: Any, tiny: Tiny, sets: Sets, recipe: str, *more: str | Path) -> Any:
    common = ("--task", sets.nli, "--model", tiny["bert"], "--scale", "small", "--lab", sets.lab, "--max-length", "32")
    fast = [word for stage in FAST[recipe] for word in ("--set", f"{stage}.epochs=1")]
    return invoke("run", recipe, *common, *fast, *more)


def test_a_run_shows_each_challenge_set_with_its_majority_and_its_subsets(invoke: Any, tiny: Tiny, sets: Sets) -> None:
    fever = ("--ood", sets.fever, "--ood-map", "entailment=SUPPORTS", "--ood-map", "contradiction=REFUTES")
    result = run(invoke, tiny, sets, "srnet", "--ood", sets.hans, *fever, "--seeds", "2")
    assert result.exit_code == 0, result.stderr
    assert "hans under nli: entailment is entailment; non-entailment is contradiction or neutral" in result.stderr
    assert "bias: `overlap` has an accuracy of" in result.stderr
    assert "symmetric under nli: REFUTES is contradiction; SUPPORTS is entailment" in result.stderr
    for words in ("majority class", "hans by heuristic", "subsequence", "hans: classes", "symmetric: classes"):
        assert words in result.stdout, words
    found = json.loads(run(invoke, tiny, sets, "srnet", "--ood", sets.hans, *fever, "--seeds", "2", "--json").stdout)
    evaluated = found["tasks"]["nli"]["1"]["evaluate"]["ood"]
    assert (evaluated["hans"]["n"], evaluated["symmetric"]["n"]) == (40, 20)
    assert sum(evaluated["symmetric"]["predicted"].values()) + evaluated["symmetric"]["outside"] == 20


def test_a_finished_model_is_evaluated_on_challenge_sets(invoke: Any, tiny: Tiny, sets: Sets) -> None:
    run(invoke, tiny, sets, "srnet-dense")
    model = next((sets.lab / "runs").iterdir())
    result = invoke("evaluate", model, "--task", sets.nli, "--ood", sets.hans, "--lab", sets.lab)
    assert result.exit_code == 0, result.stderr
    assert "hans" in result.stdout


def test_a_ticket_gives_its_classifier_to_an_encoder_without_one(invoke: Any, tiny: Tiny, sets: Sets, tmp_path: Path) -> None:
    run(invoke, tiny, sets, "srnet-pretrained")
    ticket = next((sets.lab / "runs").glob("*/tickets/*.safetensors"))
    assert "classifier: for contradiction, entailment, neutral" in invoke("ticket", "info", ticket).stdout
    result = invoke("ticket", "apply", ticket, tiny["bert"], "--out", tmp_path / "whole")
    assert result.exit_code == 0, result.stderr
    assert "warning" not in result.stderr
    done = next((sets.lab / "runs").iterdir())
    key = json.loads((done / "results.json").read_text())["tasks"]["nli"]["0"]["search"]["key"]
    ours, theirs = (load_finished(str(place))[0] for place in (tmp_path / "whole", sets.lab / "stages" / key[:2] / key / "model"))
    state = theirs.state_dict()
    assert all((value == state[name]).all() for name, value in ours.state_dict().items())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        pytest.param(["--ood-map", "neutral=nothing"], "no challenge set (hans) has a label `nothing`", id="label of no set"),
        pytest.param(
            ["--ood-map", "neutrl=non-entailment"],
            "the task has no label `neutrl`; did you mean `neutral`?",
            id="unknown label of the task",
        ),
        pytest.param(["--ood-map", "neutral"], "TASK_LABEL=OOD_LABEL", id="not a pair"),
        pytest.param(["--ood", "./nowhere/pans"], "nowhere/pans: there is no such file or folder", id="no such set"),
        pytest.param(["--bias", "overlop"], "did you mean `overlap`?", id="no such bias model"),
        pytest.param(["--bias", "nowhere/bias.jsonl"], "nowhere/bias.jsonl", id="no such file"),
        pytest.param(["--search-loss", "poee"], "did you mean `poe`?", id="no such loss"),
        pytest.param(["--sparsity", "0.9", "--set", "search.pruner.initial_sparsity=0.95"], "initial_sparsity", id="sparsity falls"),
        pytest.param(["--pruner", "imp", "--sparsity", "0.9", "--set", "search.pruner.interval=0.5"], "interval", id="no time"),
        pytest.param(["--set", "search.start=finetune@9999"], "there is no checkpoint at 9999", id="no such checkpoint"),
        pytest.param(["--search-loss", "cross-entropy", "--set", "search.mix_ood=1"], "set train_share", id="nothing to mix in"),
    ],
)
def test_a_mistake_gives_one_line_that_says_what_to_do(more: list[str], message: str, invoke: Any, tiny: Tiny, sets: Sets) -> None:
    result = run(invoke, tiny, sets, "srnet", "--ood", sets.hans, *more)
    assert result.exit_code in (1, 2)
    assert message in result.stderr
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in result.stderr


def test_labels_that_do_not_match_are_refused_before_training(invoke: Any, tiny: Tiny, sets: Sets) -> None:
    result = run(invoke, tiny, sets, "srnet", "--ood", sets.fever)
    assert result.exit_code == 2
    assert "no label of the task maps to `REFUTES`, `SUPPORTS`" in result.stderr
    assert "--ood-map TASK_LABEL=OOD_LABEL" in result.stderr
    assert not (sets.lab / "stages").exists()


def test_unlabelled_rows_of_a_challenge_set_are_counted(invoke: Any, tiny: Tiny, sets: Sets, tmp_path: Path) -> None:
    own = pairs(tmp_path / "gaps" / "validation.jsonl", 40, ("entailment", "non-entailment", -1, "entailment"))
    result = run(invoke, tiny, sets, "srnet-dense", "--ood", own, "--json")
    found = json.loads(result.stdout)["tasks"]["nli"]["0"]["evaluate"]["ood"]["gaps"]
    assert (found["n"], found["dropped"]) == (30, {"unlabelled": 10})
    assert "10 rows dropped (unlabelled)" in result.stderr


def test_ids_that_do_not_match_the_bias_file_are_an_error(invoke: Any, tiny: Tiny, sets: Sets, tmp_path: Path) -> None:
    file = tmp_path / "bias.jsonl"
    third = {"entailment": 0.4, "neutral": 0.3, "contradiction": 0.3}
    file.write_text("\n".join(json.dumps({"id": f"row-{number}", **third}) for number in range(90)))
    result = run(invoke, tiny, sets, "srnet", "--ood", sets.hans, "--bias", file)
    assert result.exit_code in (1, 2)
    assert "bias.jsonl" in result.stderr.splitlines()[-1]
    assert "row-0" in result.stderr or "train-" in result.stderr
