from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ticketlab.report.numbers_table import COLUMNS


def test_a_factor_is_given_once(invoke: Any) -> None:
    result = invoke("ablate", "--task", "demo", "--vary", "sparsity=0.3", "--vary", "sparsity=0.5", "--dry-run")
    assert result.exit_code == 2
    assert "--vary sparsity is given twice; write all values in one: --vary sparsity=VALUE,VALUE" in result.stderr


def test_an_excluded_level_exists(invoke: Any) -> None:
    result = invoke("ablate", "--task", "demo", "--vary", "pruner=magnitude,random", "--exclude", "pruner=randm", "--dry-run")
    assert result.exit_code == 2
    assert "exclude: the factor `pruner` has no level `randm`; did you mean `random`?" in result.stderr


@pytest.mark.parametrize("given", [("--set", "retrain.lr=1e-5"), ("--retrain-adversary", "pgd"), ("--sparsity", "0.2")])
def test_a_key_is_set_or_varied(invoke: Any, given: tuple[str, str]) -> None:
    varied = ["retrain.lr=1e-4,2e-4", "retrain-adversary=none,freelb", "sparsity=0.3,0.5"]
    result = invoke("ablate", "--task", "demo", *(word for text in varied for word in ("--vary", text)), *given, "--dry-run")
    assert result.exit_code == 2
    assert "is both set and varied; remove one of the two" in result.stderr


@pytest.mark.parametrize(
    ("varied", "message"),
    [
        ("search.adversary.steps=1,2", "error: search.adversary.steps=1: the recipe has no stage or setting `search`"),
        (
            "sparsity=0.1,0.3",
            "error: sparsity: the recipe `fine-tune` has no draw stage; its stages are finetune (train), evaluate, attack\n",
        ),
        ("loss=focal,poe", "finetune (train), evaluate, attack (for `finetune`: `--set finetune.loss=NAME`)"),
        ("seed=0,1", "--vary seed: `seed` cannot be varied; --seeds sets the seeds of every cell"),
        ("spersity=0.1,0.3", "--vary spersity: `spersity` is neither a flag of `run` nor a path as in --set; did you mean `sparsity`?"),
    ],
)
def test_a_key_is_named_as_it_was_written(invoke: Any, varied: str, message: str) -> None:
    result = invoke("ablate", "fine-tune", "--task", "demo", "--vary", varied, "--dry-run")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_file_with_the_numbers_of_another_run_is_refused_before_anything_is_computed(
    invoke: Any, tmp_path: Path, tiny: dict[str, Path]
) -> None:
    numbers = tmp_path / "numbers.csv"
    numbers.write_text(",".join(COLUMNS) + "\n" + ",".join("other" for _ in COLUMNS) + "\n")
    result = invoke(
        "ablate", "fine-tune", "--task", "demo", "--model", tiny["bert"], "--vary", "epochs=1,2", "--attack", "none",
        "--lab", tmp_path / "lab", "--csv", numbers,
    )  # fmt: skip
    assert result.exit_code == 2
    assert "holds the numbers of another run (other)" in result.stderr
    assert not (tmp_path / "lab" / "stages").exists()


def test_a_dry_run_checks_and_describes_the_data_as_a_run_does(invoke: Any, tmp_path: Path, tiny: dict[str, Path]) -> None:
    lines = ["text,label", *(f"a {'good' if number % 2 else 'bad'} film {number % 60},{number % 2}" for number in range(100))]
    (tmp_path / "films.csv").write_text("\n".join(lines))
    command = ["ablate", "fine-tune", "--task", tmp_path / "films.csv", "--model", tiny["bert"], "--vary", "epochs=1,2", "--dry-run"]
    result = invoke(*command, "--attack", "none")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("texts from text; labels 0=0, 1=1") == 1
    assert result.stderr.count("warning: films: ") >= 1
    assert "2 cells; " in result.stderr
    wrong = invoke(*command, "--attack", "none", "--ood", "demo_nli_ood")
    assert wrong.exit_code == 2
    missing = invoke(*command, "--attack", "textfooler", "--word-vectors", tmp_path / "none.txt")
    assert (missing.exit_code, missing.stdout.count("epochs=")) == (0, 2)
    assert "note: --attack textfooler: " in missing.stderr


def test_a_dry_run_says_whether_the_cells_can_decide_the_hypotheses(invoke: Any, tmp_path: Path, tiny: dict[str, Path]) -> None:
    path = tmp_path / "epochs.toml"
    claim = '[[hypotheses]]\nclaim = "Longer is better."\nof = "2"\nthan = "1"\nmetric = "clean.accuracy"\nexpect = "higher"\n'
    path.write_text(f'recipes = ["fine-tune"]\ntasks = ["demo"]\nseeds = 3\nvary.epochs = [1, 2]\n{claim}')
    command = ["ablate", path, "--model", tiny["bert"], "--lab", tmp_path / "lab", "--dry-run"]
    result = invoke(*command)
    assert result.exit_code == 0, result.stderr
    line = "hypothesis `Longer is better.`: epochs=2 against epochs=1: clean.accuracy higher: 3 seeds show a difference of 3.3 standard dev"
    assert line in result.stdout
    assert "cannot be decided: one seed decides nothing" in invoke(*command, "--seeds", 1).stdout
    (found,) = json.loads(invoke(*command, "--json").stdout)["hypotheses"]
    assert (found["pairs"], found["decidable"]) == ([["epochs=2", "epochs=1"]], True)
    path.write_text(path.read_text().replace("clean.accuracy", "ood.hans.accuracy"))
    wrong = invoke(*command)
    assert wrong.exit_code == 2
    assert "hypothesis `Longer is better.`: no stage of the recipe `fine-tune` measures `ood.hans.accuracy`" in wrong.stderr
