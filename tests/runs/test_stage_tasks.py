"""Stages with a task of their own: a ticket found on one task is trained on another, and what stages exchange fits both."""

import tomllib

import pytest
from attrs import evolve

from ticketlab.core import registry
from ticketlab.core.component import components_in
from ticketlab.core.errors import SettingError, UsageError
from ticketlab.recipes import differences, recipe, tables
from ticketlab.recipes.compose import compose, compose_unchecked
from ticketlab.report.cells import compare_runs
from ticketlab.report.numbers import numbers
from ticketlab.report.rows import result_rows
from ticketlab.runs.plan import describe
from ticketlab.runs.run import run
from ticketlab.stages.train import Train
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.demo.pairs import DemoPairs
from ticketlab.tasks.demo.reviews import DemoTask

TABLE = {
    "search": {"kind": "search", "epochs": 1, "lr": 1e-3, "batch_size": 8, "pruner": "importance"},
    "draw": {"kind": "draw", "heads": 0.25, "neurons": 0.3},
    "retrain": {"kind": "train", "ticket": "draw", "epochs": 1, "lr": 1e-3, "batch_size": 8},
    "evaluate": {"kind": "evaluate", "model": "retrain"},
}
REVIEWS, PAIRS = DemoTask(rows=48, dev_rows=12, test_rows=24), DemoPairs(rows=40, dev_rows=8, test_rows=20)
WORDS = ("good", "bad", "fine", "poor", "great", "dull")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A lab for tests that work with any stages already in it."""
    return tmp_path_factory.mktemp("shared") / "lab"


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    """The folder of a task of single texts with three labels."""
    folder = tmp_path_factory.mktemp("data") / "topics"
    folder.mkdir()
    for split, rows in (("train", 36), ("validation", 9), ("test", 12)):
        lines = [f"a {WORDS[row % 6]} {split} text {row},{('arts', 'law', 'sports')[row % 3]}" for row in range(rows)]
        (folder / f"{split}.csv").write_text("\n".join(["text,topic", *lines]))
    return folder


def make(tiny, *sets, tasks=(REVIEWS,), **stages):
    table = {**TABLE, **stages, "model": str(tiny["bert"]), "max_length": 48, "precision": "fp32"}
    for assignment in sets:
        table = tables.override(table, assignment)
    return recipe.build_recipe("transfer", table | {"tasks": list(tasks)})


def stages_of(done, task="demo"):
    return done.results["tasks"][task]["0"]


def test_a_ticket_that_is_found_on_one_task_is_trained_on_others_which_share_the_search(tiny, lab, topics):
    done = run(make(tiny, tasks=(REVIEWS, PAIRS), **{"search": TABLE["search"] | {"task": str(topics)}}), lab)
    reviews, pairs = stages_of(done), stages_of(done, "demo_nli")
    assert reviews["search"]["key"] == pairs["search"]["key"]
    assert pairs["search"]["same_as"] == ["demo", "0", "search"]
    assert pairs["draw"]["key"] == reviews["draw"]["key"]
    assert pairs["retrain"]["key"] != reviews["retrain"]["key"]
    assert reviews["search"]["task"] == "topics"
    assert "task" not in reviews["retrain"]
    assert reviews["search"]["search"]["task"] == "topics"
    assert reviews["search"]["search"]["rows"] == 36
    assert (reviews["evaluate"]["clean"]["n"], pairs["evaluate"]["clean"]["n"]) == (24, 20)
    data = done.results["data"]
    assert data["topics"]["labels"] == ["arts", "law", "sports"]
    counts = {split: dict.fromkeys(("arts", "law", "sports"), rows) for split, rows in (("train", 12), ("dev", 3), ("test", 4))}
    assert data["topics"]["classes"] == counts
    assert data["topics"]["fingerprint"] == reviews["search"]["search"]["task_fingerprint"]


def test_the_key_depends_on_the_data_and_not_on_the_run_or_on_how_the_task_is_named(tiny, lab, topics):
    """On its own task, the search is that of a run on this task."""
    there = run(make(tiny, tasks=(LocalDataset(path=str(topics)),)), lab)
    search = TABLE["search"] | {"task": {"name": "local", "path": str(topics)}}
    here = run(make(tiny, **{"search": search}), lab)
    assert stages_of(here)["search"]["key"] == stages_of(there, "topics")["search"]["key"]
    fewer = run(make(tiny, **{"search": {**search, "task": {**search["task"], "train_rows": 30}}}), lab)
    assert stages_of(fewer)["search"]["key"] != stages_of(here)["search"]["key"]
    assert fewer.directory != here.directory


def test_new_settings_are_left_out_of_the_identity_at_their_defaults(tiny):
    for name in ("search", "retrain", "evaluate"):
        identity = make(tiny).stages[name].identity()
        assert identity.keys().isdisjoint({"task", "max_length", "keep_masks"})
    stage = evolve(Train(), max_length=100)
    assert stage.identity()["max_length"] == 100
    assert (stage.longest(48), Train().longest(48)) == (100, 48)
    assert "task" in make(tiny, **{"search": TABLE["search"] | {"task": "demo_nli"}}).stages["search"].identity()


def test_the_limit_on_training_examples_applies_and_two_data_sets_of_one_name_are_told_apart(tiny, lab):
    small = make(tiny, "train_rows=32", **{"search": TABLE["search"] | {"task": {"name": "demo", "rows": 40, "seed": 3}}})
    done = run(small, lab)
    stages = stages_of(done)
    assert stages["search"]["search"]["rows"] == 32
    assert stages["search"]["task"] == "demo (search)"
    assert set(done.results["data"]) == {"demo", "demo (search)"}
    assert done.results["data"]["demo (search)"]["fingerprint"] != done.results["data"]["demo"]["fingerprint"]


def test_a_model_is_measured_on_its_own_task_and_on_that_of_the_run(tiny, lab):
    """Both have the same labels, so the classifier serves both; the numbers of each are listed under its name."""
    other = {"name": "demo", "rows": 40, "dev_rows": 10, "test_rows": 20, "seed": 3}
    there = {"kind": "evaluate", "model": "retrain", "task": other}
    done = run(make(tiny, **{"search": TABLE["search"] | {"task": other}, "evaluate-there": there}), lab)
    stages = stages_of(done)
    assert stages["evaluate-there"]["task"] == stages["search"]["task"] == "demo (search)"
    assert stages["evaluate-there"]["clean"]["n"] == 20
    rows = {row.task: row for row in result_rows(done.results)}
    assert rows["demo"].clean.mean == stages["evaluate"]["clean"]["accuracy"]
    assert rows["demo (search)"].clean.mean == stages["evaluate-there"]["clean"]["accuracy"]
    assert rows["demo (search)"].label == "transfer (run on demo)"
    found = {
        (number.task, number.stage): number.value
        for cell in compare_runs([done.directory]).cells
        for number in numbers(cell)
        if number.metric == "clean.accuracy"
    }
    assert found == {(rows[task].task, rows[task].stage): rows[task].clean.mean for task in rows}


def test_texts_that_a_ticket_was_found_on_are_counted_among_the_evaluated_ones(tiny, lab):
    """The test texts of demo do not depend on the number of training rows, so a task trained on them is made by hand."""
    test = REVIEWS.load().splits["test"]
    folder = lab.parent / "leak"
    folder.mkdir()
    for split in ("train", "validation", "test"):
        lines = "\n".join(f'"{example.texts[0]}",{("negative", "positive")[example.label]}' for example in test)
        (folder / f"{split}.csv").write_text(f"text,label\n{lines}")
    done = run(make(tiny, **{"search": TABLE["search"] | {"task": str(folder)}}), lab)
    evaluated = stages_of(done)["evaluate"]
    assert evaluated["clean"]["trained_on"]["train"] == 24
    warning = "24 of 24 evaluated texts of demo (test) are among those that the model was trained on"
    assert any(text.startswith(warning) for text in evaluated["warnings"])


FINETUNE = {"kind": "train", "epochs": 1, "lr": 1e-3, "batch_size": 8}


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (
            {"retrain": TABLE["retrain"] | {"start": "finetune"}},
            r"retrain\.start: `finetune` is a classifier for arts, law, sports \(topics\), and `retrain` learns negative, positive",
        ),
        ({"evaluate": {"kind": "evaluate", "model": "finetune"}}, r"evaluate\.model: `finetune` is trained on topics, and `evaluate` uses"),
        (
            {"retrain": TABLE["retrain"] | {"loss": "confreg", "teacher": "finetune", "bias": "bias"}},
            r"retrain\.teacher: `finetune` is trained on topics, and `retrain` uses demo: the model has 3 labels",
        ),
        (
            {"search": TABLE["search"] | {"loss": "poe", "bias": "bias", "task": "TOPICS"}},
            r"search\.bias: `bias` is about examples of demo, and `search` learns those of topics",
        ),
        ({"evaluate": {"kind": "evaluate", "model": "retrain", "task": "TOPICS"}}, r"evaluate\.model: `retrain` is trained on demo, and"),
        (
            {"search": TABLE["search"] | {"task": "TOPICS", "select": "best", "select_on": "binary_f1"}},
            r"search\.select_on: binary_f1 is the F1 of a positive label, and `topics`",
        ),
    ],
    ids=["start", "model", "teacher", "bias", "evaluated", "selection"],
)
def test_outputs_that_do_not_fit_the_other_task_are_refused_before_anything_is_computed(stages, message, tiny, tmp_path, topics):
    stages = {
        "finetune": FINETUNE | {"task": str(topics)},
        "bias": {"kind": "bias", "model": "claim-only", "folds": 2},
        **{name: {key: str(topics) if value == "TOPICS" else value for key, value in stage.items()} for name, stage in stages.items()},
    }
    ordered = {name: stages.get(name, TABLE.get(name)) for name in ("finetune", "bias", *TABLE)}
    built = recipe.build_recipe("wrong", {**ordered, "model": str(tiny["bert"]), "max_length": 48, "tasks": [REVIEWS]})
    for check in (lambda: run(built, tmp_path), lambda: list(describe(built, tmp_path))):
        with pytest.raises(UsageError, match=message):
            check()
    assert not list(tmp_path.rglob("result.json"))


def test_a_classifier_is_trained_further_on_another_task_with_the_same_labels(tiny, lab):
    finetune = FINETUNE | {"task": {"name": "demo", "rows": 40, "seed": 3}}
    table = {"finetune": finetune, "retrain": FINETUNE | {"start": "finetune"}, "evaluate": TABLE["evaluate"]}
    built = recipe.build_recipe("further", {**table, "model": str(tiny["bert"]), "max_length": 48, "precision": "fp32", "tasks": [REVIEWS]})
    assert stages_of(run(built, lab))["evaluate"]["clean"]["n"] == 24


def test_a_challenge_set_is_checked_against_the_task_of_the_stage(tiny, tmp_path, topics):
    built = make(tiny, 'ood=["demo_nli_ood"]', tasks=(PAIRS,), **{"search": TABLE["search"] | {"task": str(topics), "watch_ood": True}})
    with pytest.raises(UsageError, match=r"^search\.task: demo_nli_ood: its text columns are .* but those of topics"):
        run(built, tmp_path)
    run_only = make(tiny, 'ood=["demo_nli_ood"]', tasks=(PAIRS,), **{"search": TABLE["search"] | {"task": str(topics)}})
    assert any("demo_nli seed 0 search: to be computed" in line for line in describe(run_only, tmp_path))


def test_the_plan_lists_unavailable_tasks_of_stages(tiny, tmp_path, monkeypatch):
    monkeypatch.delenv("TICKETLAB_DATA", raising=False)
    lines = list(describe(make(tiny, **{"search": TABLE["search"] | {"task": "sst2"}}), tmp_path))
    assert lines[0].startswith("note: ")
    assert "sst2" in lines[0]
    assert lines[1:] == ["so the stages are not looked up in the lab"]


@pytest.mark.parametrize("written", ["set", "flag", "python", "table"])
def test_a_task_is_named_as_for_the_flag_and_survives_the_file(written, topics):
    asked = {
        "set": {"sets": [f"search.task={topics}", "search.task.train_rows=30"]},
        "flag": {"stages": {"search": {"task": str(topics)}}, "sets": ["search.task.train_rows=30"]},
        "python": {"stages": {"search": {"task": LocalDataset(path=str(topics), train_rows=30)}}},
        "table": {"sets": [f'search.task={{name="{topics}", train_rows=30}}']},
    }[written]
    composed = compose("transfer-ticket", tasks="demo", attacks="none", **asked)
    assert composed.stages["search"].task == LocalDataset(path=str(topics), train_rows=30)
    assert differences.recipe_label(composed) == "transfer-ticket (search.task=topics, task.train_rows=30)"
    again = recipe.build_recipe(composed.name, tomllib.loads(composed.to_toml()))
    assert (again.stages, again.digest()) == (composed.stages, composed.digest())


def test_another_local_task_replaces_the_first_one_with_its_settings(topics):
    sets = [f'search.task={{name="{topics}", label_column="topic"}}', "search.task=./other.csv"]
    composed = compose_unchecked("transfer-ticket", tasks="demo", sets=sets)
    assert composed.stages["search"].task == LocalDataset(path="./other.csv")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"sets": ["search.task=dmeo"]}, r"search\.task: unknown task `dmeo`; did you mean `demo`\?"),
        ({"sets": ["search.task.train_rows=3"]}, r"search\.task: the stage uses the task of the run; name another one before its settings"),
        ({"sets": ["draw.task=demo"]}, r"draw\.task: stage `draw` has no such setting"),
        ({"stages": {"search": {"task": "https://example.com/x.csv"}}}, r"--search-task: .*a URL"),
    ],
    ids=["unknown", "settings", "draw", "url"],
)
def test_a_wrong_task_is_refused_with_the_path_of_the_setting(asked, message):
    with pytest.raises(SettingError, match=message):
        compose("transfer-ticket", tasks="demo", **asked)


def test_a_stage_that_learns_no_labels_refuses_a_task():
    with pytest.raises(
        UsageError, match=r"--search-task demo_nli: has no effect on the stage `search`: the objective `mlm` learns from no"
    ):
        compose("orticket", tasks="demo", stages={"search": {"task": "demo_nli"}})


def test_losses_get_bias_models_and_teachers_of_the_same_task(tiny):
    composed = compose("fine-tune", tasks="demo", attacks="none", stages={"finetune": {"loss": "confreg", "task": "demo_nli"}})
    assert [composed.stages[name].task for name in ("bias", "teacher", "finetune")] == [DemoPairs()] * 3


def test_without_its_own_task_the_transfer_ticket_is_a_plain_ticket(tmp_path):
    composed = compose("transfer-ticket", tasks=["demo", "demo_nli"], scale="small", model="demo", attacks="none")
    assert composed.stages["search"].task is None
    lines = list(describe(composed, tmp_path))
    assert len(lines) == 2 * (4 + 1)
    assert {part.name for part in components_in(composed.stages["search"])} >= {"importance", "freelb"}
    assert "transfer-ticket" in registry.current().recipes
