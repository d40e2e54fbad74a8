from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from ticketlab.core.errors import UsageError
from ticketlab.core.settings import to_table
from ticketlab.recipes.compose import compose
from ticketlab.recipes.recipe import Recipe, build_recipe
from ticketlab.tasks.datasets.local import LocalDataset

RECIPE = """
model = "demo"

[first]
kind = "train"
epochs = 2

[search]
kind = "search"
start = "first"
pruner = { name = "hard-concrete", penalty = 0.7 }

[other]
kind = "search"
pruner = "random"

[draw]
kind = "draw"
search = "search"

[control]
kind = "draw"
search = "other"

[attack]
kind = "attack"
model = "first"
attacks = [{ name = "deepwordbug", max_edit_distance = 7 }]

[per_task.demo.first]
epochs = 4

[scales.small.first]
lr = 0.5
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(RECIPE, encoding="utf-8")
    return path


def _stage(recipe: Recipe, name: str) -> dict[str, Any]:
    return to_table(recipe.stages[name])


def test_the_recipe_is_ticket_if_none_is_named() -> None:
    assert compose(tasks=["demo"]).name == "ticket"


def test_own_settings_of_task_and_scale_come_first(recipe: Path) -> None:
    composed = compose(recipe, tasks=["demo"], scale="small")
    assert (_stage(composed, "first")["epochs"], _stage(composed, "first")["lr"]) == (4.0, 0.5)
    assert composed.scale == "small"
    assert _stage(compose(recipe, tasks=["./reviews.csv"]), "first")["epochs"] == 2.0


def test_general_flags_set_every_stage_of_their_kind(recipe: Path) -> None:
    composed = compose(recipe, tasks=["demo"], sparsity="1/6", scope="local", pruner="importance", adversary="freelb")
    assert [_stage(composed, name)["sparsity"] for name in ("draw", "control")] == [1 / 6, 1 / 6]
    assert [_stage(composed, name)["scope"] for name in ("draw", "control")] == ["local", "local"]
    assert [_stage(composed, name)["pruner"]["name"] for name in ("search", "other")] == ["importance", "importance"]
    assert _stage(composed, "search")["adversary"]["name"] == "freelb"
    assert _stage(composed, "first")["adversary"]["name"] == "none"


@pytest.mark.parametrize(
    ("name", "overrides", "aims"),
    [
        ("structured-imp", {}, (1 / 6, 0.3)),
        ("structured-imp", {"heads": "1/4"}, (0.25, 0.3)),
        ("structured-imp", {"sparsity": 0.2}, (None, None)),
        ("early-robust", {"pruner": "structured-mask-training"}, (1 / 6, 0.3)),
        ("early-robust", {"pruner": "structured-imp", "neurons": 0.1}, (1 / 6, 0.1)),
        ("early-robust", {"pruner": "structured-hard-concrete"}, (None, None)),
        ("early-robust", {"heads": "1/3"}, (None, None)),
    ],
)
def test_a_search_that_aims_at_sparsities_gets_those_of_its_draw(name: str, overrides: Any, aims: tuple[float | None, ...]) -> None:
    composed = compose(name, tasks=["sst2"], **overrides)
    search: Any = composed.stages["search"]
    drawn: Any = composed.stages["draw"]
    assert (search.heads, search.neurons) == aims
    if aims != (None, None):
        assert aims == (drawn.heads, drawn.neurons)
    elif "sparsity" in overrides:
        assert search.sparsity == drawn.sparsity == 0.2


def test_the_settings_of_all_trainings_are_set_at_once(recipe: Path) -> None:
    composed = compose(recipe, tasks=["demo"], epochs=1.5, lr=3e-4, batch_size=7, stages={"first": {"adversary": "pgd"}})
    for name in ("first", "search", "other"):
        assert [_stage(composed, name)[setting] for setting in ("epochs", "lr", "batch_size")] == [1.5, 3e-4, 7]
    assert _stage(compose(recipe, tasks=["demo"], epochs=1.5, sets=["first.epochs=9"]), "first")["epochs"] == 9
    orticket = compose("orticket", tasks=["demo"], attacks="none", epochs=2)
    assert [orticket.stages[name].epochs for name in ("head", "search", "retrain")] == [2, 2, 2]  # type: ignore[attr-defined]


def test_settings_of_trainings_without_an_effect_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "measure.toml"
    path.write_text('[evaluate]\nkind = "evaluate"\nmodel = "demo"\n', encoding="utf-8")
    for key, flag in (("epochs", "--epochs"), ("lr", "--lr"), ("batch_size", "--batch-size")):
        with pytest.raises(UsageError, match=f"{flag}: the recipe `measure` has no train or search stage; its stages are evaluate"):
            compose(path, tasks=["demo"], **{key: 1})  # type: ignore[arg-type]
    path.write_text('[search]\nkind = "search"\npruner = "magnitude"\n[draw]\nkind = "draw"\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"--lr 0\.1: has no effect on the stage `search`: `magnitude` scores without training"):
        compose(path, tasks=["demo"], lr=0.1)


def test_a_component_that_the_recipe_has_already_keeps_its_settings(recipe: Path) -> None:
    composed = compose(recipe, tasks=["demo"], pruner="hard-concrete", attacks=["deepwordbug"])
    assert _stage(composed, "search")["pruner"]["penalty"] == 0.7
    assert _stage(composed, "attack")["attacks"][0]["max_edit_distance"] == 7


def test_stage_settings_override_general_ones_and_sets_override_both(recipe: Path) -> None:
    stages = {"search": {"adversary": "pgd"}}
    composed = compose(recipe, tasks=["demo"], adversary="freelb", stages=stages, sets=["search.adversary.steps=9"])
    assert _stage(composed, "search")["adversary"]["name"] == "pgd"
    assert _stage(composed, "search")["adversary"]["steps"] == 9
    assert _stage(composed, "other")["adversary"]["name"] == "freelb"


def test_attacks_are_replaced_or_removed(recipe: Path) -> None:
    named = compose(recipe, tasks=["demo"], attacks=["textfooler", "deepwordbug"], examples=5, word_vectors="vectors.txt")
    attacks = _stage(named, "attack")["attacks"]
    assert [attack["name"] for attack in attacks] == ["textfooler", "deepwordbug"]
    assert attacks[0]["word_vectors"] == "vectors.txt"
    assert "word_vectors" not in attacks[1]
    assert _stage(named, "attack")["examples"] == 5
    assert "attack" not in compose(recipe, tasks=["demo"], attacks=["none"]).stages
    with pytest.raises(UsageError, match="cannot be combined with others"):
        compose(recipe, tasks=["demo"], attacks=["none", "deepwordbug"])


def test_settings_of_the_head_are_overridden(recipe: Path) -> None:
    composed = compose(recipe, tasks=["demo"], model="./mine", max_length=64, precision="fp32", seeds=range(3))
    assert (composed.model, composed.max_length, composed.precision, list(composed.seeds)) == ("./mine", 64, "fp32", [0, 1, 2])
    assert compose(recipe, tasks=["demo"]).model == "demo"


def test_the_tasks_of_the_recipe_are_used_by_default(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('tasks = ["demo"]\n' + RECIPE, encoding="utf-8")
    composed = compose(path)
    assert [task.name for task in composed.tasks] == ["demo"]
    assert _stage(composed, "first")["epochs"] == 4.0


@pytest.mark.parametrize("scale", [None, "small", "demo"])
def test_the_output_of_a_dry_run_is_the_same_recipe(invoke: Any, tmp_path: Path, scale: str | None) -> None:
    flags = ["--task", "demo", "--sparsity", "1/6", "--retrain-adversary", "freelb", "--set", "search.pruner.lr=0.03", "--seeds", "2"]
    result = invoke("run", "robust-ticket", *flags, *(["--scale", scale] if scale else []), "--dry-run")
    assert result.exit_code == 0, result.stderr
    saved = tmp_path / "robust-ticket.toml"
    saved.write_text(result.stdout, encoding="utf-8")
    expected = compose(
        "robust-ticket",
        tasks=["demo"],
        sparsity=1 / 6,
        stages={"retrain": {"adversary": "freelb"}},
        sets=["search.pruner.lr=0.03"],
        seeds=[0, 1],
        scale=scale,
    )
    assert compose(saved).digest() == expected.digest()
    assert invoke("run", saved, "--dry-run").stdout == result.stdout


def test_an_unknown_argument_of_compose_is_refused() -> None:
    with pytest.raises(UsageError, match="no argument `attack`; did you mean `attacks`"):
        compose("robust-ticket", tasks="demo", attack="deepwordbug")  # type: ignore[call-arg]


def test_a_single_value_is_accepted_for_a_list() -> None:
    made = compose("robust-ticket", tasks="demo", attacks="textfooler", seeds=2, sets="draw.sparsity=0.5")
    assert made == compose("robust-ticket", tasks=["demo"], attacks=["textfooler"], seeds=[0, 1], sets=["draw.sparsity=0.5"])


def test_a_task_may_be_a_path_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (Path("sst2"), tmp_path / "reviews.csv"):
        (task,) = compose("fine-tune", tasks=path, model="demo").tasks
        assert isinstance(task, LocalDataset)
        assert Path(task.path) == path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tasks": 3}, "a task is a name, a path or an object such as .*, not of type int"),
        ({"tasks": {"path": "reviews.csv"}}, "not of type dict"),
        ({"tasks": ["demo", None]}, "not of type NoneType"),
        ({"seeds": 3.0}, "seeds: must be a number or a list of numbers, not 3.0"),
        ({"stages": {"finetune": "freelb"}}, "stages: `finetune` needs a mapping such as {'adversary': 'freelb'}, not 'freelb'"),
    ],
)
def test_an_argument_of_the_wrong_type_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compose("fine-tune", **{"tasks": "demo", **arguments})


# several tasks with their own settings

OWN = """
extends = "{}"

[per_task.imdb]
max_length = 256
ood = ["hans"]
ood_map = ["negative=non-entailment"]

[per_task.imdb.first]
lr = 0.25

[per_task.imdb.search]
pruner = "magnitude"

[per_task.imdb.control]
sparsity = 0.7
"""


@pytest.fixture
def own(recipe: Path) -> Path:
    path = recipe.with_name("own.toml")
    path.write_text(OWN.format(recipe.name), encoding="utf-8")
    return path


TASKS = ["sst2", "imdb", "./reviews.csv", "demo"]


def test_each_of_several_tasks_has_the_same_settings_as_alone(own: Path) -> None:
    changed: Any = {"sparsity": 0.5, "stages": {"first": {"adversary": "pgd"}}, "sets": ["draw.scope=local"], "seeds": 2, "scale": "small"}
    together = compose(own, tasks=TASKS, **changed)
    assert [task.label for task in together.tasks] == ["sst2", "imdb", "reviews", "demo"]
    for task, name in zip(together.tasks, TASKS, strict=True):
        alone = compose(own, tasks=[name], **changed)
        assert together.of(task) == alone
        assert together.of(task).digest() == alone.digest()
    assert [[task.label for task in part.tasks] for part in together.parts()] == [["sst2", "reviews"], ["imdb"], ["demo"]]
    assert {part.max_length for part in together.parts()} == {128, 256}


def test_several_tasks_round_trip_through_toml(own: Path, invoke: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reviews.csv").write_text("text,label\n" + "".join(f"film {number},{number % 2}\n" for number in range(40)))
    flags = [part for task in TASKS for part in ("--task", task)]
    written = invoke("run", own, *flags, "--adversary", "fgm", "--dry-run")
    assert written.exit_code == 0, written.stderr
    saved = tmp_path / "saved.toml"
    saved.write_text(written.stdout, encoding="utf-8")
    assert compose(saved).digest() == compose(own, tasks=TASKS, adversary="fgm").digest()
    assert invoke("run", saved, "--dry-run").stdout == written.stdout
    assert build_recipe("saved", tomllib.loads(written.stdout)).digest() == compose(saved).digest()
    assert compose(own, tasks=TASKS, adversary="fgm").digest() != compose(own, tasks=TASKS).digest()


def test_the_order_of_tasks_changes_no_settings(own: Path) -> None:
    for tasks in (["imdb", "sst2"], ["sst2", "imdb"], ["imdb", "demo"], ["demo", "imdb"]):
        together = compose(own, tasks=tasks)
        assert {task.label: together.of(task) for task in together.tasks} == {name: compose(own, tasks=[name]) for name in tasks}


def test_a_setting_applies_to_the_tasks_that_have_it_and_is_refused_if_none_has(own: Path) -> None:
    sets = ["ood.hans.train_share=0.5", "search.pruner.penalty=0.9", "first.epochs=3"]
    together = compose(own, tasks=["sst2", "demo", "imdb"], sets=[sets[0], sets[2]])
    assert [part.stages["first"].epochs for part in together.parts()] == [3, 3]  # type: ignore[attr-defined]
    assert [one.train_share for part in together.parts() for one in part.ood] == [0.5]
    with pytest.raises(UsageError, match="the list has no `hns`; did you mean `hans`"):
        compose(own, tasks=["imdb"], sets=["ood.hns.train_share=0.5"])
    with pytest.raises(UsageError, match="no stage or setting `frist`"):
        compose(own, tasks=["sst2", "imdb"], sets=["frist.epochs=3"])
    with pytest.raises(UsageError, match=r"search\.pruner\.penalty: pruner `magnitude` has no such setting"):
        compose(own, tasks=["sst2", "imdb"], sets=[sets[1]])


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        ('model = "mine/model"\n', "model: `imdb` has its own, 'mine/model'; run the tasks one at a time"),
        ("seeds = [7]\n", r"seeds: `imdb` has its own, \(7,\)"),
    ],
)
def test_a_setting_shared_by_all_tasks_cannot_differ_for_one_of_them(own: Path, overlay: str, message: str) -> None:
    own.write_text(own.read_text(encoding="utf-8").replace("max_length = 256\n", overlay), encoding="utf-8")
    assert len(compose(own, tasks=["imdb"]).tasks) == 1
    with pytest.raises(UsageError, match=message):
        compose(own, tasks=["sst2", "imdb"])


def test_the_line_of_a_mistake_is_that_of_its_task(own: Path) -> None:
    text = own.read_text(encoding="utf-8").replace("lr = 0.25", "lr = -1.0") + "\n[per_task.sst2.first]\nlr = 0.5\n"
    own.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"first\.lr: must be above 0, not -1\.0 \(own\.toml line 10\)"):
        compose(own, tasks=["sst2", "imdb"])


def test_several_tasks_of_a_paper_run_in_one_command(invoke: Any) -> None:
    for recipe, tasks in (("robust-ticket", ["imdb", "ag_news", "mnli"]), ("srnet-timing", ["mnli", "qqp", "fever"])):
        result = invoke("run", recipe, *(part for task in tasks for part in ("--task", task)), "--dry-run")
        assert result.exit_code == 0, result.stderr
        read = build_recipe(recipe, tomllib.loads(result.stdout))
        assert {task.label: read.of(task).digest() for task in read.tasks} == {
            name: compose(recipe, tasks=[name]).digest() for name in tasks
        }


# a ticket drawn like another


def test_a_flag_makes_draws_like_another_ticket(recipe: Path, invoke: Any) -> None:
    composed = compose(recipe, tasks=["demo"], like="./run")
    assert [_stage(composed, name)["like"] for name in ("draw", "control")] == ["./run", "./run"]
    result = invoke("run", "lottery-ticket", "--task", "demo", "--like", "lab/runs/a", "--dry-run")
    assert result.exit_code == 2
    assert "lab/runs/a: there is no such file" in result.stderr
    with pytest.raises(UsageError, match="--sparsity: with --like the sparsity of each matrix is that of the other ticket"):
        compose(recipe, tasks=["demo"], like="./run", sparsity=0.5)
    with pytest.raises(UsageError, match="--like: the recipe `fine-tune` has no draw stage"):
        compose("fine-tune", tasks=["demo"], like="./run")


def test_a_setting_of_tasks_applies_to_all_of_them() -> None:
    recipe = compose("fine-tune", tasks=["./a.csv", "./b.csv"], sets=["tasks.split_column=none", "tasks.drop_labels=-1"])
    assert [(to_table(task)["split_column"], to_table(task)["drop_labels"]) for task in recipe.tasks] == [("none", ["-1"])] * 2
