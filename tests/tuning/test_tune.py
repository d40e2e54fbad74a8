from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from ticketlab.core.errors import Terminated, TicketlabError, TrainingDiverged, UsageError
from ticketlab.lab.results import read_results
from ticketlab.tuning import tune as tuning
from ticketlab.tuning.trials import Trial, Tuning
from ticketlab.tuning.tune import tune

pytest.importorskip("optuna")
RECIPE = """
[finetune]
kind = "train"
epochs = 1
batch_size = 8
[evaluate]
kind = "evaluate"
model = "finetune"
[attack]
kind = "attack"
model = "finetune"
attacks = ["deepwordbug"]
examples = 2
"""


@pytest.fixture
def arguments(tmp_path: Path, tiny: dict[str, Path]) -> dict[str, Any]:
    """The arguments of a tuning whose trials take a second."""
    (tmp_path / "short.toml").write_text(RECIPE)
    lines = [json.dumps({"text": f"a {'good' if number % 2 else 'bad'} film {number}", "label": number % 2}) for number in range(40)]
    (tmp_path / "films.jsonl").write_text("\n".join(lines))
    settings = {"model": str(tiny["bert"]), "max_length": 32, "precision": "fp32", "attack": ["none"]}
    return {"recipe": str(tmp_path / "short.toml"), "tasks": str(tmp_path / "films.jsonl"), "settings": settings, "lab": tmp_path / "lab"}


def test_each_trial_is_a_run_that_is_measured_on_development_data(arguments: dict[str, Any]) -> None:
    over = {"finetune.lr": "1e-5:1e-1:log", "finetune.batch_size": "4:16"}
    done = tune(**arguments, over=over, metric="dev.clean.accuracy", trials=3)
    assert [trial.number for trial in done.trials] == [0, 1, 2]
    for trial in done.trials:
        results = read_results(arguments["lab"] / "runs" / trial.run / "results.json")
        (stages,) = results["tasks"]["films"].values()
        assert stages["evaluate"]["clean"]["split"] == "dev"
        assert trial.value == stages["evaluate"]["clean"]["accuracy"]
        assert results["overrides"]["finetune.batch_size"] == trial.values["finetune.batch_size"]
        assert isinstance(trial.values["finetune.batch_size"], int)
    assert done.best is not None
    assert done.best.value == max(trial.value or 0 for trial in done.trials)
    assert tune(**arguments, over=over, metric="dev.clean.accuracy", trials=3) == done  # nothing is run again


def test_a_failed_trial_stops_no_other(arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    run = tuning.run

    def sometimes(recipe: Any, *more: Any) -> Any:
        if recipe.stages["finetune"].batch_size == 8:
            raise TrainingDiverged("the loss is not finite")
        return run(recipe, *more)

    monkeypatch.setattr(tuning, "run", sometimes)
    done = tune(**arguments, over={"finetune.batch_size": "8,16"}, metric="dev.clean.accuracy", trials=2)
    assert [(trial.values, trial.error, trial.value is None) for trial in done.trials] == [
        ({"finetune.batch_size": "8"}, "the loss is not finite", True),
        ({"finetune.batch_size": "16"}, "", False),
    ]
    monkeypatch.setattr(tuning, "run", lambda *_: (_ for _ in ()).throw(TrainingDiverged("the loss is not finite")))
    with pytest.raises(TicketlabError, match="all 2 trials failed; the first: the loss is not finite"):
        tune(**arguments, over={"finetune.batch_size": "2,4"}, metric="dev.clean.accuracy", trials=2)


def test_a_trial_that_a_signal_ends_is_run_again(arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def ended(recipe: Any, *_: Any) -> Any:
        tried.append(recipe.stages["finetune"].batch_size)
        raise Terminated("stopped after step 3 of 5 of finetune")

    monkeypatch.setattr(tuning, "run", ended)
    for _ in range(2):
        with pytest.raises(Terminated):
            tune(**arguments, over={"finetune.batch_size": "8,16"}, metric="dev.clean.accuracy", trials=2)
    assert tried == [8, 8]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metric": "clean.accuracy"}, "name a metric of the development split, such as dev.clean.accuracy"),
        ({"metric": "dev.clean.accuraccy"}, "--metric dev.clean.accuraccy: there is no measure `accuraccy`; did you mean `accuracy`"),
        ({"metric": "dev.attack.deepwordbug.auaa"}, "there is no measure `auaa`; did you mean `aua`"),
        ({"metric": "dev.claen.accuracy"}, "`claen` is no kind of metric; did you mean `clean`"),
        ({"metric": "dev.ood.hans.accuracy"}, "challenge sets are evaluated on their test split only"),
        ({"metric": "dev.attack.pwws.aua"}, "the recipe has no attack `pwws`"),
        ({"over": {"finetune.lr": "-1:1"}}, "finetune.lr: must be"),
        ({"over": {"finetune.adversary": "freelb,fgn"}}, "unknown adversary `fgn`; did you mean `fgm`"),
        ({"over": {}}, "nothing to tune"),
        ({"trials": 0}, "must be at least 1"),
        ({"name": "a/b"}, "--name a/b: cannot be the name of a file"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)
def test_what_cannot_be_tuned_is_an_error_before_any_run(arguments: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    known = {"over": {"finetune.lr": "1e-5:1e-3:log"}, "metric": "dev.clean.accuracy", "trials": 2}
    with pytest.raises(UsageError, match=message):
        tune(**arguments, **{**known, **changes})
    assert not (arguments["lab"] / "runs").exists()


def test_the_best_is_the_first_of_the_best_and_its_values_are_options_of_run() -> None:
    trials = tuple(
        Trial(number=number, values={"sparsity": 0.1, "search.pruner.penalty": penalty}, value=value)
        for number, (penalty, value) in enumerate([(1, 0.5), (2, None), (3, 0.7), (4, 0.7)])
    )
    done = Tuning(name="a", path=Path("a.db"), metric="dev.clean.accuracy", lower_is_better=False, trials=trials)
    assert done.flags == ["--sparsity", "0.1", "--set", "search.pruner.penalty=3"]
    lowest = Tuning(name="a", path=Path("a.db"), metric="dev.attack.pwws.suc", lower_is_better=True, trials=trials)
    assert lowest.best == trials[0]


def test_a_model_of_one_class_that_nothing_can_fool_is_not_the_best() -> None:
    trials = (
        Trial(number=0, values={"lr": 1}, value=0.9, one_class="predicts `a` for every example: nothing to fool"),
        Trial(number=1, values={"lr": 2}, value=0.2),
    )
    done = Tuning(name="a", path=Path("a.db"), metric="dev.attack.pwws.aua", lower_is_better=False, trials=trials)
    assert done.best == trials[1]
    assert Tuning(name="a", path=Path("a.db"), metric="a", lower_is_better=False, trials=trials[:1]).best == trials[0]


def test_the_value_of_an_attack_on_a_model_of_one_class_is_marked(arguments: dict[str, Any]) -> None:
    arguments["settings"] = {**arguments["settings"], "attack": ["deepwordbug"], "finetune.lr": 0.5}
    (trial,) = tune(**arguments, over={"finetune.batch_size": "8,16"}, metric="dev.attack.deepwordbug.aua", trials=1).trials
    assert trial.one_class.startswith("predicts `")
    assert trial.value == 0.5  # of the two attacked examples the one of the predicted class is right


def test_the_command_prints_the_trials_and_options_to_copy(
    arguments: dict[str, Any], tiny: dict[str, Path], invoke: Callable[..., Result]
) -> None:
    command = [
        *("tune", arguments["recipe"], "--task", arguments["tasks"], "--model", tiny["bert"], "--max-length", "32", "--precision", "fp32"),
        *("--over", "finetune.batch_size=8,16", "--metric", "dev.clean.accuracy", "--attack", "none", "--lab", arguments["lab"]),
    ]
    result = invoke(*command, "--trials", "3")
    assert result.exit_code == 0, result.stderr
    assert "short-" in result.stdout
    best = json.loads(invoke(*command, "--trials", "3", "--json").stdout)["best"]
    assert result.stdout.splitlines()[-1] == " ".join(best["options"])
    assert best["options"][1] in ("finetune.batch_size=8", "finetune.batch_size=16")
    assert "all 2 combinations of the values were tried" in result.stderr
