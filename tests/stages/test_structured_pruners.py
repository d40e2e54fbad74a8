"""Searches for heads and neurons with sparsities of their own, through the stages of a recipe."""

import pytest
import torch

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_finished
from ticketlab.backbone.masks import expand
from ticketlab.backbone.shrinking import is_shrunk
from ticketlab.core.errors import SettingError
from ticketlab.recipes import recipe, tables
from ticketlab.recipes.ineffective_settings import stage_warnings
from ticketlab.runs.run import run
from ticketlab.stages import search as search_stage
from ticketlab.stages.base import Stage
from ticketlab.tasks.demo.reviews import DemoTask
from ticketlab.tickets.draw import draw
from ticketlab.tickets.snapshots import load_masks
from ticketlab.tickets.ticket import Ticket

TABLE = {
    "search": {"kind": "search", "epochs": 2, "lr": 1e-3, "batch_size": 8, "heads": 0.25, "neurons": 0.3},
    "draw": {"kind": "draw", "heads": 0.25, "neurons": 0.3},
}
RETRAIN = {
    "retrain": {"kind": "train", "ticket": "draw", "epochs": 1, "lr": 1e-3, "batch_size": 8},
    "evaluate": {"kind": "evaluate", "model": "retrain"},
}
PRUNERS = {
    "hard-concrete": "structured-hard-concrete",
    "mask-training": {"name": "structured-mask-training", "lr": 0.01, "threshold_steps": 4},
    "imp": {"name": "structured-imp", "interval": 0.2},
}


def make(tiny, pruner, *sets, more=None):
    table = TABLE | (more or {}) | {"model": str(tiny["bert"]), "max_length": 48, "precision": "fp32"}
    table["search"] = {**TABLE["search"], "pruner": pruner}
    for assignment in sets:
        table = tables.override(table, assignment)
    return recipe.build_recipe("structured", table | {"tasks": [DemoTask(rows=48, dev_rows=12, test_rows=24)]})


def stages_of(done):
    return done.results["tasks"]["demo"]["0"]


def folder(lab, done, name):
    key = stages_of(done)[name]["key"]
    return lab / "stages" / key[:2] / key


@pytest.mark.parametrize("pruner", PRUNERS.values(), ids=PRUNERS)
def test_the_ticket_is_exact_and_the_retrained_model_is_smaller(pruner, tiny, tmp_path):
    done = run(make(tiny, pruner, more=RETRAIN), tmp_path)
    stages = stages_of(done)
    groups = stages["draw"]["ticket"]["groups"]
    assert {group: (found["units"], found["kept"]) for group, found in groups.items()} == {"heads": (8, 6), "neurons": (128, 90)}
    assert stages["search"]["search"]["looks_at_sparsity"] == {"heads": 0.25, "neurons": 0.3}
    assert is_shrunk(load_finished(str(folder(tmp_path, done, "retrain") / "model"))[0])
    assert stages["evaluate"]["clean"]["n"] == 24


@pytest.mark.parametrize("pruner", ["mask-training", "imp"])
def test_a_search_that_leaves_a_model_applies_its_ticket(pruner, tiny, tmp_path):
    done = run(make(tiny, PRUNERS[pruner], more={"evaluate": {"kind": "evaluate", "model": "search"}}), tmp_path)
    ticket = Ticket.load(folder(tmp_path, done, "draw") / "ticket.safetensors")
    assert stages_of(done)["search"]["search"]["sparsity"] == {"heads": 0.25, "neurons": 38 / 128}
    backbone = Backbone(load_finished(str(folder(tmp_path, done, "search") / "model"))[0])
    assert ticket.found_on == stages_of(done)["search"]["search"]["found_on"]
    for name, kept in expand(backbone, ticket.masks).items():
        assert not bool(torch.any(backbone.parameter(name)[~kept]))
        assert bool(torch.all(backbone.parameter(name)[kept])) or name.endswith("bias")


def test_development_scores_are_of_tickets_at_both_sparsities(tiny, tmp_path, monkeypatch):
    drawn = []

    def recording(scores, sparsity, *scope, **settings):
        drawn.append(dict(sparsity))
        return draw(scores, sparsity, *scope, **settings)

    monkeypatch.setattr(search_stage, "draw", recording)
    run(make(tiny, "importance", "search.select=best", "search.epochs=1"), tmp_path)
    assert drawn == [{"heads": 0.25, "neurons": 0.3}]


def test_snapshots_of_masks_are_at_both_sparsities_and_a_stop_rule_compares_its_own(tiny, tmp_path):
    stop = 'search.stop={name = "mask-distance", interval = 0.3, threshold = 0.9, times = 2, heads = 0.5, neurons = 0.5}'
    done = run(make(tiny, PRUNERS["hard-concrete"], stop), tmp_path)
    found = stages_of(done)["search"]["search"]
    assert found["stop"]["stopped"]
    assert [look["under"] for look in found["stop"]["looks"]] == [0, 1, 2]
    kept = run(make(tiny, PRUNERS["hard-concrete"], "search.keep_masks=evaluations"), tmp_path)
    for masks in load_masks(folder(tmp_path, kept, "search") / "masks.safetensors").values():
        assert sum(int(mask.sum()) for name, mask in masks.items() if name.startswith("heads")) == 6
        assert sum(int(mask.sum()) for name, mask in masks.items() if name.startswith("neurons")) == 90


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["draw.heads=0.5"], r"draw\.heads: .* `structured-imp` targets 0\.25, so .* drawn at 0\.5; .*\(--heads does\)"),
        (["draw.neurons=none"], None),  # that of all units is the same
        (["search.neurons=none", "search.sparsity=0.4"], r"draw\.neurons: .* targets 0\.4, so .* at 0\.3"),
        (["draw.keep_a_head=false"], r"draw\.keep_a_head: .*the units that it has ranked itself; unset this"),
        (["draw.scope=local"], r"draw\.scope: `structured-imp` ranks units as `global`"),
        (["search.pruner.interval=0.4"], None),
        (["search.pruner.interval=0.4", "search.neurons=0.4", "draw.neurons=0.4"], r"search\.pruner\.interval: the sparsity 0\.4 takes 4"),
    ],
)
def test_what_the_search_cannot_reach_is_refused_before_anything_is_computed(sets, said, tiny):
    if said is None:
        assert make(tiny, PRUNERS["imp"], *sets)
        return
    with pytest.raises(SettingError, match=said):
        make(tiny, PRUNERS["imp"], *sets)


def test_sparsities_of_groups_are_part_of_a_key_only_where_they_have_an_effect(tiny):
    def identity(pruner, *sets) -> dict:
        stage: Stage = make(tiny, pruner, *sets).stages["search"]
        return stage.identity()

    without = ("search.heads=none", "search.neurons=none", "draw.heads=none", "draw.neurons=none")
    assert identity("importance") == identity("importance", *without)
    assert identity("magnitude", *without[2:]) == identity("magnitude", *without)
    assert identity("mask-training", *without[2:]) == identity("mask-training", *without)
    assert identity(PRUNERS["imp"]) != identity(PRUNERS["imp"], *without)
    assert identity("importance", "search.select=best") != identity("importance", "search.select=best", *without)


def test_sparsities_without_an_effect_are_reported(tiny):
    unscored = make(tiny, "mask-training", "draw.heads=none", "draw.neurons=none")
    assert stage_warnings(unscored, "search") == [
        f"`{group}` has no effect: `mask-training` scores weights and no {group}" for group in ("heads", "neurons")
    ]
    (remark,) = stage_warnings(make(tiny, PRUNERS["imp"], "search.sparsity=0.5"), "search")
    assert remark == "`sparsity` has no effect: heads and neurons have their own (`heads`, `neurons`)"
