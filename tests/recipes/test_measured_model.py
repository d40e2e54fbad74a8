"""A model of a run is measured on the run's own data, unless other data is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.recipes.compose import compose
from ticketlab.recipes.measured_model import choose_data, find_model
from ticketlab.runs.measure import evaluate
from ticketlab.runs.run import Run, run
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.demo.reviews import DemoTask


def write(path: Path, rows: int = 40, words: str = "good bad") -> None:
    """Write a csv file with two columns of text and two labels."""
    lines = [f"{words.split()[number % 2]} {number},other {number},{'yn'[number % 2]}" for number in range(rows)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["review,title,stars", *lines]), encoding="utf-8")


@pytest.fixture(scope="module")
def trained(tiny: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of two seeds on a local file with a relative path, with a challenge set, started in another directory."""
    place = tmp_path_factory.mktemp("started-here")
    write(place / "data" / "reviews.csv")
    write(place / "data" / "hard.csv", words="bad good")
    task = LocalDataset(path="data/reviews.csv", text_columns=("review",), label_column="stars", positive_label="y")
    ood = LocalDataset(path="data/hard.csv", text_columns=("review",), label_column="stars")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(place)
        settings: dict[str, Any] = {
            "model": str(tiny["bert"]),
            "scale": "small",
            "precision": "fp32",
            "attacks": ["none"],
            "max_length": 32,
        }
        recipe = compose("fine-tune", tasks=task, ood=ood, seeds=2, sets=["finetune.epochs=1", "train_rows=10"], **settings)
        return run(recipe, place / "lab", name="mine")


def test_evaluate_takes_the_data_of_the_run(trained: Run, capsys: pytest.CaptureFixture[str]) -> None:
    lab = trained.directory.parent.parent
    found = evaluate("mine", lab=lab, run_seed=1)
    own = trained.results["tasks"]["reviews"]["1"]["evaluate"]
    assert found.metrics() == own["clean"]
    assert found.results["tasks"]["reviews"]["0"]["evaluate"]["ood"]["hard"] == own["ood"]["hard"]
    assert found.results["data"]["reviews"] == trained.results["data"]["reviews"]
    said = capsys.readouterr().err
    assert "from the run mine: task reviews (texts from review; labels n, y), challenge set hard\n" in said
    assert "not the data of" not in said
    assert "holds several models" not in said


def test_other_challenge_sets_replace_those_of_the_run(trained: Run) -> None:
    model = find_model(str(trained.directory))
    chosen = choose_data(model, (), [DemoTask()], ["y=positive"], takes_ood=True)
    assert ([task.label for task in chosen.tasks], [task.label for task in chosen.ood]) == (["reviews"], ["demo"])
    assert chosen.ood_map == ("y=positive",)
    assert choose_data(model, ()).ood == ()  # an attack uses none
    named = choose_data(model, [DemoTask()], takes_ood=True)
    assert (named.tasks, named.ood, named.run) == ((DemoTask(),), (), None)


def test_changed_data_is_a_warning(trained: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = choose_data(find_model(str(trained.directory)), ())
    data = trained.results["data"]
    chosen.warn_if_changed({"data": {"reviews": {**data["reviews"], "fingerprint": "another"}, "hard": data["hard"]}})
    assert f"warning: reviews: not the data of {trained.directory}: its files, or how they are read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": 7}, r"the run measured no model of seed 7; its seeds are 0, 1$"),
        ({"task": "revews"}, r"the run measured no model of the task `revews`; did you mean `reviews`\?$"),
    ],
)
def test_a_model_that_the_run_has_not_is_an_error(trained: Run, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_model(str(trained.directory), **arguments)


def test_a_seed_of_something_else_than_a_run_is_an_error(tiny: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match=r"^--run-seed 1: selects from a run, and \S+ is not a run; remove the option$"):
        find_model(str(tiny["bert"]), seed=1)


def test_a_recipe_that_cannot_be_read_asks_for_the_task(trained: Run, tmp_path: Path) -> None:
    copy = tmp_path / "lab" / "runs" / "copy"
    copy.mkdir(parents=True)
    (tmp_path / "lab" / "stages").symlink_to(trained.directory.parent.parent / "stages")
    files.write_json(copy / "results.json", trained.results)
    (copy / "recipe.toml").write_text('[finetune]\nkind = "nothing"\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"recipe\.toml: cannot be read \(.*\); name the task with --task$"):
        choose_data(find_model(str(copy), seed=0), ())
