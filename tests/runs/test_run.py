"""Runs of small recipes: their files, reproducibility, interruptions, external inputs and plugins."""

import json
import multiprocessing
import os
import shutil
import signal
import time

import pytest
import torch
from attrs import evolve, frozen
from safetensors.torch import load_file
from support.small_recipe import needs_textattack, without_cost

from ticketlab.attacks.results.record_file import RecordFile, path_in
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier, load_finished
from ticketlab.backbone.masks import expand
from ticketlab.core import files, hookspecs, registry
from ticketlab.core.component import components_in
from ticketlab.core.errors import DataError, PluginError, UsageError
from ticketlab.core.plugin_loading import Source
from ticketlab.pruners.base import Pruner, Search
from ticketlab.report.notes import notes
from ticketlab.runs.run import run
from ticketlab.runs.stage_key import StageKeys
from ticketlab.stages.draw import Draw
from ticketlab.stages.evaluate import Evaluate
from ticketlab.stages.search import SearchStage
from ticketlab.stages.train import Train
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.testing.models.tiny import tiny_model
from ticketlab.tickets.ticket import Ticket
from ticketlab.training.checkpoint import Checkpoint


def stage_folder(lab, results, name, task="demo", seed="0"):
    key = results["tasks"][task][seed][name]["key"]
    return lab / "stages" / key[:2] / key


def test_a_run_writes_its_documented_files(make_recipe, tmp_path):
    done = run(make_recipe(), tmp_path)
    assert {path.name for path in done.directory.iterdir()} == {
        "run.json",
        "recipe.toml",
        "environment.json",
        "log.jsonl",
        "results.json",
        "tickets",
        "predictions",
    }
    assert files.read_json(done.directory / "results.json") == done.results
    stages = done.results["tasks"]["demo"]["0"]
    assert list(stages) == ["finetune", "search", "draw", "retrain", "evaluate"]
    assert all(stage["seed"] == 0 and stage["cost"]["seconds"] >= 0 for stage in stages.values())
    assert set(stages["evaluate"]["clean"]) >= {"accuracy", "macro_f1", "n"}
    assert stages["evaluate"]["clean"]["n"] == 24
    assert stages["draw"]["ticket"]["groups"]["weights"]["asked"] == 0.3
    events = [json.loads(line)["event"] for line in (done.directory / "log.jsonl").read_text().splitlines()]
    assert events.count("start") == events.count("finished") == 5
    assert not list(tmp_path.rglob("checkpoint.safetensors"))


def test_the_ticket_removes_the_requested_number_of_weights_and_the_retrained_model_is_sparse(make_recipe, shared_lab):
    done = run(make_recipe(), shared_lab)
    ticket = Ticket.load(next((done.directory / "tickets").iterdir()))
    assert ticket.total() - ticket.kept() == int(0.3 * ticket.total() + 0.5)
    model, _, names = load_finished(str(stage_folder(shared_lab, done.results, "retrain") / "model"))
    assert names == ("negative", "positive")
    backbone = Backbone(model)
    for name, kept in expand(backbone, ticket.masks).items():
        parameter = backbone.parameter(name)
        assert bool((parameter[~kept] == 0).all())
        assert bool((parameter[kept] != 0).all())


def test_runs_in_two_labs_give_the_same_bits(make_recipe, shared_lab, tmp_path):
    one, other = (run(make_recipe(seeds=(0, 1)), lab) for lab in (shared_lab, tmp_path))
    assert without_cost(one.results) == without_cost(other.results)
    tickets = [{path.name: path.read_bytes() for path in (done.directory / "tickets").iterdir()} for done in (one, other)]
    assert len(tickets[0]) == 2
    assert tickets[0] == tickets[1]
    assert len(set(tickets[0].values())) == 2, "each seed has its own ticket"
    scores = [load_file(stage_folder(lab, one.results, "search") / "scores.safetensors") for lab in (shared_lab, tmp_path)]
    assert all(torch.equal(scores[0][name], scores[1][name]) for name in scores[0])


@pytest.mark.parametrize("attacked", [False, pytest.param(True, marks=needs_textattack)])
def test_a_second_run_computes_nothing(make_recipe, shared_lab, monkeypatch, attacked):
    recipe = make_recipe(without=() if attacked else ("attack",))
    first = run(recipe, shared_lab)
    for stage in (Train, SearchStage, Draw, Evaluate):
        monkeypatch.setattr(stage, "run", lambda self, context: pytest.fail(f"{self.name} was computed again"))
    assert run(recipe, shared_lab).results == first.results


def test_recipes_share_their_stages(make_recipe, shared_lab):
    gates = run(make_recipe(), shared_lab).results["tasks"]["demo"]["0"]
    sizes = run(make_recipe("search.pruner=magnitude"), shared_lab).results["tasks"]["demo"]["0"]
    sparser = run(make_recipe("draw.sparsity=0.5"), shared_lab).results["tasks"]["demo"]["0"]
    assert gates["finetune"] == sizes["finetune"]
    assert gates["search"]["key"] != sizes["search"]["key"]
    assert gates["search"] == sparser["search"], "the search does not depend on the sparsity"
    assert gates["draw"]["key"] != sparser["draw"]["key"]


def _die_in(stage: str, recipe, lab) -> None:
    """Run the recipe and kill this process in the middle of a stage, as `kill -9` would."""
    torch.set_num_threads(1)
    saved, added = Checkpoint.save, RecordFile.add
    count = 0

    def die_after_some(original, wanted):
        def wrapped(self, *arguments):
            nonlocal count
            original(self, *arguments)
            count += wanted
            if count == 3:
                os.kill(os.getpid(), signal.SIGKILL)

        return wrapped

    class Killer:
        @staticmethod
        @hookspecs.hookimpl
        def ticketlab_on_log(record):
            if record["event"] == "start" and record["stage"] == stage:
                if stage in ("draw", "evaluate"):
                    os.kill(os.getpid(), signal.SIGKILL)
                Checkpoint.save = die_after_some(saved, 1)
                RecordFile.add = die_after_some(added, 1)

    registry.current().register(Killer, Source("killer", ""))
    run(recipe, lab)


@pytest.mark.system
@pytest.mark.parametrize("attacked", [False, pytest.param(True, marks=needs_textattack)])
def test_kill_9_in_each_stage_does_not_change_the_results(make_recipe, shared_lab, tmp_path, attacked):
    every_step = [f"{stage}.checkpoint_seconds=0" for stage in ("finetune", "search", "retrain")]
    recipe = make_recipe(*every_step, without=() if attacked else ("attack",))
    expected = run(recipe, shared_lab)
    context = multiprocessing.get_context("fork")
    stages = ["attack"] if attacked else list(recipe.stages)
    for stage in stages:
        child = context.Process(target=_die_in, args=(stage, recipe, tmp_path / "parts"))
        child.start()
        child.join(120)
        assert child.exitcode == -signal.SIGKILL, f"the child should have been killed in {stage}"
        if stage == "attack":
            (records,) = (tmp_path / "parts").rglob("deepwordbug.jsonl")
            with records.open("ab") as file:
                file.write(b'{"id": "half a line')
    found = run(recipe, tmp_path / "parts")
    assert without_cost(found.results) == without_cost(expected.results)
    names = [path.name for path in (expected.directory / "tickets").iterdir()]
    assert all((found.directory / "tickets" / name).read_bytes() == (expected.directory / "tickets" / name).read_bytes() for name in names)
    if attacked:
        ours, theirs = (path_in(stage_folder(lab, expected.results, "attack"), "deepwordbug") for lab in (tmp_path / "parts", shared_lab))
        assert ours.read_bytes() == theirs.read_bytes()


def _count_computations(recipe, lab, queue) -> None:
    torch.set_num_threads(1)
    compute = Train.run

    def counted(self, context):
        queue.put(context.name)
        time.sleep(0.5)
        return compute(self, context)

    Train.run = counted
    run(recipe, lab)


def test_two_processes_compute_a_stage_once(make_recipe, tmp_path):
    recipe = make_recipe(without=("search", "draw", "retrain", "evaluate", "attack"))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_count_computations, args=(recipe, tmp_path, queue)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(120)
    assert [child.exitcode for child in children] == [0, 0]
    assert queue.get(timeout=5) == "finetune"
    assert queue.empty()


def test_stages_accept_external_models_and_tickets(make_recipe, shared_lab, tmp_path):
    done = run(make_recipe(), shared_lab)
    model, ticket = tmp_path / "their-model", tmp_path / "their-ticket.safetensors"
    shutil.copytree(stage_folder(shared_lab, done.results, "finetune") / "model", model)
    shutil.copy(next((done.directory / "tickets").iterdir()), ticket)
    parts = ("finetune", "search", "draw", "attack")
    again = run(make_recipe(f"retrain.ticket={ticket}", without=parts), tmp_path / "lab2")
    stages = again.results["tasks"]["demo"]["0"]
    assert stages["evaluate"]["clean"] == done.results["tasks"]["demo"]["0"]["evaluate"]["clean"]
    assert "warnings" not in stages["retrain"]
    other = tiny_model("bert", tmp_path / "other", seed=1)
    doubted = run(make_recipe(f"retrain.ticket={ticket}", f"retrain.start={other}", "retrain.epochs=1", without=parts), tmp_path / "lab2")
    assert "made for other weights than the model has" in doubted.results["tasks"]["demo"]["0"]["retrain"]["warnings"][0]
    judged = run(make_recipe(f"evaluate.model={model}", without=(*parts, "retrain")), tmp_path / "lab2")
    assert judged.results["tasks"]["demo"]["0"]["evaluate"]["of"] == str(model)


def test_a_reference_to_a_missing_file_is_an_error_before_anything_is_computed(make_recipe, tmp_path):
    with pytest.raises(UsageError, match=r"no/such\.safetensors"):
        run(make_recipe("retrain.ticket=no/such.safetensors", without=("draw", "attack")), tmp_path)
    assert not list(tmp_path.rglob("*"))


def test_draw_like_gives_a_random_ticket_the_layerwise_sparsity_of_another(make_recipe, shared_lab):
    gates = run(make_recipe(), shared_lab)
    path = next((gates.directory / "tickets").iterdir())
    dice = run(make_recipe("search.pruner=random", f"draw.like={path}"), shared_lab)
    one, other = Ticket.load(path), Ticket.load(next((dice.directory / "tickets").iterdir()))
    assert one.survival() == other.survival()
    assert one != other


@pytest.mark.parametrize("reinit", ["inside", "outside"])
def test_reinit_reinitialises_the_weights_inside_or_outside_the_ticket(make_recipe, shared_lab, reinit, tiny):
    hold = "true" if reinit == "inside" else "false"
    recipe = make_recipe(f"retrain.reinit={reinit}", f"retrain.hold_mask={hold}", "retrain.lr=1e-9")
    done = run(recipe, shared_lab)
    ticket = Ticket.load(next((done.directory / "tickets").iterdir()))
    model, *_ = load_finished(str(stage_folder(shared_lab, done.results, "retrain") / "model"))
    published = Backbone(load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)[0])
    backbone = Backbone(model)
    for name, kept in expand(backbone, ticket.masks).items():
        same = torch.isclose(backbone.parameter(name), published.parameter(name), atol=1e-6)
        inside, outside = float(same[kept].float().mean()), float(same[~kept].float().mean())
        if reinit == "inside":
            assert inside < 0.05
            assert bool((backbone.parameter(name)[~kept] == 0).all())
        else:
            assert inside > 0.99
            assert outside < 0.05


def test_select_best_keeps_the_best_epoch(make_recipe, tmp_path):
    parts = ("search", "draw", "retrain", "attack")
    sets = ("finetune.select=best", "finetune.epochs=4", "finetune.lr=0.02", "evaluate.model=finetune", "evaluate.split=dev")
    stages = run(make_recipe(*sets, without=parts), tmp_path).results["tasks"]["demo"]["0"]
    best = max(record["dev_accuracy"] for record in stages["finetune"]["train"]["history"])
    assert stages["evaluate"]["clean"]["accuracy"] == best


def test_plugins_observe_the_log_and_every_finished_stage(make_recipe, tmp_path):
    seen: list[str] = []

    class Tracker:
        @staticmethod
        @hookspecs.hookimpl
        def ticketlab_on_log(record):
            seen.append(record["event"])

        @staticmethod
        @hookspecs.hookimpl
        def ticketlab_stage_finished(stage, result):
            seen.append(stage)

    source = Source("tracker", "")
    registry.current().register(Tracker, source)
    try:
        run(make_recipe(without=("search", "draw", "retrain", "attack", "evaluate")), tmp_path)
    finally:
        registry.current().unregister(Tracker, source)
    assert seen == ["start", "epoch", "epoch", "finished", "finetune"]


def test_runs_on_different_data_have_different_directories(make_recipe, tmp_path):
    first, second = ((tmp_path / name) for name in ("first.csv", "second.csv"))
    for path, word in ((first, "good"), (second, "great")):
        lines = [f"a {word if index % 2 else 'bad'} film number {index},{'pos' if index % 2 else 'neg'}" for index in range(40)]
        path.write_text("\n".join(["text,label", *lines]))
    directories = []
    for path in (first, second):
        shutil.copy(path, tmp_path / "data.csv")
        recipe = evolve(
            make_recipe(without=("search", "draw", "retrain", "attack", "evaluate")), tasks=(LocalDataset(path=str(tmp_path / "data.csv")),)
        )
        directories.append(run(recipe, tmp_path / "lab").directory)
    assert directories[0] != directories[1]


def test_the_key_of_a_search_without_training_does_not_depend_on_the_adversary(make_recipe, tmp_path, capsys):
    keys = []
    for adversary in ("pgd", "none"):
        sets = ("search.pruner=magnitude", f"search.adversary={adversary}", "search.epochs=20", "search.batch_size=32")
        for found in (False, True):
            done = run(make_recipe(*sets, without=("retrain", "evaluate", "attack")), tmp_path).results
            keys.append(done["tasks"]["demo"]["0"]["search"]["key"])
            output = " ".join(capsys.readouterr().err.split())
            assert ("search: found in the lab" in output) is (found or adversary == "none")
            idle = ["`adversary` has no effect: `magnitude` scores without training"] if adversary == "pgd" else []
            assert ("warning: demo seed 0 search: `adversary` has no effect" in output) is bool(idle)
            assert done["tasks"]["demo"]["0"]["search"].get("warnings", []) == idle
            assert [note for note in notes(done) if "search" in note] == [f"demo, search: {text}" for text in idle]
    assert len(set(keys)) == 1


def test_attacks_are_part_of_their_stage_s_key(make_recipe):
    (one, other) = (make_recipe(f"attack.attacks={names}", without=()).stages["attack"] for names in ('["deepwordbug"]', '["textfooler"]'))
    keys = [
        StageKeys().key(stage, inputs={"model": "m"}, data="d", model="", max_length=8, precision="fp32", seed=0, threads=1)
        for stage in (one, other)
    ]
    assert keys[0] != keys[1]
    assert [part.name for part in components_in(one, one.identity())] == ["deepwordbug"]


class _Broken(Search):
    def __init__(self, scores):
        self._scores = scores

    def scores(self):
        return self._scores() if callable(self._scores) else self._scores


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (None, "not a Search"),
        (_Broken(None), "not a score for each unit"),
        (_Broken({"weights/nowhere": torch.zeros(2)}), "not a unit of this shape"),
        (_Broken({"neurons/0": torch.zeros(64)}), "1 are missing, `neurons/1`"),
        (_Broken(lambda: 1 / 0), "ZeroDivisionError.*the pruner `broken` of theirs"),
    ],
)
def test_a_pruner_that_violates_its_interface_is_named_in_the_error(make_recipe, tmp_path, result, expected):
    @frozen
    class Pruned(Pruner):
        name = "broken"
        summary = "breaks"
        searches = False

        def begin(self, plan):
            return result

    class Plugin:
        @staticmethod
        @hookspecs.hookimpl
        def ticketlab_pruners():
            return [Pruned]

    source = Source("theirs", "1")
    registry.current().register(Plugin, source)
    try:
        recipe = make_recipe("search.pruner=broken", "search.start=pretrained", without=("finetune", "retrain", "evaluate", "attack"))
        with pytest.raises(PluginError, match=expected):
            run(recipe, tmp_path)
    finally:
        registry.current().unregister(Plugin, source)


def test_a_data_set_without_training_data_is_evaluated_whole_and_cannot_be_trained_on(make_recipe, shared_lab, tmp_path):
    done = run(make_recipe(), shared_lab)
    folder = tmp_path / "challenge"
    folder.mkdir()
    rows = [json.dumps({"text": f"film {index}", "label": ["negative", "positive"][index % 2]}) for index in range(30)]
    (folder / "validation.jsonl").write_text("\n".join(rows))
    model = stage_folder(shared_lab, done.results, "retrain") / "model"
    parts = ("finetune", "search", "draw", "retrain", "attack")
    judged = run(evolve(make_recipe(f"evaluate.model={model}", without=parts), tasks=(LocalDataset(path=str(folder)),)), shared_lab)
    assert judged.results["tasks"]["challenge"]["0"]["evaluate"]["clean"]["n"] == 30
    with pytest.raises(DataError, match="no train examples"):
        run(evolve(make_recipe(), tasks=(LocalDataset(path=str(folder)),)), shared_lab)
