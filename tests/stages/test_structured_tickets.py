"""EarlyRobust on tiny models, end to end: the search stops early, a kill changes nothing, and retraining cuts the model down."""

import multiprocessing
import os
import signal

import pytest
import torch
from support.families import mostly_system
from transformers import AutoModelForSequenceClassification

import ticketlab.auto
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier, load_finished
from ticketlab.backbone.shrinking import is_shrunk, masks_of
from ticketlab.core.errors import SettingError, UsageError
from ticketlab.recipes import recipe, tables
from ticketlab.runs.run import run
from ticketlab.stop_rules.mask_distance import MaskDistance
from ticketlab.tasks.demo.reviews import DemoTask
from ticketlab.tickets.draw import for_groups, group_of
from ticketlab.tickets.ticket import Ticket
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.plan import TrainingPlan

TABLE = {
    "search": {
        "kind": "search", "epochs": 4, "lr": 1e-3, "batch_size": 8,
        "pruner": "importance", "adversary": {"name": "freelb", "steps": 2},
        "stop": {"name": "mask-distance", "interval": 0.3, "threshold": 0.2, "times": 2, "heads": 0.25, "neurons": 0.3},
    },
    "draw": {"kind": "draw", "heads": 0.25, "neurons": 0.3},
    "retrain": {"kind": "train", "ticket": "draw", "epochs": 1, "lr": 1e-3, "batch_size": 8},
    "evaluate": {"kind": "evaluate", "model": "retrain"},
}  # fmt: skip


EVERY_STEP = ("search.checkpoint_seconds=0",)


def make(model, *sets, without=()):
    table = {name: stage for name, stage in TABLE.items() if name not in without}
    table |= {"model": str(model), "max_length": 48, "precision": "fp32"}
    for assignment in sets:
        table = tables.override(table, assignment)
    table["tasks"] = [DemoTask(rows=48, dev_rows=12, test_rows=24)]
    return recipe.build_recipe("structured", table)


def stages_of(done):
    return done.results["tasks"]["demo"]["0"]


def folder(lab, done, name):
    key = stages_of(done)[name]["key"]
    return lab / "stages" / key[:2] / key


@pytest.mark.parametrize("family", mostly_system())
def test_a_structured_ticket_is_exact_and_the_retrained_model_is_smaller_and_loads_anywhere(family, tiny, tmp_path):
    done = run(make(tiny[family]), tmp_path)
    stages = stages_of(done)
    groups = stages["draw"]["ticket"]["groups"]
    assert (groups["heads"]["units"], groups["heads"]["kept"]) == (8, 6)
    assert (groups["neurons"]["units"], groups["neurons"]["kept"]) == (128, 128 - 38)
    ticket = Ticket.load(folder(tmp_path, done, "draw") / "ticket.safetensors")
    place = folder(tmp_path, done, "retrain") / "model"
    model, _, names = load_finished(str(place))
    assert names == ("negative", "positive")
    assert is_shrunk(model)
    assert all(torch.equal(mask, ticket.masks[name]) for name, mask in masks_of(model).items())
    assert sum(parameter.numel() for parameter in model.parameters()) == stages["retrain"]["train"]["trainable_parameters"]
    assert ticketlab.auto
    again = AutoModelForSequenceClassification.from_pretrained(place).state_dict()
    assert all(torch.equal(value, again[name]) for name, value in model.state_dict().items())


def test_retraining_starts_from_the_pretrained_weights_of_what_is_kept(tiny, tmp_path):
    done = run(make(tiny["bert"], "retrain.lr=1e-30"), tmp_path)
    ticket = Ticket.load(folder(tmp_path, done, "draw") / "ticket.safetensors")
    model, _, _ = load_finished(str(folder(tmp_path, done, "retrain") / "model"))
    pretrained, _ = load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)
    expected = ticket.shrink(pretrained)
    for name, value in expected.base_model.state_dict().items():
        assert float((value - model.base_model.state_dict()[name]).abs().max()) < 1e-28, name  # the rate is 1e-30


def test_without_shrinking_the_same_units_are_held_at_zero(tiny, tmp_path):
    done = run(make(tiny["bert"], "retrain.shrink=false"), tmp_path)
    ticket = Ticket.load(folder(tmp_path, done, "draw") / "ticket.safetensors")
    model, _, _ = load_finished(str(folder(tmp_path, done, "retrain") / "model"))
    assert not is_shrunk(model)
    backbone = Backbone(model)
    for index, layer in enumerate(backbone.layers):
        columns = layer.ffn_out.weight.abs().sum(dim=0)
        assert torch.equal(columns > 0, ticket.masks[f"neurons/{index}"])


def test_shrunk_and_held_have_as_many_trainable_parameters(tiny, tmp_path):
    shrunk, held = (
        stages_of(run(make(tiny["bert"], *sets), tmp_path))["retrain"]["train"]["trainable_parameters"]
        for sets in ((), ("retrain.shrink=false",))
    )
    assert shrunk == held


def test_the_search_stops_early_reproducibly_and_reports_it(tiny, tmp_path, capsys):
    one, other = (stages_of(run(make(tiny["bert"], without=("draw", "retrain", "evaluate")), tmp_path / name)) for name in "ab")
    search = one["search"]["search"]
    assert search["stop"]["stopped"]
    assert search["steps"] < 24
    assert f"search: the stop rule `mask-distance` ended it after step {search['steps']}" in " ".join(capsys.readouterr().err.split())
    assert search == other["search"]["search"]
    assert all(look["heads"] < 0.2 and look["neurons"] < 0.2 for look in search["stop"]["looks"][-2:])
    assert search["history"][-1]["step"] == search["steps"]


def _search_and_die(tiny, lab, after):
    saves = 0
    save = Checkpoint.save

    def counted(self, *arguments):
        nonlocal saves
        save(self, *arguments)
        saves += 1
        if saves == after:
            os.kill(os.getpid(), signal.SIGKILL)

    Checkpoint.save = counted
    torch.set_num_threads(1)
    run(make(tiny, *EVERY_STEP, without=("draw", "retrain", "evaluate")), lab)


@pytest.fixture(scope="module")
def whole_search(tiny, tmp_path_factory):
    """A search that saves at every step, and its scores."""
    lab = tmp_path_factory.mktemp("whole")
    done = run(make(tiny["bert"], *EVERY_STEP, without=("draw", "retrain", "evaluate")), lab)
    return stages_of(done)["search"]["search"], (folder(lab, done, "search") / "scores.safetensors").read_bytes()


@pytest.mark.parametrize("after", [1, 3, 5])
def test_a_killed_search_stops_at_the_same_step_with_the_same_bits(after, tiny, whole_search, tmp_path):
    process = multiprocessing.get_context("fork").Process(target=_search_and_die, args=(tiny["bert"], tmp_path / "killed", after))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    resumed = run(make(tiny["bert"], *EVERY_STEP, without=("draw", "retrain", "evaluate")), tmp_path / "killed")
    scores = folder(tmp_path / "killed", resumed, "search") / "scores.safetensors"
    assert (stages_of(resumed)["search"]["search"], scores.read_bytes()) == whole_search


def test_a_search_that_never_converges_ends_at_its_limit_with_a_warning_and_the_distances(tiny, tmp_path, capsys):
    done = run(make(tiny["bert"], "search.stop.threshold=1e-9", "search.stop.times=50", without=("draw", "retrain", "evaluate")), tmp_path)
    search = stages_of(done)["search"]["search"]
    assert search["steps"] == 24
    assert not search["stop"]["stopped"]
    assert len(search["stop"]["looks"]) == 13
    err = " ".join(capsys.readouterr().err.split())
    assert "warning: demo seed 0 search: the stop rule `mask-distance` did not end the search in 24 steps" in err
    assert "neurons" in err
    assert stages_of(done)["search"]["warnings"][0].startswith("the stop rule `mask-distance` did not end the search")


@pytest.mark.parametrize("compare", ["consecutive", "first"])
def test_a_ticket_drawn_at_the_first_observation_is_that_of_a_search_that_ended_there(compare, tiny, tmp_path):
    only = ("retrain", "evaluate", "draw")
    early = (f"search.stop.compare={compare}", "search.stop.draw_at=first")
    done = run(make(tiny["bert"], *early, without=only), tmp_path)
    stop = stages_of(done)["search"]["search"]["stop"]
    steps = [look["step"] for look in stop["looks"]]
    assert stop["stopped"]
    assert stop["drawn_at"] == steps[-3] < steps[-1]  # times = 2
    at = f"search.stop={{name = 'fixed', at = {stop['drawn_at'] / 6 - 0.01:.3f}, interval = 0.05}}"  # 6 steps an epoch
    ended = run(make(tiny["bert"], at, without=only), tmp_path)
    assert stages_of(ended)["search"]["search"]["steps"] == stop["drawn_at"]
    scores = [(folder(tmp_path, one, "search") / "scores.safetensors").read_bytes() for one in (done, ended)]
    assert scores[0] == scores[1]
    with pytest.raises(SettingError, match=r"search\.stop\.draw_at: the ticket comes from an earlier observation"):
        make(tiny["bert"], *early, "search.select=best", without=only)


def test_the_stop_rule_changes_the_key_of_a_search_and_the_ratios_of_the_draw_do_not(tiny, tmp_path):
    only = ("retrain", "evaluate")
    base = stages_of(run(make(tiny["bert"], without=only), tmp_path))
    drawn = stages_of(run(make(tiny["bert"], "draw.heads=0.5", "draw.neurons=0.5", without=only), tmp_path))
    stopped = stages_of(run(make(tiny["bert"], "search.stop=none", without=only), tmp_path))
    assert base["search"]["key"] == drawn["search"]["key"] != stopped["search"]["key"]
    assert drawn["draw"]["ticket"]["groups"]["heads"]["kept"] == 4


@pytest.mark.parametrize("pruner", ["magnitude", "hard-concrete", "random"])
def test_drawing_heads_from_scores_of_weights_is_refused_before_the_search(pruner, tiny):
    with pytest.raises(UsageError, match=r"draw.heads: the search `search` scores weights and no heads; .* \(--sparsity\)"):
        make(tiny["bert"], f"search.pruner={pruner}")
    make(tiny["bert"], f"search.pruner={pruner}", "draw.heads=none", "draw.neurons=none")
    make(tiny["bert"], 'search.pruner={name = "random", structured = true}')


@pytest.mark.parametrize("pruner", ["magnitude", "hard-concrete", "random", "importance", '{name = "random", structured = true}'])
def test_a_pruner_scores_the_groups_that_it_names(pruner, tiny):
    settings = make(tiny["bert"], f"search.pruner={pruner}", without=("draw", "retrain", "evaluate")).stages["search"].pruner
    model, _ = load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)
    search = settings.begin(TrainingPlan(model, steps=1, seed=0))
    assert {group_of(name) for name in search.scores()} == set(settings.groups())


def test_a_pruner_that_does_not_declare_its_groups_is_checked_when_drawing():
    with pytest.raises(UsageError, match="the search scored weights only; remove the settings of heads"):
        for_groups({"weights/a": torch.ones(2)}, 0.3, heads=0.2)


@pytest.mark.parametrize(
    ("heads", "neurons", "keep", "kept"),
    [
        (0, 0, True, (8, 128)),
        (1e-9, 1e-9, True, (8, 128)),
        (0.75, 0.999, True, (2, 0)),
        (0.999, 0.5, False, (0, 64)),
        (1.0, 1.0, False, (0, 0)),
    ],
    ids=["nothing", "next to nothing", "all that the guard gives", "all heads", "everything"],
)
def test_any_ratio_removes_exactly_its_number_of_units(heads, neurons, keep, kept, tiny, tmp_path_factory):
    sets = (f"draw.heads={heads}", f"draw.neurons={neurons}", f"draw.keep_a_head={str(keep).lower()}", "search.epochs=0.5")
    stages = stages_of(run(make(tiny["bert"], *sets), tmp_path_factory.getbasetemp() / "ends"))  # one search is enough for all of them
    groups = stages["draw"]["ticket"]["groups"]
    assert (groups["heads"]["kept"], groups["neurons"]["kept"]) == kept
    assert stages["evaluate"]["clean"]["n"] == 24


def test_a_monitor_does_not_end_a_search(tiny, tmp_path):
    done = run(make(tiny["bert"], "search.sparsity=0.95", "search.epochs=1", without=("draw", "retrain", "evaluate")), tmp_path)
    assert stages_of(done)["search"]["search"]["history"][-1]["dev_accuracy"] >= 0  # the guard of heads leaves at most 6 of 8 to remove


@pytest.mark.parametrize("reinit", ["inside", "outside"])
def test_the_ablations_of_initialisation_and_structure_run_on_structured_tickets(reinit, tiny, tmp_path):
    done = run(make(tiny["bert"], f"retrain.reinit={reinit}", f"retrain.hold_mask={'true' if reinit == 'inside' else 'false'}",
                    "retrain.lr=1e-30"), tmp_path)  # fmt: skip
    model, _, _ = load_finished(str(folder(tmp_path, done, "retrain") / "model"))
    ticket = Ticket.load(folder(tmp_path, done, "draw") / "ticket.safetensors")
    pretrained, _ = load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)
    if reinit == "inside":
        assert is_shrunk(model)
        expected = Backbone(ticket.shrink(pretrained)).layers[0].ffn_in.weight
        assert not bool((Backbone(model).layers[0].ffn_in.weight == expected).any())
    else:
        assert not is_shrunk(model)
        same = (Backbone(model).layers[0].ffn_in.weight == Backbone(pretrained).layers[0].ffn_in.weight).all(dim=1)
        assert torch.equal(same, ticket.masks["neurons/0"])


def test_patience_evaluates_the_ticket_that_would_be_drawn(tiny, tmp_path):
    patience = "search.stop={name='patience', looks=1, interval=0.5, rise=0.9}"
    done = run(make(tiny["bert"], patience, without=("draw", "retrain", "evaluate")),
               tmp_path)  # fmt: skip
    stop = stages_of(done)["search"]["search"]["stop"]
    assert stop["stopped"]
    assert [look["without_rise"] for look in stop["looks"]] == [0, 1]


def test_masks_at_the_ratios_of_the_stop_rule_are_those_of_draw(tiny):
    from ticketlab.tickets.draw import draw

    scores = {name: torch.rand(shape) for name, shape in
              {"heads/0": (4,), "heads/1": (4,), "neurons/0": (64,), "neurons/1": (64,)}.items()}  # fmt: skip
    expected = draw(scores, {"heads": 0.25, "neurons": 0.3})
    found = MaskDistance(heads=0.25, neurons=0.3).masks(scores)
    assert all(torch.equal(found[name], mask) for name, mask in expected.items())
