"""Snapshots of a search: tickets drawn from its scores at a step, and the masks at every observation."""

import json

import pytest
import torch

from ticketlab.core.errors import SettingError, UsageError
from ticketlab.pruners.base import Search
from ticketlab.pruners.importance import ImportanceSearch
from ticketlab.recipes import recipe, tables
from ticketlab.runs.run import run
from ticketlab.stages import search_snapshots
from ticketlab.stop_rules.mask_distance import distances
from ticketlab.tasks.demo.reviews import DemoTask
from ticketlab.tickets.draw import draw
from ticketlab.tickets.scores import load_scores
from ticketlab.tickets.snapshots import load_masks, pairwise_distances
from ticketlab.tickets.survival import survival
from ticketlab.tickets.ticket import Ticket

TABLE = {
    "search": {"kind": "search", "epochs": 2, "lr": 1e-3, "batch_size": 8, "pruner": "importance"},
    "draw": {"kind": "draw", "heads": 0.25, "neurons": 0.3},
}
STEPS = 12  # 48 rows in batches of 8, two epochs
COMPARED = 'search.stop={name="mask-distance", interval=0.5, threshold=1e-9, times=50, heads=0.25, neurons=0.3}'
STOPPED = 'search.stop={name="fixed", at=0.5}'


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A lab for tests that work with any stages already in it."""
    return tmp_path_factory.mktemp("shared") / "lab"


def make(tiny, *sets):
    table = TABLE | {"model": str(tiny["bert"]), "max_length": 48, "precision": "fp32", "tasks": ["demo"]}
    for assignment in sets:
        table = tables.override(table, assignment)
    return recipe.build_recipe("snapshots", table | {"tasks": [DemoTask(rows=48, dev_rows=12, test_rows=24)]})


def folder(lab, done, name):
    key = done.results["tasks"]["demo"]["0"][name]["key"]
    return lab / "stages" / key[:2] / key


def interrupted(small, lab, monkeypatch):
    """Run a recipe whose search fails at its ninth step, as at a kill."""
    original = ImportanceSearch.on_step_start

    def on_step_start(self, step):
        if step == 8:
            raise KeyboardInterrupt
        return original(self, step)

    with monkeypatch.context() as patched:
        patched.setattr(ImportanceSearch, "on_step_start", on_step_start)
        with pytest.raises(KeyboardInterrupt):
            run(small, lab)


def test_a_ticket_drawn_at_a_step_is_that_of_a_search_that_ended_there(tiny, lab):
    """The fixed rule ends the other search after half of an epoch, 3 steps, with the learning rates of a search of two epochs."""
    early = run(make(tiny, "draw.search=search@3"), lab)
    ended = run(make(tiny, STOPPED), lab)
    tickets = [Ticket.load(folder(lab, done, "draw") / "ticket.safetensors") for done in (early, ended)]
    assert all(torch.equal(mask, tickets[1].masks[name]) for name, mask in tickets[0].masks.items())
    assert (tickets[0].provenance["at"], tickets[1].provenance.get("at")) == ("3", None)
    stages = early.results["tasks"]["demo"]["0"]
    assert stages["draw"]["inputs"] == {"search": "search@3"}
    assert stages["search"]["search"]["steps"] == STEPS


def test_the_key_of_the_search_is_the_same_and_a_finished_search_is_replayed_for_a_missing_step(tiny, tmp_path):
    whole = run(make(tiny), tmp_path)
    place = folder(tmp_path, whole, "search")
    before = (place / "scores.safetensors").read_bytes()
    steps = ("0", "25%", "100%")
    tickets = {}
    for at in steps:
        done = run(make(tiny, f"draw.search=search@{at}"), tmp_path)
        assert folder(tmp_path, done, "search") == place
        assert (place / "scores.safetensors").read_bytes() == before
        tickets[at] = folder(tmp_path, done, "draw")
    assert (place / "scores@100%.safetensors").read_bytes() == before
    at_start = load_scores(place / "scores@0.safetensors")
    assert all(bool((score == 1).all()) for score in at_start.values())
    assert len({*tickets.values(), folder(tmp_path, whole, "draw")}) == 4
    times = (place / "result.json").stat().st_mtime_ns
    run(make(tiny, "draw.search=search@25%"), tmp_path)
    assert (place / "result.json").stat().st_mtime_ns == times


def test_an_interrupted_search_gives_the_same_snapshots(tiny, lab, tmp_path, monkeypatch):
    sets = ("search.checkpoint_seconds=0", "draw.search=search@50%", "search.keep_masks=looks", COMPARED)
    interrupted(make(tiny, *sets), tmp_path, monkeypatch)
    resumed, whole = run(make(tiny, *sets), tmp_path), run(make(tiny, *sets), lab)
    for file in ("scores@50%.safetensors", "masks.safetensors", "scores.safetensors"):
        assert (folder(tmp_path, resumed, "search") / file).read_bytes() == (folder(lab, whole, "search") / file).read_bytes()


def test_an_interrupted_search_that_has_passed_a_needed_step_starts_over(tiny, lab, tmp_path, monkeypatch):
    interrupted(make(tiny, "search.checkpoint_seconds=0"), tmp_path, monkeypatch)
    resumed, whole = (run(make(tiny, "draw.search=search@3"), place) for place in (tmp_path, lab))
    files = [(folder(place, done, "search") / "scores@3.safetensors").read_bytes() for place, done in ((tmp_path, resumed), (lab, whole))]
    assert files[0] == files[1]


def test_a_step_after_the_stop_rule_ended_the_search_is_an_error_that_says_so(tiny, lab):
    for _ in range(2):  # the search is finished, and not computed again
        with pytest.raises(UsageError, match=r"no scores at `search@50%`: the stop rule `fixed` ended the search after step 3, and 50% is"):
            run(make(tiny, STOPPED, "draw.search=search@50%"), lab)
    assert not folder(lab, run(make(tiny, STOPPED), lab), "search").joinpath("scores@50%.safetensors").exists()


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (("draw.search=search@500",), "there is no checkpoint at 500: the training has 12 steps"),
        (("draw.search=search@101%",), "there is no checkpoint at 101%"),
        (
            ("search.pruner=magnitude", "draw.search=search@3", "draw.heads=none", "draw.neurons=none"),
            "draw.search: `magnitude` scores",
        ),
        (("search.pruner=imp", "draw.search=search@3", "draw.heads=none", "draw.neurons=none"), "draw.search: `imp` trains"),
        (("draw.like=draw@3",), "draw.like: there is no earlier stage `draw@3`"),
    ],
    ids=["after-the-end", "percent", "no-steps", "trains-weights", "other-setting"],
)
def test_impossible_steps_are_refused(sets, message, tiny, lab):
    with pytest.raises((SettingError, UsageError), match=message):
        run(make(tiny, *sets), lab)


def test_a_model_of_a_search_has_no_steps(tiny):
    table = TABLE | {"evaluate": {"kind": "evaluate", "model": "search@3"}}
    with pytest.raises(SettingError, match=r"only a train stage saves checkpoints; a search saves its scores at a step, for draws"):
        recipe.build_recipe("wrong", table)


def test_masks_are_kept_at_every_look_and_their_distances_are_those_of_the_stop_rule(tiny, lab):
    done = run(make(tiny, "search.keep_masks=looks", COMPARED), lab)
    found = done.results["tasks"]["demo"]["0"]["search"]["search"]
    masks = load_masks(folder(lab, done, "search") / "masks.safetensors")
    assert list(masks) == found["masks"]["steps"] == [3, 6, 9, 12]
    looks = {look["step"]: look for look in found["stop"]["looks"]}
    matrices = pairwise_distances(masks)
    for row, (before, after) in enumerate([(3, 6), (6, 9), (9, 12)]):
        between = distances(masks[before], masks[after])
        assert between == {group: looks[after][group] for group in ("heads", "neurons")}
        assert all(float(matrices[group][row, row + 1]) == between[group] for group in between)
    ticket = Ticket.load(folder(lab, done, "draw") / "ticket.safetensors")
    assert all(torch.equal(mask, ticket.masks[name]) for name, mask in masks[12].items())


def test_masks_at_evaluations_are_drawn_at_the_sparsity_of_the_search(tiny, lab):
    sets = ("search.keep_masks=evaluations", "search.eval_steps=5", "search.sparsity=0.5", "search.pruner=hard-concrete")
    done = run(make(tiny, *sets, "draw.heads=none", "draw.neurons=none"), lab)
    place = folder(lab, done, "search")
    masks = load_masks(place / "masks.safetensors")
    assert list(masks) == [5, 10, 12]
    history = done.results["tasks"]["demo"]["0"]["search"]["search"]["history"]
    assert [record["step"] for record in history] == [5, 10, 12]
    assert all(0 <= record[name] <= 1 for record in history for name in ("gates_at_zero", "gates_at_one", "penalty"))
    config = json.loads((tiny["bert"] / "config.json").read_text())
    ticket = Ticket.load(folder(lab, done, "draw") / "ticket.safetensors")
    assert ticket.heads_per_layer == config["num_attention_heads"]
    assert [part.head for part in survival(ticket) if part.layer == 0] == [*range(config["num_attention_heads"]), None]
    last = draw(load_scores(place / "scores.safetensors"), 0.5, keep_a_head=False)
    assert all(torch.equal(mask, last[name]) for name, mask in masks[12].items())


def test_keeping_masks_changes_the_key_and_not_the_scores(tiny, lab):
    plain, kept = run(make(tiny, COMPARED), lab), run(make(tiny, "search.keep_masks=looks", COMPARED), lab)
    places = [folder(lab, done, "search") for done in (plain, kept)]
    assert places[0] != places[1]
    assert len({(place / "scores.safetensors").read_bytes() for place in places}) == 1
    assert "keep_masks" not in make(tiny).stages["search"].identity()


def test_a_file_of_masks_that_would_be_too_large_is_refused_before_the_first_step(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(search_snapshots, "LARGEST", 1000)
    monkeypatch.setattr(Search, "on_step_start", lambda *_: pytest.fail("a step was made"))
    with pytest.raises(UsageError, match=r"search\.keep_masks: up to 12 masks of .* MB are more than .*; keep fewer"):
        run(make(tiny, "search.keep_masks=looks", "search.pruner=hard-concrete", "draw.heads=none", "draw.neurons=none"), tmp_path)
