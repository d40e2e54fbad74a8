"""Equal work is one run, however it was requested; a name is refused if it belongs to other work."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from ticketlab.backbone.device import pick_precision
from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab.active_runs import active_runs
from ticketlab.recipes.compose import compose
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs.run import directory_name, run
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.demo.reviews import DemoTask

FAST = ("search", "draw", "retrain", "attack")


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [f'{{"text": "text {number} {"good" if number % 2 else "bad"}", "label": "{number % 2}"}}\n' for number in range(40)]
    folder = tmp_path_factory.mktemp("data") / "reviews"
    folder.mkdir()
    (folder / "train.jsonl").write_text("".join(rows), encoding="utf-8")
    return folder


@pytest.fixture
def request_run(tiny: dict[str, Path], reviews: Path) -> Any:
    """Compose a recipe with a local task; the arguments replace the defaults."""

    def make(recipe: str | Path = "robust-ticket", **settings: Any) -> Recipe:
        defaults = {"tasks": str(reviews), "model": str(tiny["bert"]), "seeds": 1, "attacks": ["none"], "precision": "fp32"}
        return compose(recipe, **{**defaults, **settings})

    return make


def test_it_does_not_depend_on_how_the_work_was_requested(
    request_run: Any, tiny: dict[str, Path], reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = request_run(sparsity=0.5, pruner="magnitude")
    dumped = tmp_path / "mine.toml"
    dumped.write_text(wanted.to_toml(), encoding="utf-8")
    shutil.copytree(tiny["bert"], tmp_path / "copy")
    monkeypatch.chdir(reviews.parent)
    requests = {
        "sets": request_run(sets=["draw.sparsity=0.5", "search.pruner.name=magnitude"]),
        "seed": request_run(sparsity=0.5, pruner="magnitude", seeds=[0]),
        "dumped file": compose(dumped),
        "relative path": request_run(sparsity="1/2", pruner="magnitude", tasks="./reviews/"),
        "declared columns": request_run(
            sparsity=0.5, pruner="magnitude", tasks=LocalDataset(path="reviews", text_columns=("text",), label_column="label")
        ),
        "limit above the number of rows": request_run(sparsity=0.5, pruner="magnitude", sets="train_rows=10000"),
        "copy of the model": request_run(sparsity=0.5, pruner="magnitude", model=str(tmp_path / "copy")),
    }
    digest = directory_name(wanted, tmp_path)[-10:]
    assert {how: directory_name(recipe, tmp_path)[-10:] for how, recipe in requests.items()} == dict.fromkeys(requests, digest)


def test_it_depends_on_the_precision_that_is_used_here(request_run: Any, tmp_path: Path) -> None:
    one, other = (request_run(precision=precision) for precision in ("auto", pick_precision("auto")))
    assert directory_name(one, tmp_path)[-10:] == directory_name(other, tmp_path)[-10:]


def test_settings_without_effect_do_not_distinguish_runs(request_run: Any, tmp_path: Path) -> None:
    recipe = request_run(pruner="magnitude")
    search = recipe.stages["search"]
    assert "lr" in search.unused()
    other = evolve(recipe, stages={**recipe.stages, "search": evolve(search, lr=0.123)})
    assert directory_name(other, tmp_path)[-10:] == directory_name(recipe, tmp_path)[-10:]


@pytest.mark.parametrize(
    "settings",
    [{"sparsity": 0.4}, {"pruner": "random"}, {"seeds": 2}, {"seeds": [1]}, {"max_length": 64}, {"sets": "retrain.epochs=1"}],
    ids=["sparsity", "pruner", "seeds", "seed", "max_length", "epochs"],
)
def test_other_work_has_another_digest(request_run: Any, settings: dict[str, Any], tmp_path: Path) -> None:
    assert directory_name(request_run(**settings), tmp_path)[-10:] != directory_name(request_run(), tmp_path)[-10:]


def test_the_second_command_finds_the_directory_of_the_first(make_recipe: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = make_recipe("evaluate.model=finetune", without=FAST)
    first = run(recipe, tmp_path, name="first")
    assert first.directory == tmp_path / "runs" / "first"
    unnamed = run(evolve(recipe, name="another"), tmp_path)
    assert unnamed.directory == first.directory
    assert unnamed.results == first.results  # with the first label
    assert "another: the same work as the run first, which keeps its label: small" in capsys.readouterr().err
    again = run(recipe, tmp_path, name="second")
    assert again.directory == first.directory
    assert "the lab has this work already, as the run first; `second` is a further name of it" in capsys.readouterr().err
    assert files.read_json(first.directory / "run.json")["names"] == ["second"]
    other = evolve(recipe, tasks=(DemoTask(rows=40, dev_rows=12, test_rows=24),))
    for name in ("first", "second"):
        with pytest.raises(UsageError, match=rf"^--name {name}: \S+/runs/first is the run of other work \(small on demo\); choose another"):
            run(other, tmp_path, name=name)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["first"]


@pytest.mark.parametrize("name", ["", "a/b", ".hidden", "latest", "demo", "robust-ticket", "x" * 101, "con", "a b", "mine-0123456789"])
def test_a_name_that_cannot_be_used_is_refused_before_anything_runs(make_recipe: Any, name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--name "):
        run(make_recipe(), tmp_path, name=name)
    assert not list(tmp_path.iterdir())


def test_a_run_is_registered_with_its_stages_while_it_runs(make_recipe: Any, tmp_path: Path) -> None:
    seen: list[Any] = []

    def starting(task: str, stage: str, key: str) -> None:
        (active,) = active_runs(tmp_path)
        seen.append((active.run, key in active.keys))

    done = run(make_recipe("evaluate.model=finetune", without=FAST), tmp_path, starting=starting)
    assert seen == [(done.directory.name, True)] * 2
    assert active_runs(tmp_path) == []
    assert done.results["digest"] == files.read_json(done.directory / "run.json")["digest"]
    evaluate = done.results["tasks"]["demo"]["0"]["evaluate"]
    assert evaluate["input_keys"] == {"model": done.results["tasks"]["demo"]["0"]["finetune"]["key"]}
