"""Settings that cannot have an effect are refused when requested, and reported when in a recipe; unused ones are not part of any key."""

from __future__ import annotations

from typing import Any

import pytest

from ticketlab.core import builtin_components
from ticketlab.core.errors import UsageError
from ticketlab.recipes import ineffective_settings, recipe
from ticketlab.recipes.compose import compose
from ticketlab.tasks.demo.reviews import DemoTask

STEPS = "scores without training"


@pytest.mark.parametrize(
    ("name", "overrides", "sets", "flag", "reason"),
    [
        ("orticket", {"stages": {"search": {"loss": "poe"}}}, [], "--search-loss poe", "`mlm` learns from no labels"),
        ("orticket", {}, ["search.watch_ood=true"], "--set search.watch_ood=true", "learns from no labels"),
        ("robust-ticket", {"pruner": "magnitude", "adversary": "freelb"}, [], "--adversary freelb", STEPS),
        ("robust-ticket", {"pruner": "magnitude", "stop": "mask-distance"}, [], "--stop mask-distance", STEPS),
        ("robust-ticket", {"pruner": "random", "loss": "focal"}, [], "--loss focal", STEPS),
        ("lottery-ticket", {}, ["search.epochs=7"], "--set search.epochs=7", STEPS),
        ("lottery-ticket", {}, ["search.lr=1e-3"], "--set search.lr=1e-3", STEPS),
        ("lottery-ticket", {}, ["search.batch_size=8"], "--set search.batch_size=8", STEPS),
        ("robust-ticket", {"pruner": "magnitude"}, ["search.adversary.steps=7"], "--set search.adversary.steps=7", STEPS),
        ("robust-ticket", {}, ["search.sparsity=0.5"], "--set search.sparsity=0.5", "has no target sparsity"),
        ("robust-ticket", {}, ["search.lr=1e-3"], "--set search.lr=1e-3", "`pruner.lr`"),
        ("robust-ticket", {}, ["finetune.select_on=macro_f1"], "--set finetune.select_on=macro_f1", '`select` is "last"'),
        ("robust-ticket", {}, ["finetune.select_after=0.5"], "--set finetune.select_after=0.5", '`select` is "last"'),
        ("robust-ticket", {}, ["finetune.hold_mask=false"], "--set finetune.hold_mask=false", "there is no ticket"),
        ("robust-ticket", {}, ["finetune.shrink=false"], "--set finetune.shrink=false", "there is no ticket"),
        ("robust-ticket", {}, ["finetune.reinit=inside"], "--set finetune.reinit=inside", "there is no ticket"),
        ("robust-ticket", {}, ["search.stop=mask-distance", "search.stop.heads=0.5"], "--set search.stop.heads=0.5", "and no heads"),
        ("robust-ticket", {}, ['search.stop={name="mask-distance",neurons=0.5}'], "`stop.neurons` has no effect", "and no neurons"),
        ("early-robust", {}, ["search.stop.weights=0.5"], "--set search.stop.weights=0.5", "and no weights"),
        ("early-robust", {}, ["draw.sparsity=0.5"], "--set draw.sparsity=0.5", "heads and neurons have their own"),
        ("robust-ticket", {}, ["draw.keep_a_head=false"], "--set draw.keep_a_head=false", "scores no heads"),
        ("srnet-imp", {}, ["search.clip_penalty=false"], "--set search.clip_penalty=false", "adds no penalty"),
        ("robust-ticket", {}, ["search.bias=bias.jsonl"], "--set search.bias=bias.jsonl", "`cross-entropy` needs no bias"),
        ("robust-ticket", {}, ["search.watch_ood=true"], "--set search.watch_ood=true", "no challenge sets"),
        ("robust-ticket", {}, ["search.pruner.target=0.7", "search.pruner.penalty=3"], "--set search.pruner.penalty=3", "by a Lagrangian"),
        (
            "robust-ticket",
            {},
            ["search.pruner.target=0.7", "search.pruner.penalty_ramp=1"],
            "--set search.pruner.penalty_ramp=1",
            "`target`",
        ),
        ("structured-hard-concrete", {}, ["search.pruner.target=1/2", "search.pruner.heads_penalty=3"], "heads_penalty=3", "a Lagrangian"),
        ("robust-ticket", {}, ["search.pruner.target_warmup=0.5"], "--set search.pruner.target_warmup=0.5", "there is no `target`"),
        ("fine-tune", {}, ["finetune.adversary.start_step=5"], "--set finetune.adversary.start_step=5", "`none` perturbs nothing"),
        ("robust-ticket", {}, ["search.stop.interval=0.1"], "--set search.stop.interval=0.1", "`none` observes nothing"),
        ("robust-ticket", {"stages": {"search": {"mix_ood": 0, "loss": "poe"}}, "pruner": "magnitude"}, [], "--search-loss poe", STEPS),
        ("robust-ticket", {}, ["retrain.reinit=outside"], "--set retrain.reinit=outside", "removed, unless `hold_mask` is false"),
        ("robust-ticket", {"adversary": "none"}, ["search.pruner.resample=pass"], "resample=pass", "`none` is a single pass"),
        (
            "robust-ticket",
            {},
            ["search.adversary={name='pgd',steps=1,share_dropout=true}"],
            "`adversary.share_dropout`",
            "one pass per step",
        ),
    ],
)
def test_a_requested_setting_without_effect_is_refused_with_its_flag_and_the_reason(
    name: str, overrides: Any, sets: list[str], flag: str, reason: str
) -> None:
    with pytest.raises(UsageError) as caught:
        compose(name, tasks=["demo"], sets=sets, **overrides)
    assert flag in str(caught.value)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "overrides", "sets"),
    [
        ("robust-ticket", {"pruner": "magnitude", "adversary": "none"}, []),  # what happens anyway
        ("robust-ticket", {"pruner": "magnitude"}, []),  # the recipe's adversary gets a warning and is not refused
        ("robust-ticket", {"sparsity": 0.5}, []),
        ("early-robust", {"sparsity": 0.5}, []),
        ("early-robust", {"heads": 0.5, "neurons": 0.4}, []),
        ("robust-ticket", {"stop": "patience"}, ["search.sparsity=0.5"]),  # patience evaluates tickets of this sparsity
        ("robust-ticket", {}, ["search.select=best", "search.sparsity=0.5", "search.select_after=0.5"]),
        ("robust-ticket", {}, ["search.stop.interval=0.1", "search.keep_masks=looks"]),  # masks are kept at these times
        ("robust-ticket", {}, ["search.adversary.start_step=5"]),
        ("robust-ticket", {}, ["retrain.reinit=outside", "retrain.hold_mask=false"]),
        ("robust-ticket", {}, ["search.pruner.resample=pass", "search.adversary.share_dropout=true"]),
        ("robust-ticket", {}, ["search.adversary={name='freelb',steps=1,clean_pass=true,share_dropout=true}"]),
        ("robust-ticket", {}, ["search.adversary.steps=1"]),  # the length of a step is the recipe's
        ("srnet", {"scale": "small"}, ["search.pruner.lr=1e-3"]),
        ("robust-ticket", {"scale": "small"}, ["search.pruner.target=0.7"]),  # the penalty is the recipe's
        ("early-robust", {"pruner": "hard-concrete", "stop": "mask-distance", "sparsity": 0.3}, []),  # the ratios of heads are the recipe's
        ("orticket", {"text": "notes.txt"}, ["search.objective.text=other.txt"]),
    ],
)
def test_a_setting_that_has_an_effect_or_its_default_is_accepted(name: str, overrides: Any, sets: list[str]) -> None:
    assert compose(name, tasks=["demo"], sets=sets, **overrides)


def made(**stages: Any) -> recipe.Recipe:
    return recipe.build_recipe("mine", {"tasks": [DemoTask(rows=24)], **stages})


TEXT = {"name": "mlm", "text": "notes.txt"}


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        (
            {"kind": "search", "pruner": "magnitude", "adversary": "freelb", "epochs": 5, "stop": "fixed", "select": "best"},
            "`adversary`, `select`, `stop` and `epochs` have no effect: `magnitude` scores without training",
        ),
        ({"kind": "train", "objective": TEXT, "loss": "focal"}, "`loss` has no effect: the objective `mlm` learns from no labels"),
        ({"kind": "train", "objective": TEXT, "teacher": "./x"}, "`teacher` has no effect: the objective `mlm` learns from no labels"),
        ({"kind": "search", "pruner": "importance", "stop": {"name": "mask-distance", "weights": 0.5}}, "`stop.weights` has no effect"),
        ({"kind": "search", "sparsity": 0.7}, "`sparsity` has no effect: `hard-concrete` has no target sparsity"),
        ({"kind": "train", "ticket": "./t", "hold_mask": False}, "`ticket` has no effect: `hold_mask` is false and `reinit` is none"),
        ({"kind": "train", "select_after": 0.5}, '`select_after` has no effect: `select` is "last"'),
        ({"kind": "draw", "search": "./s", "like": "./t", "sparsity": 0.6}, "`sparsity` has no effect: as many units"),
        ({"kind": "train", "adversary": {"name": "freelb", "steps": 1, "step_size": 0.5}}, "`adversary.step_size` has no effect: `freelb`"),
        ({"kind": "train", "adversary": {"name": "pgd", "steps": 1, "step_size": 0.5}}, "`adversary.step_size` has no effect: `pgd` moves"),
        ({"kind": "train", "loss": {"name": "focal", "reduction": "batch"}}, "`loss.reduction` has no effect: the loss `focal` gives all"),
        ({"kind": "search", "pruner": {"name": "mask-training", "schedule_end": 0.5}}, "`pruner.schedule_end` has no effect: there is no"),
    ],
)
def test_a_setting_of_a_recipe_without_effect_is_reported(stage: Any, said: str) -> None:
    (remark,) = ineffective_settings.stage_warnings(made(it=stage), "it")
    assert said in remark


def test_the_reduction_of_a_loss_with_weights_of_its_own_has_an_effect() -> None:
    stage = {"kind": "train", "bias": "./bias.jsonl", "loss": {"name": "reweight", "reduction": "weights"}}
    assert not ineffective_settings.stage_warnings(made(it=stage), "it")


def test_with_a_flag_choices_of_a_built_in_recipe_without_effect_are_reported_and_numbers_are_not() -> None:
    flagged = compose("robust-ticket", tasks=["demo"], scale="small", pruner="magnitude")
    assert flagged.stages["search"].epochs == 4  # type: ignore[attr-defined]
    assert ineffective_settings.stage_warnings(flagged, "search") == ["`adversary` has no effect: `magnitude` scores without training"]


def test_a_penalty_that_a_target_replaces_is_not_part_of_the_key_and_is_reported_unless_a_built_in_recipe_has_it() -> None:
    full, small = (compose("robust-ticket", tasks=["demo"], scale=scale, sets=["search.pruner.target=0.7"]) for scale in ("full", "small"))
    assert small.stages["search"].pruner.penalty == 100  # type: ignore[attr-defined]
    assert not ineffective_settings.stage_warnings(small, "search")
    identities = [flagged.stages["search"].identity()["pruner"] for flagged in (full, small)]
    assert identities[0] == identities[1]
    (remark,) = ineffective_settings.stage_warnings(made(it={"kind": "search", "pruner": {"target": 0.7, "penalty": 3}}), "it")
    assert remark == "`pruner.penalty` has no effect: `target` replaces the penalty by a Lagrangian"


def test_a_stop_rule_that_compared_masks_of_another_sparsity_is_reported() -> None:
    search = {"kind": "search", "pruner": "importance", "stop": {"name": "mask-distance", "heads": 0.25}}
    draw = {"kind": "draw", "search": "search", "heads": 0.25, "neurons": 0.5}
    (remark,) = ineffective_settings.stage_warnings(made(search=search, draw=draw), "draw")
    assert "0.5 of the neurons are removed, and the stop rule of `search` compared masks without 0.3 of them" in remark
    assert not ineffective_settings.stage_warnings(made(search=search, draw=draw | {"neurons": 0.3}), "draw")


def test_learning_rates_that_restart_before_the_end_of_their_warm_up_are_reported() -> None:
    search = {"kind": "search", "pruner": {"name": "imp", "restart": True}, "warmup": 0.1, "select": "best"}
    (remark,) = ineffective_settings.stage_warnings(made(search=search), "search")
    assert "they never stop rising" in remark
    assert not ineffective_settings.stage_warnings(made(search=search | {"warmup": 0.0}), "search")
    assert not ineffective_settings.stage_warnings(made(search=search | {"pruner": "imp"}), "search")


def test_an_unused_sparsity_equal_to_that_of_the_draw_gets_no_warning() -> None:
    stages = {"search": {"kind": "search", "sparsity": 0.7}, "draw": {"kind": "draw", "sparsity": 0.7}}
    assert not ineffective_settings.stage_warnings(made(**stages), "search")
    random = {
        "other": {"kind": "search", "pruner": "random"},
        "control": {"kind": "draw", "search": "other", "like": "draw", "sparsity": 0.7},
    }
    assert not ineffective_settings.stage_warnings(made(**stages, **random), "control")


TASKS = ("sst2", "imdb", "ag_news", "qnli", "qqp", "mnli", "fever")


@pytest.mark.parametrize("name", sorted(builtin_components.ticketlab_recipes()))
def test_no_built_in_recipe_has_a_setting_without_effect(name: str) -> None:
    tasks = ("mnli", "qqp", "fever") if name == "srnet-timing" else TASKS  # it watches the challenge sets of the paper's tasks
    stages: dict[str, Any] = {"search": {"task": "mnli"}} if name == "transfer-ticket" else {}  # all draws then share one search
    for task in tasks:
        for scale in (None, "small"):
            composed = compose(name, tasks=[task], scale=scale, stages=stages)
            assert [remark for stage in composed.stages for remark in ineffective_settings.stage_warnings(composed, stage)] == []
