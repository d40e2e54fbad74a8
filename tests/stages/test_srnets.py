"""SRNets on tiny models, end to end: the masked model is evaluated, the classifier is stored, and kills change nothing."""

import importlib
import json
import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import pytest
import torch
from support.families import FAMILIES, mostly_system

from ticketlab.backbone import temporary_masks
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.classifier_head import head_of
from ticketlab.backbone.loading import load_classifier, load_finished
from ticketlab.core.errors import DataError, SettingError, UsageError
from ticketlab.objectives.base import TrainingContext
from ticketlab.objectives.task import TaskObjective
from ticketlab.recipes import recipe, tables
from ticketlab.runs.run import run
from ticketlab.stages.best_checkpoint import BestCheckpoint
from ticketlab.tasks.base import Task
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.demo.reviews import DemoTask
from ticketlab.tickets.draw import removed_count
from ticketlab.tickets.ticket import Ticket
from ticketlab.training.checkpoint import Checkpoint

TABLE = {
    "bias": {"kind": "bias", "model": "claim-only", "folds": 3},
    "finetune": {"kind": "train", "epochs": 2, "lr": 1e-3, "batch_size": 8},
    "search": {
        "kind": "search", "start": "finetune", "epochs": 2, "batch_size": 8, "lr": 1e-3, "sparsity": 0.5,
        "loss": "poe", "bias": "bias", "pruner": {"name": "mask-training", "lr": 0.02, "threshold_steps": 3},
    },
    "draw": {"kind": "draw", "sparsity": 0.5},
    "evaluate": {"kind": "evaluate", "model": "search"},
}  # fmt: skip


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A lab for tests that work with any stages already in it."""
    return tmp_path_factory.mktemp("shared") / "lab"


EVERY_STEP = ("finetune.checkpoint_seconds=0", "search.checkpoint_seconds=0")


def make(model, *sets, task: Task | None = None, ood=(), without=(), **before):
    table = before | {name: stage for name, stage in TABLE.items() if name not in without}
    table |= {"model": str(model), "max_length": 48, "precision": "fp32", "ood": list(ood)}
    for assignment in sets:
        table = tables.override(table, assignment)
    table["tasks"] = [task or DemoTask(rows=48, dev_rows=12, test_rows=24)]
    return recipe.build_recipe("srnet", table)


def stages_of(done):
    (task,) = done.results["tasks"].values()
    return task["0"]


def folder(lab, done, name):
    key = stages_of(done)[name]["key"]
    return lab / "stages" / key[:2] / key


def masked(model, ticket):
    backbone = Backbone(model)
    return {name: backbone.weight(name).detach()[~mask] for name, mask in ticket.masks.items()}


@pytest.mark.parametrize(
    ("pruner", "family"),
    [
        *mostly_system(FAMILIES, "mask-training"),
        *mostly_system(("bert", "deberta-v2"), "imp"),
        *mostly_system(("roberta", "electra", "distilbert", "albert", "gpt2"), "imp-rewind"),
    ],
)
def test_the_model_of_a_search_has_its_ticket_applied_at_exactly_the_sparsity(pruner, family, tiny, lab):
    done = run(make(tiny[family], f'search.pruner={{name = "{pruner}"}}'), lab)
    ticket = Ticket.load(folder(lab, done, "draw") / "ticket.safetensors")
    model, _, names = load_finished(str(folder(lab, done, "search") / "model"))
    assert names == ticket.labels == ("negative", "positive")
    assert {f"weights/{path}.weight" for path in Backbone(model).classifier} == ticket.masks.keys() - Backbone(model).units().keys()
    for name, mask in ticket.masks.items():
        assert int((~mask).sum()) == removed_count(0.5, mask.numel()), name
    assert all(not torch.any(values) for values in masked(model, ticket).values())
    for name, value in head_of(model).items():
        assert torch.equal(value, ticket.head[name])
    stages = stages_of(done)
    assert stages["search"]["search"]["sparsity"]["weights"] == pytest.approx(ticket.sparsity("weights"))
    assert stages["evaluate"]["of"] == "search"
    assert stages["draw"]["ticket"]["groups"]["weights"]["achieved"] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("pruner", ["mask-training", "imp-rewind"])
def test_the_kept_weights_are_bit_for_bit_those_of_the_start(pruner, tiny, lab):
    done = run(make(tiny["bert"], f'search.pruner={{name = "{pruner}"}}'), lab)
    start = load_finished(str(folder(lab, done, "finetune") / "model"))[0]
    found = load_finished(str(folder(lab, done, "search") / "model"))[0]
    ticket = Ticket.load(folder(lab, done, "draw") / "ticket.safetensors")
    ticket.apply(start)
    theirs = found.state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in start.state_dict().items())


def test_imp_keeps_the_weights_that_it_trained(tiny, lab):
    done = run(make(tiny["bert"], 'search.pruner={name = "imp"}'), lab)
    start = load_finished(str(folder(lab, done, "finetune") / "model"))[0].state_dict()
    found = load_finished(str(folder(lab, done, "search") / "model"))[0].state_dict()
    assert not torch.equal(start["bert.embeddings.LayerNorm.weight"], found["bert.embeddings.LayerNorm.weight"])


def test_a_ticket_on_pretrained_weights_is_reproduced_by_its_file_alone(tiny, lab):
    """The random classifier that it was found with is in the file: without it the predictions could not be reproduced."""
    done = run(make(tiny["bert"], "search.start=pretrained", without=("finetune",)), lab)
    ticket = Ticket.load(next((done.directory / "tickets").glob("*.safetensors")))
    found = load_finished(str(folder(lab, done, "search") / "model"))[0]
    model = load_classifier(str(tiny["bert"]), ticket.labels, seed=99)[0]
    with torch.no_grad():
        for name, value in ticket.head.items():
            model.state_dict()[name].copy_(value)
    ticket.apply(model)
    theirs = found.state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("family", mostly_system())
def test_the_mask_of_the_classifier_applies_only_to_the_classifier_it_was_found_with(family, tiny, lab):
    """At 90 % the mask of the tiny classifier of BERT would leave 6 of 64 weights of a new one."""
    fine_tuned = {"kind": "train", "ticket": "draw", "epochs": 1, "lr": 1e-3, "batch_size": 8}
    sets = ("search.sparsity=0.9", "draw.sparsity=0.9", "search.loss=cross-entropy", "search.bias=none", "search.pruner.pooler=true")
    table = make(tiny[family], *sets, without=("bias",)).to_table() | {"retrain": fine_tuned}
    done = run(recipe.build_recipe("srnet", table), lab)
    ticket = Ticket.load(folder(lab, done, "draw") / "ticket.safetensors")
    trained = load_finished(str(folder(lab, done, "retrain") / "model"))[0]
    encoder = Backbone(trained).units().keys() | {Backbone(trained).inner_pooler}
    outside = ticket.masks.keys() - encoder
    assert outside
    assert all(bool(torch.all(Backbone(trained).weight(name) != 0)) for name in outside)
    assert all(not torch.any(values) for name, values in masked(trained, ticket).items() if name not in outside)
    assert ticket.is_applied(Backbone(trained))
    held = [mask for name, mask in ticket.masks.items() if name not in outside]
    share = sum(int((~mask).sum()) for mask in held) / sum(mask.numel() for mask in held)
    assert stages_of(done)["retrain"]["train"]["sparsity"] == {"weights": share}
    for labels in (("a", "b", "c"), ("negative", "positive")):
        new = load_classifier(str(tiny[family]), labels, seed=7)[0]
        assert ticket.masks_on(Backbone(new)).keys().isdisjoint(outside)
    own = load_finished(str(folder(lab, done, "finetune") / "model"))[0]
    assert ticket.masks_on(Backbone(own)).keys() == ticket.masks.keys()
    table["retrain"] = fine_tuned | {"hold_classifier": True}
    held_too = run(recipe.build_recipe("srnet", table), lab)
    model = load_finished(str(folder(lab, held_too, "retrain") / "model"))[0]
    assert all(not torch.any(values) for values in masked(model, ticket).values())


@pytest.mark.parametrize("hold", [False, True])
def test_a_classifier_from_the_seed_of_that_of_the_search_is_a_new_one(hold, tiny, lab):
    """Both classifiers are initialised from one seed, and IMP rewinds: the new one has the values that the ticket was found with."""
    search = {"kind": "search", "start": "pretrained", "epochs": 2, "batch_size": 8, "sparsity": 0.9, "pruner": "imp-rewind"}
    retrain = {"kind": "train", "ticket": "draw", "epochs": 1, "lr": 1e-3, "batch_size": 8, "hold_classifier": hold}
    made = make(tiny["bert"], "draw.sparsity=0.9", without=("bias", "finetune", "search", "evaluate"), search=search)
    done = run(recipe.build_recipe("isolated", made.to_table() | {"retrain": retrain}), lab)
    trained = load_finished(str(folder(lab, done, "retrain") / "model"))[0]
    zeros = int((trained.classifier.weight == 0).sum())
    assert zeros == (removed_count(0.9, 64) if hold else 0)


def test_a_checkpoint_of_fine_tuning_is_a_start(tiny, lab):
    whole = stages_of(run(make(tiny["bert"]), lab))
    done = run(make(tiny["bert"], "search.start=finetune@4"), lab)
    stages = stages_of(done)
    assert stages["finetune"]["key"] == whole["finetune"]["key"]
    assert stages["search"]["key"] != whole["search"]["key"]
    early = load_finished(str(folder(lab, done, "finetune") / "model@4"))[0]
    assert stages["search"]["search"]["found_on"] == Backbone(early).weights_hash()
    # 48 rows in batches of 8, two epochs: a third of 12 steps
    third = stages_of(run(make(tiny["bert"], "search.start=finetune@33.4%"), lab))
    assert third["search"]["search"]["found_on"] == stages["search"]["search"]["found_on"]


def test_training_again_for_a_checkpoint_gives_the_same_bits(tiny, tmp_path):
    """The lab has the fine-tuning, but not the checkpoint that is needed now, so it is trained again."""
    first = run(make(tiny["bert"]), tmp_path)
    place = folder(tmp_path, first, "finetune") / "model" / "model.safetensors"
    before = place.read_bytes()
    run(make(tiny["bert"], "search.start=finetune@0"), tmp_path)
    assert place.read_bytes() == before
    start = load_finished(str(place.parent.parent / "model@0"))[0].state_dict()
    fresh = load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)[0].state_dict()
    assert torch.equal(start["bert.encoder.layer.0.output.dense.weight"], fresh["bert.encoder.layer.0.output.dense.weight"])


def test_a_checkpoint_after_the_end_is_an_error_with_the_number_of_steps(tiny, tmp_path):
    with pytest.raises(UsageError, match=r"there is no checkpoint at 500: the training has 12 steps"):
        run(make(tiny["bert"], "search.start=finetune@500"), tmp_path)
    with pytest.raises(SettingError, match=r"only a train stage saves checkpoints"):
        make(tiny["bert"], "evaluate.model=search@3")


def test_the_best_evaluation_after_a_part_of_the_training_is_kept(tiny, lab):
    sets = ("search.eval_steps=3", "search.select=best", "search.select_after=0.7")
    done = run(make(tiny["bert"], *sets), lab)
    search = stages_of(done)["search"]["search"]
    looks = {int(look["step"]): look["dev_accuracy"] for look in search["history"]}
    assert sorted(looks) == [3, 6, 9, 12]
    stage = make(tiny["bert"]).stages["finetune"]
    data = DemoTask(rows=48, dev_rows=12, test_rows=24).load()
    place = folder(lab, done, "finetune") / "model"
    session = TaskObjective().start_session(TrainingContext(str(place), data, stage.loss, 48, "fp32", 0))
    ticket = Ticket.load(folder(lab, done, "draw") / "ticket.safetensors")
    with temporary_masks.temporarily_masked(Backbone(session.model), ticket.masks):
        assert session.evaluate()["dev_accuracy"] == max(looks[9], looks[12])


def test_the_best_evaluation_is_kept_while_the_sparsity_still_rises_and_measures_the_final_sparsity(tiny, tmp_path, monkeypatch):
    """The paper: the best after 0.7 of the training, not the last. Evaluations at steps 3, 6, 9 and 12 of 12 have falling scores."""
    scores, sparsities = iter([0.9, 0.8, 0.7, 0.6]), []
    real = TaskObjective.start_session

    def start_session(self, context):
        session = real(self, context)

        def evaluate():
            backbone = Backbone(session.model)
            zeros = sum(int((backbone.weight(name) == 0).sum()) for name in backbone.units(classifier=True) if name.startswith("weights/"))
            sparsities.append(zeros / sum(backbone.weight(name).numel() for name in backbone.units(classifier=True) if "weights" in name))
            return {"dev_accuracy": next(scores)}

        session.evaluate = evaluate
        return session

    gradual = "search.pruner={name = 'mask-training', lr = 0.02, threshold_steps = 3, initial = 'soft', initial_sparsity = 0.2}"
    sets = (
        gradual,
        "search.sparsity=0.5",
        "search.eval_steps=3",
        "search.select=best",
        "search.select_after=0.7",
        "search.start=pretrained",
    )
    kept = []
    monkeypatch.setattr(TaskObjective, "start_session", start_session)
    monkeypatch.setattr(BestCheckpoint, "offer", lambda self, score, tensors: kept.append(score))
    run(make(tiny["bert"], *sets, without=("finetune", "evaluate")), tmp_path)
    assert kept == [0.7, 0.6]
    assert sparsities == pytest.approx([0.5] * 4, abs=0.01)


def test_challenge_sets_are_evaluated_for_curves_and_select_nothing(tiny, tmp_path):
    task = LocalDataset(path=str(pairs(tmp_path / "nli" / "train.jsonl", 120, ("entailment", "neutral", "contradiction"))))
    path = pairs(tmp_path / "hans" / "validation.jsonl", 40, ("entailment", "non-entailment"), shift=3)
    ood = LocalDataset(path=str(path), positive_label="entailment")
    sets = ("search.eval_steps=6", "search.select=last")
    stages = [
        stages_of(run(make(tiny["bert"], *sets, *more, task=task, ood=[ood], without=("draw",)), tmp_path / "lab"))
        for more in ((), ("search.watch_ood=true", "finetune.watch_ood=true"))
    ]
    plain, watched = (found["search"]["search"] for found in stages)
    last, measured = watched["history"][-1], stages[1]["evaluate"]["ood"]["hans"]
    scores = {name.removeprefix("hans_"): value for name, value in last.items() if name.startswith("hans_")}
    assert scores == {name: measured[name] for name in ("accuracy", "macro_f1", "weighted_f1", "binary_f1")}
    without = [{name: value for name, value in look.items() if not name.startswith("hans_")} for look in watched["history"]]
    assert without == plain["history"]


def test_the_best_can_be_selected_by_the_f1_of_the_positive_label(tiny, tmp_path):
    path = pairs(tmp_path / "pairs" / "train.jsonl", 60, ("yes", "no"))
    sets = ("finetune.select=best", "finetune.select_on=binary_f1", "finetune.eval_steps=2")
    recipe = make(
        tiny["bert"], *sets, task=LocalDataset(path=str(path), positive_label="no"), without=("bias", "search", "draw", "evaluate")
    )
    done = run(recipe, tmp_path / "lab")
    history = stages_of(done)["finetune"]["train"]["history"]
    scores = {f"dev_{name}" for name in ("accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "binary_f1", "matthews")}
    assert scores <= history[0].keys()
    (data,) = (task.load() for task in recipe.tasks)
    session = TaskObjective().start_session(
        TrainingContext(str(folder(tmp_path / "lab", done, "finetune") / "model"), data, recipe.stages["finetune"].loss, 48, "fp32", 0)
    )
    assert session.evaluate()["dev_binary_f1"] == max(look["dev_binary_f1"] for look in history)
    with pytest.raises(
        UsageError, match=r"finetune\.select_on: binary_f1 is the F1 of a positive label, and `pairs` \(no, yes\) declares none"
    ):
        run(make(tiny["bert"], *sets, task=LocalDataset(path=str(path)), without=("bias", "search", "draw", "evaluate")), tmp_path / "lab")
    with pytest.raises(SettingError, match=r"finetune\.select_on: the objective `mlm` has no macro_f1"):
        make(tiny["bert"], 'finetune.objective={name = "mlm", text = "a.txt"}', "finetune.select_on=macro_f1")


def test_a_challenge_set_under_another_name_changes_the_key(tiny, tmp_path):
    task = LocalDataset(path=str(pairs(tmp_path / "nli" / "train.jsonl", 120, ("entailment", "neutral", "contradiction"))))
    for name in ("one", "two"):
        ood = LocalDataset(path=str(pairs(tmp_path / name / "validation.jsonl", 40, ("entailment", "non-entailment"), shift=3)))
        done = run(make(tiny["bert"], task=task, ood=[ood], without=("draw",)), tmp_path / "lab")
        assert list(stages_of(done)["evaluate"]["ood"]) == [name]


def test_a_challenge_set_of_single_texts_is_refused_under_a_task_of_pairs(tiny, tmp_path):
    task = LocalDataset(path=str(pairs(tmp_path / "nli" / "train.jsonl", 120, ("entailment", "neutral", "contradiction"))))
    ood = LocalDataset(
        path=str(pairs(tmp_path / "hans" / "validation.jsonl", 40, ("entailment", "non-entailment"))), text_columns=("premise",)
    )
    with pytest.raises(DataError, match=r"hans: its text columns are `premise`, but those of nli are `premise`, `hypothesis`"):
        run(make(tiny["bert"], task=task, ood=[ood]), tmp_path / "lab")


def test_invalid_combinations_are_refused_before_anything_is_trained(tiny, tmp_path):
    with pytest.raises(SettingError, match=r"search\.pruner\.interval: .* takes 5 prunings"):
        make(tiny["bert"], 'search.pruner={name = "imp", interval = 0.5}')
    with pytest.raises(SettingError, match=r"search\.pruner\.initial_sparsity: 0\.9 is more than"):
        make(tiny["bert"], "search.pruner.initial_sparsity=0.9")
    with pytest.raises(SettingError, match=r"draw\.heads: the search `search` scores weights and no heads"):
        make(tiny["bert"], "draw.heads=0.25")
    own = tmp_path / "own.jsonl"
    own.write_text('{"id": "train-0", "negative": 0.5, "positive": 0.5}')
    with pytest.raises(DataError, match=r"47 of 48"):
        run(make(tiny["bert"], f"search.bias={own}", without=("bias",)), tmp_path / "lab")
    assert not (tmp_path / "lab" / "stages").exists()


def test_the_labels_of_a_teacher_are_matched_by_name(tiny, lab, tmp_path):
    first = run(make(tiny["bert"]), lab)
    place = folder(lab, first, "finetune") / "model"
    sets = ("search.loss=confreg", f"search.teacher={place}")
    plain = run(make(tiny["bert"], *sets), lab)
    other = tmp_path / "renamed"
    shutil.copytree(place, other)
    config = json.loads((other / "config.json").read_text())
    config |= {"id2label": {"0": "bad", "1": "good"}, "label2id": {"bad": 0, "good": 1}}
    (other / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=r"map them with search\.teacher_labels bad=NAME"):
        run(make(tiny["bert"], "search.loss=confreg", f"search.teacher={other}"), tmp_path / "lab")
    assert not (tmp_path / "lab").exists()
    names = 'search.teacher_labels=["bad=negative", "good=positive"]'
    named = run(make(tiny["bert"], "search.loss=confreg", f"search.teacher={other}", names), lab)
    scores = [(folder(lab, done, "search") / "scores.safetensors").read_bytes() for done in (plain, named)]
    assert scores[0] == scores[1]


def test_the_sparsity_of_a_draw_must_be_the_target_of_the_search(tiny):
    with pytest.raises(SettingError, match=r"draw\.sparsity: the search `search` with `mask-training` targets 0\.5"):
        make(tiny["bert"], "draw.sparsity=0.7")
    with pytest.raises(SettingError, match=r"draw\.scope: `mask-training` ranks units as `local`"):
        make(tiny["bert"], "draw.scope=global")
    assert make(tiny["bert"], "draw.scope=global", "search.pruner.scope=global")
    with pytest.raises(SettingError, match=r"evaluate\.model: a search with `hard-concrete` produces scores and no model"):
        make(tiny["bert"], 'search.pruner={name = "hard-concrete"}')


def test_a_loss_without_its_inputs_is_refused_before_anything_runs(tiny):
    with pytest.raises(SettingError, match=r"search\.bias: the loss `poe` needs it"):
        make(tiny["bert"], "search.bias=none")
    with pytest.raises(SettingError, match=r"search\.teacher: the loss `confreg` needs it"):
        make(tiny["bert"], "search.loss=confreg")


def test_bias_and_teacher_are_part_of_the_key_only_if_the_loss_uses_them(tiny, lab):
    plain = stages_of(run(make(tiny["bert"], "search.loss=cross-entropy", "search.bias=none", without=("bias",)), lab))
    named = stages_of(run(make(tiny["bert"], "search.loss=cross-entropy", "search.teacher=finetune"), lab))
    assert plain["search"]["key"] == named["search"]["key"]
    poe = stages_of(run(make(tiny["bert"]), lab))
    assert poe["search"]["key"] != plain["search"]["key"]


@pytest.mark.parametrize("loss", ["poe", "reweight", "confreg", "focal"])
@pytest.mark.parametrize("stage", ["finetune", "search"])
def test_every_debiasing_loss_runs_in_every_training_stage_under_an_adversary(loss, stage, tiny, lab):
    sets = (f"{stage}.loss={loss}", f"{stage}.bias=bias", f"{stage}.teacher=teacher", f'{stage}.adversary={{name = "freelb", steps = 2}}')
    done = run(make(tiny["bert"], *sets, teacher=TABLE["finetune"]), lab)
    assert stages_of(done)["evaluate"]["clean"]["n"] == 24


def test_a_file_of_probabilities_is_joined_by_id(tiny, lab, tmp_path):
    first = run(make(tiny["bert"]), lab)
    lines = (folder(lab, first, "bias") / "bias.jsonl").read_text().splitlines()
    own = tmp_path / "own.jsonl"
    own.write_text("\n".join(reversed(lines)))
    done = run(make(tiny["bert"], f"search.bias={own}", without=("bias",)), lab)
    scores = [(folder(lab, one, "search") / "scores.safetensors").read_bytes() for one in (first, done)]
    assert scores[0] == scores[1]
    own.write_text("\n".join(lines[:-3]))
    with pytest.raises(DataError, match=r"3 of 48"):
        run(make(tiny["bert"], f"search.bias={own}", without=("bias",)), lab)


def killed(model, lab, sets, after):
    saves = 0
    save = Checkpoint.save

    def counted(self, *arguments):
        nonlocal saves
        save(self, *arguments)
        saves += 1
        if saves == after:
            os.kill(os.getpid(), signal.SIGKILL)

    Checkpoint.save = counted
    run(make(model, *EVERY_STEP, *sets), lab)


@pytest.mark.parametrize(
    ("pruner", "after"),
    [
        ("mask-training", 15),
        ("imp", 13),
        *(pytest.param(*case, marks=pytest.mark.system) for case in [("mask-training", 13), ("mask-training", 18), ("imp-rewind", 15)]),
    ],
)
def test_a_killed_search_resumes_to_the_same_bytes(pruner, after, tiny, lab, tmp_path):
    """Fine-tuning saves 11 times, so these kills are in the search; the best of the evaluations at every third step is kept."""
    sets = (f'search.pruner={{name = "{pruner}"}}', "search.eval_steps=3", "search.select=best")
    child = multiprocessing.get_context("fork").Process(target=killed, args=(tiny["bert"], tmp_path / "killed", sets, after))
    child.start()
    child.join()
    assert child.exitcode in (-signal.SIGKILL, 0 if pruner != "mask-training" else -signal.SIGKILL)  # IMP may be done
    files = [
        [(folder(place, done, "search") / file).read_bytes() for file in ("scores.safetensors", "model/model.safetensors")]
        for place, done in ((place, run(make(tiny["bert"], *EVERY_STEP, *sets), place)) for place in (tmp_path / "killed", lab))
    ]
    assert files[0] == files[1]


def stopped_at(what, monkeypatch):
    """Make a stage fail at the first call of a function, as a kill would."""
    module, name = what.rsplit(".", 1)
    called = importlib.import_module(module)

    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(called, name, fail)


@pytest.mark.parametrize("where", ["ticketlab.stages.search.save_scores", "ticketlab.backbone.saving.write_model"])
def test_the_best_checkpoint_survives_a_kill_after_the_last_step(where, tiny, lab, tmp_path, monkeypatch):
    sets = (*EVERY_STEP, "finetune.select=best", "search.select=best", "search.eval_steps=3")
    whole = run(make(tiny["bert"], *sets), lab)
    with monkeypatch.context() as patched:
        stopped_at(where, patched)
        with pytest.raises(KeyboardInterrupt):
            run(make(tiny["bert"], *sets), tmp_path / "killed")
    done = run(make(tiny["bert"], *sets), tmp_path / "killed")
    for stage, file in (("finetune", "model/model.safetensors"), ("search", "scores.safetensors")):
        ours, theirs = ((folder(place, one, stage) / file).read_bytes() for place, one in ((tmp_path / "killed", done), (lab, whole)))
        assert ours == theirs
    assert not list((tmp_path / "killed" / "stages").rglob("best.*"))


def test_a_resumed_training_that_has_passed_a_needed_checkpoint_starts_over(tiny, tmp_path):
    child = multiprocessing.get_context("fork").Process(target=killed, args=(tiny["bert"], tmp_path, (), 8))
    child.start()
    child.join()
    done = run(make(tiny["bert"], "search.start=finetune@4"), tmp_path)
    assert (folder(tmp_path, done, "finetune") / "model@4").is_dir()


def pairs(path: Path, rows: int, labels, shift: int = 0) -> Path:
    words = ("cat", "dog", "man", "boy", "girl", "ball", "tree", "road", "house", "car")
    lines = []
    for number in range(rows):
        first = f"the {words[(number + shift) % 10]} sees the {words[number // 10 % 10]} {number}"
        lines.append(
            {
                "premise": first,
                "hypothesis": f"a {words[number % 7]} is there",
                "label": labels[number % len(labels)],
                "kind": f"k{number % 2}",
            }
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def test_a_challenge_set_is_evaluated_under_the_labels_that_it_means(tiny, tmp_path):
    task = LocalDataset(path=str(pairs(tmp_path / "nli" / "train.jsonl", 120, ("entailment", "neutral", "contradiction"))))
    ood = LocalDataset(path=str(pairs(tmp_path / "hans" / "validation.jsonl", 40, ("entailment", "non-entailment"), shift=3)))
    done = run(make(tiny["bert"], task=task, ood=[ood], without=("draw",)), tmp_path / "lab")
    found = stages_of(done)["evaluate"]["ood"]["hans"]
    assert found["n"] == 40
    assert found["majority"] == 0.5
    assert found["meaning"] == {"entailment": ["entailment"], "non-entailment": ["contradiction", "neutral"]}
    assert sum(found["predicted"].values()) == 40
    assert set(found["subsets"]["kind"]) == {"k0", "k1"}
    assert done.results["ood"] == ["hans"]


def test_training_examples_of_a_challenge_set_are_mixed_in_and_the_others_evaluated(tiny, tmp_path):
    task = LocalDataset(path=str(pairs(tmp_path / "nli" / "train.jsonl", 120, ("entailment", "neutral", "contradiction"))))
    ood = LocalDataset(
        path=str(pairs(tmp_path / "hans" / "validation.jsonl", 40, ("entailment", "non-entailment"), shift=3)), train_share=0.5
    )
    made = make(tiny["bert"], "search.loss=cross-entropy", "search.mix_ood=2", task=task, ood=[ood], without=("draw", "bias"))
    stages = stages_of(run(made, tmp_path / "lab"))
    assert stages["evaluate"]["ood"]["hans"]["n"] == 20
    # 120 rows give 96 to train on: three epochs of 12 steps become (96 + 2 x 20) / 8 = 17 an epoch
    assert stages["search"]["search"]["steps"] == 2 * 17
    with pytest.raises(SettingError, match=r"search\.mix_ood: the loss `poe` needs a bias model"):
        make(tiny["bert"], "search.mix_ood=1", task=task, ood=[ood])
