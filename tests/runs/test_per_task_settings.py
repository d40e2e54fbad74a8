"""Runs with per-task settings, runs that use the tickets of another run, and runs whose attacks lack resources."""

import csv

import pytest
from attrs import evolve
from support.small_recipe import TABLE, needs_textattack, without_cost

from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.recipes import recipe
from ticketlab.recipes.compose import compose
from ticketlab.runs.provenance import provenance_of
from ticketlab.runs.run import run
from ticketlab.tickets.ticket import Ticket

DEMO = {"name": "demo", "rows": 24, "dev_rows": 8, "test_rows": 8}


@pytest.fixture
def reviews(tmp_path):
    path = tmp_path / "reviews.csv"
    rows = [(f"a {'fine' if number % 2 else 'dull'} film number {number}", "pos" if number % 2 else "neg") for number in range(40)]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return {"name": "local", "path": str(path)}


@pytest.fixture
def table(tiny):
    quick = {name: TABLE[name] | {"epochs": 1} for name in ("finetune", "search", "retrain")}
    stages = {name: quick.get(name, stage) for name, stage in TABLE.items() if name != "attack"}
    return {"model": str(tiny["bert"]), "max_length": 48, "precision": "fp32", **stages}


def test_each_task_runs_with_its_own_settings_and_shares_its_stages_with_a_run_of_that_task_alone(table, reviews, tmp_path):
    own = {"max_length": 12, "finetune": {"epochs": 2}, "draw": {"sparsity": 0.5}}
    both = recipe.build_recipe("both", {**table, "tasks": [DEMO, reviews], "per_task": {"demo": own}})
    lab = tmp_path / "lab"
    done = run(both, lab)
    assert list(done.results["tasks"]) == ["demo", "reviews"]
    stages = {task: seeds["0"] for task, seeds in done.results["tasks"].items()}
    assert [stages[task]["draw"]["ticket"]["groups"]["weights"]["asked"] for task in stages] == [0.5, 0.3]
    assert [stages[task]["finetune"]["train"]["steps"] for task in stages] == [6, 4]  # two epochs of 24 examples in batches of 8, one of 32
    assert [stages[task]["evaluate"]["clean"]["truncated"] > 0 for task in stages] == [True, False]
    assert [dict(provenance_of(lab / "stages" / key[:2] / key).stages[0][2])["epochs"] for key in _keys(stages, "retrain")] == [2, 1]
    for task in both.tasks:
        alone = run(both.of(task), lab)
        assert without_cost(alone.results["tasks"][task.label]) == without_cost(done.results["tasks"][task.label])
        assert "found" in (alone.directory / "log.jsonl").read_text()
        assert "finished" not in (alone.directory / "log.jsonl").read_text()
    assert compose(done.directory / "recipe.toml").digest() == both.digest()


def _keys(stages, name):
    return [stages[task][name]["key"] for task in stages]


def test_draw_like_another_run_uses_its_ticket_of_the_same_seed(make_recipe, tmp_path):
    def make(*sets, seeds=(0, 1), more=()):
        untrained = ("finetune", "retrain", "evaluate", "attack")
        return make_recipe("search.start=pretrained", *sets, without=tuple(set(untrained) - set(more)), seeds=seeds)

    other = run(make("search.pruner=random"), tmp_path).directory
    for like in (other, f"{other}/tickets/{{task}}-draw-seed{{seed}}.safetensors"):
        done = run(make("search.pruner=magnitude", f"draw.like={like}"), tmp_path)
        tickets = [[Ticket.load(place / "tickets" / f"demo-draw-seed{n}.safetensors") for n in (0, 1)] for place in (other, done.directory)]
        assert [ticket.survival() for ticket in tickets[0]] == [ticket.survival() for ticket in tickets[1]]
        assert tickets[0] != tickets[1]
    assert tickets[0][0].survival() != tickets[0][1].survival()
    two = make("search.pruner=random")
    two = evolve(two, name="two", stages={**two.stages, "draw-half": evolve(two.stages["draw"], sparsity=0.5)})
    several = run(two, tmp_path).directory
    refused = [
        (make(f"draw.like={other}", seeds=(0, 2)), r"drew no ticket for `demo`, seed 2 \(it has demo: seeds 0, 1\)"),
        (
            make('search.pruner={name="random", structured=true}', f"draw.like={other}"),
            r"draw\.like: .* of weights, .* heads and neurons",
        ),
        (make(f"draw.like={several}"), r"several tickets for each seed \(draw, draw-half\); name one: .*demo-draw-seed\{seed\}"),
        (make(f"draw.like={tmp_path}/none-{{seed}}.safetensors"), r"/none-0\.safetensors: there is no such file"),
        (make(f"retrain.ticket={several}", more=("retrain",)), "several tickets for each seed"),
    ]
    for wrong, message in refused:
        with pytest.raises(UsageError, match=message):
            run(wrong, tmp_path / "nothing")
    assert not list((tmp_path / "nothing").rglob("result.json"))


@needs_textattack
def test_all_missing_resources_of_attacks_are_reported_before_training(make_recipe, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    attacks = 'attack.attacks=["bert-attack", {name="textfooler", word_vectors="no.txt"}, {name="textbugger", word_vectors="no.txt"}]'
    with pytest.raises(ResourceError) as problem:
        run(make_recipe(attacks, without=()), tmp_path / "lab")
    for part in (
        "masked language model not found: ",
        "`--mlm NAME`",
        "word vectors `no.txt` not found: ",
        "`--word-vectors FILE`",
        "--attack bert-attack: ",
        "--attack textfooler, textbugger: ",
    ):
        assert part in str(problem.value)
    assert "`--attack deepwordbug` needs no resources" in str(problem.value)
    assert "\n" not in str(problem.value)
    assert not list((tmp_path / "lab" / "stages").rglob("result.json"))


def test_masked_language_modelling_has_its_own_maximum_length(make_recipe):
    own = make_recipe('search.objective={name="mlm", max_length=16}').stages["search"]
    assert (own.longest(48), make_recipe('search.objective="mlm"').stages["search"].longest(48)) == (16, 48)
    assert {compose("orticket", tasks=[task]).stages["search"].longest(256) for task in ("imdb", "sst2")} == {128}


@pytest.mark.parametrize("other", ["a-b", "A-b"])
def test_two_tickets_with_one_file_name_are_an_error_before_anything_is_computed(tiny, tmp_path, other):
    """Task ``a`` with a stage ``b-draw`` and task ``a-b`` with ``draw``: one ticket would overwrite the other."""
    for name in ("a", other):
        rows = "".join(f"film {name} {number},{number % 2}\n" for number in range(40))
        (tmp_path / f"{name}.csv").write_text(f"text,label\n{rows}")
    tasks = [{"name": "local", "path": str(tmp_path / f"{name}.csv")} for name in ("a", other)]
    search = {"kind": "search", "pruner": "random"}
    draws = {"draw": {"kind": "draw", "sparsity": 0.3}, "b-draw": {"kind": "draw", "sparsity": 0.5}}
    made = recipe.build_recipe("two", {"model": str(tiny["bert"]), "tasks": tasks, "search": search, **draws})
    with pytest.raises(UsageError, match="rename a stage or a task"):
        run(made, tmp_path / "lab")
    assert not (tmp_path / "lab").exists()
