"""Stages under masked language modelling: head warm-up, search, draw and retraining, in a lab."""

import multiprocessing
import os
import signal

import pytest
import torch
from safetensors.torch import load_file
from support.families import WITH_MLM, mostly_system

from ticketlab import run
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier, load_encoder, load_mlm
from ticketlab.core.errors import DataError
from ticketlab.recipes import recipe, tables
from ticketlab.tasks.demo.reviews import DemoTask
from ticketlab.tickets.ticket import Ticket
from ticketlab.training.checkpoint import Checkpoint


@pytest.fixture
def make(tiny, text_file):
    """Build a small recipe of some of the stages; ``sets`` are ``path=value``."""

    def build(*sets: str, stages=("head", "search", "draw", "retrain", "evaluate"), tasks=(DemoTask,), family="bert", **head):
        objective = {"name": "mlm", "text": str(text_file), "dev_rows": 8}
        common = {"batch_size": 8, "checkpoint_seconds": 0}
        table = {
            "head": {"kind": "train", "objective": objective, "trains": "head", "epochs": 2, "lr": 1e-2, **common},
            "search": {"kind": "search", "objective": objective, "start": "head", "epochs": 1, **common},
            "draw": {"kind": "draw", "sparsity": 0.3},
            "retrain": {"kind": "train", "ticket": "draw", "epochs": 1, "lr": 1e-3, **common},
            "evaluate": {"kind": "evaluate", "model": "retrain"},
        }
        table = {name: stage for name, stage in table.items() if name in stages}
        table |= {"model": str(tiny[family]), "max_length": 32, "precision": "fp32", "seeds": [0], **head}
        for assignment in sets:
            table = tables.override(table, assignment)
        table["tasks"] = [task(rows=24 + 8 * index, dev_rows=8, test_rows=8) for index, task in enumerate(tasks)]
        return recipe.build_recipe("small", table)

    return build


def stages_of(done, task="demo"):
    return done.results["tasks"][task]["0"]


def model_of(lab, done, stage) -> str:
    key = stages_of(done)[stage]["key"]
    return str(lab / "stages" / key[:2] / key / "model")


def encoder(model) -> dict[str, torch.Tensor]:
    return {name: value for name, value in model.base_model.state_dict().items() if not name.startswith("pooler.")}


@pytest.mark.parametrize("family", mostly_system(WITH_MLM))
def test_a_ticket_found_without_the_task_is_retrained_on_it(make, tmp_path, tiny, family):
    done = run(make("search.adversary=freelb", family=family), tmp_path)
    stages = stages_of(done)
    head, search = stages["head"]["train"], stages["search"]["search"]
    assert head["head"] == "trained"
    assert head["after"]["dev_loss"] < head["before"]["dev_loss"]
    assert search["objective"] == "mlm"
    assert {"dev_accuracy", "dev_loss"} <= set(search["history"][-1])
    assert search["trainable_parameters"] == stages["draw"]["ticket"]["units"]
    ticket = Ticket.load(next((done.directory / "tickets").iterdir()))
    assert "task" not in ticket.provenance
    assert ticket.provenance["objective"] == "mlm"
    assert ticket.provenance["text_fingerprint"] == search["text_fingerprint"] == head["text_fingerprint"]
    assert ticket.rewind_to == Backbone(load_encoder(str(tiny[family]))).weights_hash()
    assert stages["evaluate"]["clean"]["n"] == 8
    kept_or_never_masked = sum(parameter.numel() for parameter in load_classifier(str(tiny[family]), ("a", "b"), 0)[0].parameters())
    removed = stages["draw"]["ticket"]["units"] - stages["draw"]["ticket"]["kept"]
    assert stages["retrain"]["train"]["trainable_parameters"] == kept_or_never_masked - removed


@pytest.mark.parametrize("family", ["bert", "electra"])
def test_training_the_head_moves_no_weight_of_the_encoder(make, tmp_path, tiny, family):
    done = run(make(stages=("head",), family=family), tmp_path)
    trained, _, found = load_mlm(model_of(tmp_path, done, "head"), 0)
    before, after = encoder(load_encoder(str(tiny[family]))), encoder(trained)
    assert found
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert trained.get_output_embeddings().weight is trained.get_input_embeddings().weight
    fresh, *_ = load_mlm(str(tiny[family]), 0)
    own = [name for name, _ in trained.named_parameters() if not name.startswith(f"{trained.base_model_prefix}.")]
    counted = sum(trained.get_parameter(name).numel() for name in own)
    assert stages_of(done)["head"]["train"]["trainable_parameters"] == counted
    assert all(not torch.equal(trained.get_parameter(name), fresh.get_parameter(name)) for name in own)


def test_an_existing_head_is_kept_and_nothing_is_trained(make, tmp_path, capsys):
    first = run(make(stages=("head",)), tmp_path / "one")
    place = model_of(tmp_path / "one", first, "head")
    again = run(make(stages=("head",), model=place), tmp_path / "two")
    found = stages_of(again)["head"]["train"]
    assert (found["head"], found["steps"], found["trainable_parameters"]) == ("found", 0, 0)
    assert found["before"] == found["after"] == stages_of(first)["head"]["train"]["after"]
    assert "already has a head for `mlm`" in capsys.readouterr().err
    one, other = (load_file(f"{path}/model.safetensors") for path in (place, model_of(tmp_path / "two", again, "head")))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_search_under_a_random_head_gives_a_warning(make, tmp_path, capsys):
    run(make("search.start=pretrained", stages=("search",)), tmp_path / "one")
    assert 'start from a train stage with the same objective and `trains = "head"`' in capsys.readouterr().err
    run(make(stages=("head", "search")), tmp_path / "two")
    assert "random" not in capsys.readouterr().err


def test_two_tasks_share_a_search_without_a_task_and_its_draw(make, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(DemoTask, "label", property(lambda self: f"demo{self.rows}"))
    done = run(make(tasks=(DemoTask, DemoTask)), tmp_path)
    first, second = (done.results["tasks"][name]["0"] for name in ("demo24", "demo32"))
    for stage in ("head", "search", "draw"):
        assert second[stage] == first[stage] | {"same_as": ["demo24", "0", stage]}
    assert first["retrain"]["key"] != second["retrain"]["key"]
    lines = capsys.readouterr().err.splitlines()
    assert "seed 0 search: found in the lab" in lines
    assert [line for line in lines if " search: " in line and not line.startswith("seed 0 search")] == []


def test_an_edited_text_changes_the_keys_and_a_moved_one_does_not(make, tmp_path, text_file):
    def key():
        return stages_of(run(make(stages=("head",)), tmp_path / "lab"))["head"]["key"]

    first = key()
    assert key() == first
    content = text_file.read_text()
    text_file.write_text(content.replace("film", "plot", 1))
    assert key() != first
    moved = tmp_path / "moved.txt"
    moved.write_text(content)
    elsewhere = run(make(f"head.objective.text={moved}", stages=("head",)), tmp_path / "lab")
    assert stages_of(elsewhere)["head"]["key"] == first


def test_the_loss_of_the_task_is_not_part_of_the_key(make):
    losses = (f'head.loss={{name="cross-entropy", reduction="{reduction}"}}' for reduction in ("weights", "batch"))
    one, other = (make(loss).stages["head"] for loss in losses)
    assert one.identity() == other.identity()


def test_a_missing_text_is_reported_before_anything_is_computed(make, tmp_path):
    with pytest.raises(DataError, match="nowhere"):
        run(make("search.objective.text=./nowhere.txt"), tmp_path / "lab")
    assert not list((tmp_path / "lab").rglob("*"))


def _die_in(stage, made, lab) -> None:
    """Kill this process, as `kill -9` would, at the third checkpoint of a stage."""
    torch.set_num_threads(1)
    save = Checkpoint.save
    count = 0

    def dying(self, *arguments):
        nonlocal count
        save(self, *arguments)
        count += 1
        if count == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    Checkpoint.save = dying
    run(made, lab)


@pytest.mark.parametrize("stage", ["head", pytest.param("all", marks=pytest.mark.system)])
def test_a_killed_training_stage_resumes_to_the_same_bits(make, tmp_path, stage):
    made = make("head.adversary=freelb", f"head.trains={stage}", stages=("head",))
    whole = run(made, tmp_path / "whole")
    child = multiprocessing.get_context("fork").Process(target=_die_in, args=(stage, made, tmp_path / "parts"))
    child.start()
    child.join(120)
    assert child.exitcode == -signal.SIGKILL
    parts = run(made, tmp_path / "parts")
    one, other = ({**stages_of(done)["head"], "cost": None} for done in (whole, parts))
    assert one == other
    tensors = [
        load_file(f"{model_of(tmp_path / name, done, 'head')}/model.safetensors") for name, done in (("whole", whole), ("parts", parts))
    ]
    assert all(torch.equal(tensors[0][name], tensors[1][name]) for name in tensors[0])


def test_a_classifier_starts_from_a_masked_language_model_and_the_other_way_round(make, tmp_path):
    sets = ("head.trains=all", "retrain.ticket=none", "retrain.start=head", "retrain.lr=1e-9")
    done = run(make(*sets, stages=("head", "retrain", "evaluate")), tmp_path / "one")
    language, *_ = load_mlm(model_of(tmp_path / "one", done, "head"), 0)
    place = model_of(tmp_path / "one", done, "retrain")
    classifier, _ = load_classifier(place, ("negative", "positive"), 0)
    taken, given = encoder(classifier), encoder(language)
    assert all(torch.allclose(taken[name], given[name], atol=1e-6) for name in given)
    back, _, found = load_mlm(place, 0)
    assert not found
    assert all(torch.equal(encoder(back)[name], taken[name]) for name in taken)


@pytest.mark.parametrize("select", ["last", "best"])
def test_everything_can_be_trained_and_the_best_epoch_kept(make, tmp_path, select):
    done = run(make("head.trains=all", "head.epochs=3", f"head.select={select}", "head.lr=0.05", stages=("head",)), tmp_path)
    found = stages_of(done)["head"]["train"]
    accuracies = [record["dev_accuracy"] for record in found["history"]]
    assert found["after"]["dev_accuracy"] == (max(accuracies) if select == "best" else accuracies[-1])


def test_a_linear_probe_trains_only_the_classifier(make, tmp_path, tiny):
    done = run(make("retrain.ticket=none", "retrain.trains=head", stages=("retrain",)), tmp_path)
    trained, _ = load_classifier(model_of(tmp_path, done, "retrain"), ("negative", "positive"), 0)
    before, _ = load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)
    assert all(torch.equal(trained.bert.state_dict()[name], value) for name, value in before.bert.state_dict().items())
    assert not torch.equal(trained.classifier.weight, before.classifier.weight)
    assert stages_of(done)["retrain"]["train"]["trainable_parameters"] == 2 * 32 + 2


def test_the_time_of_the_steps_is_less_than_that_of_the_stage(make, tmp_path):
    cost = stages_of(run(make(stages=("head",)), tmp_path))["head"]["cost"]
    assert 0 < cost["training_seconds"] < cost["seconds"]
