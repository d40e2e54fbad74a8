"""Plans: which keys apply to a cell, which cells are the same, and which stages are distinct."""

import tomllib

import pytest
import tomlkit
from support.small_study import NOISE, small_study

from ticketlab.core import registry
from ticketlab.core.errors import UsageError
from ticketlab.core.plugin_source import Source
from ticketlab.runs.stage_key import StageFacts
from ticketlab.studies.cell_recipe import compose_cells
from ticketlab.studies.levels import parse_vary
from ticketlab.studies.plan import inapplicable_factors, plan_study
from ticketlab.studies.read_definition import study_of
from ticketlab.studies.required_plugin import reason_not_loaded


@pytest.fixture
def plan_of(small_recipe_file, tmp_path):
    return lambda vary=None, **more: plan_study(small_study(small_recipe_file, vary, **more), tmp_path / "lab")


def kinds(plan):
    return sorted(planned.stage.name for planned in plan.stages.values())


def test_a_search_serves_all_sparsities_and_fine_tuning_all_pruners(plan_of):
    plan = plan_of({"pruner": ["hard-concrete", "magnitude"], "sparsity": [0.1, 0.3, 0.5]}, seeds=2)
    found = kinds(plan)
    assert found.count("train") == 2 + 2 * 6  # one fine-tuning a seed, and one retraining a cell and seed
    assert found.count("search") == 2 * 2  # one a pruner and seed
    assert plan.users() == 2 * 6 * 5


def test_stages_come_after_those_that_they_need(plan_of):
    plan = plan_of({"sparsity": [0.1, 0.3]}, seeds=2)
    seen = set()
    for key, planned in plan.stages.items():
        assert seen.issuperset(planned.needs)
        seen.add(key)
    assert all(planned.needs for planned in plan.stages.values() if planned.name != "finetune")


def test_cells_that_cannot_differ_are_the_same(plan_of):
    plan = plan_of({"pruner": ["hard-concrete", "magnitude"], "adversary": ["none", "freelb"]})
    assert [cell.same_as for cell in plan.cells] == [None, None, None, 2]
    assert inapplicable_factors(plan.study, plan.cells) == [(), (), ("adversary",), ("adversary",)]


def test_a_setting_that_a_pruner_lacks_does_not_apply_to_it(plan_of):
    plan = plan_of({"pruner": ["hard-concrete", "magnitude"], "search.pruner.penalty": [0.1, 1.0]})
    assert [cell.cell.inapplicable for cell in plan.cells] == [(), (), ("search.pruner.penalty",), ("search.pruner.penalty",)]
    assert inapplicable_factors(plan.study, plan.cells)[2:] == [("search.pruner.penalty",)] * 2
    assert plan.cells[3].same_as == 2


def test_a_setting_of_the_study_applies_to_the_recipes_that_have_it(small_recipe_file):
    study = study_of(
        "x", {"recipes": [str(small_recipe_file), "fine-tune"], "tasks": ["demo"], "set": {"search.epochs": 3, "finetune.epochs": 1}}
    )
    ticket, plain = compose_cells(study)
    assert ticket.recipe.stages["search"].epochs == 3
    assert plain.inapplicable == ("search.epochs",)
    assert plain.recipe.stages["finetune"].epochs == 1


def pruners(plan):
    return [(stage.pruner.name, stage.pruner.lr) for stage in (cell.cell.recipe.stages["search"] for cell in plan.cells)]


def test_a_setting_of_a_component_applies_to_the_one_that_a_level_chooses(plan_of):
    every = {"set": {"search.pruner.lr": 0.07}}
    plan = plan_of({"search.pruner": ["hard-concrete", "mask-training"]}, **every)
    assert pruners(plan) == [("hard-concrete", 0.07), ("mask-training", 0.07)]
    plan = plan_of({"search.pruner": [{"name": "hard-concrete", "lr": 0.09}, "mask-training"]}, **every)
    assert pruners(plan) == [("hard-concrete", 0.09), ("mask-training", 0.07)]
    plan = plan_of({"search.pruner": "{name = 'hard-concrete', lr = 0.09},mask-training"}, **every)
    assert pruners(plan) == [("hard-concrete", 0.09), ("mask-training", 0.07)]


def test_cells_with_the_same_stages_under_other_names_are_different(small_recipe_file, tmp_path):
    table = tomllib.loads(small_recipe_file.read_text())
    recipes = []
    for name, models in {"one": ("finetune", "retrain"), "two": ("retrain", "finetune")}.items():
        first, second = ({**table["evaluate"], "model": model} for model in models)
        recipes.append(tmp_path / f"{name}.toml")
        recipes[-1].write_text(tomlkit.dumps({**table, "evaluate": first, "other": second}))
    plan = plan_study(study_of("x", {"recipes": recipes}), tmp_path / "lab")
    assert [cell.same_as for cell in plan.cells] == [None, None]
    assert len(plan.stages) == 6


def test_the_training_examples_of_a_task_are_those_of_its_own_settings(small_recipe_file, tmp_path):
    (tmp_path / "other").mkdir()
    lines = [f'{{"text": "a {word} film {row}", "label": "{word}"}}' for row in range(40) for word in ("good", "bad")]
    for split, part in {"train": lines[:40], "validation": lines[40:60], "test": lines[60:]}.items():
        (tmp_path / "other" / f"{split}.jsonl").write_text("\n".join(part))
    table = tomllib.loads(small_recipe_file.read_text())
    table["tasks"] = [*table["tasks"], {"name": "local", "path": str(tmp_path / "other")}]
    recipes = []
    for rows in (20, 30):
        recipes.append(tmp_path / f"of-{rows}.toml")
        recipes[-1].write_text(tomlkit.dumps({**table, "per_task": {"demo": {"train_rows": rows}}}))
    plan = plan_study(study_of("x", {"recipes": recipes}), tmp_path / "lab")
    assert [len(cell.inputs.data["demo"].splits["train"]) for cell in plan.cells] == [20, 30]


def test_checkpoints_that_any_cell_starts_from_are_kept(plan_of):
    plan = plan_of({"search.start": ["finetune", "finetune@50%"]})
    (finetune,) = [planned for planned in plan.stages.values() if planned.name == "finetune"]
    assert finetune.keep == {"50%"}
    assert finetune.cells == [0, 1]


def test_a_level_may_be_unavailable(small_recipe_file, tmp_path):
    levels = [{"label": "ours"}, {"label": "theirs", "unavailable": "it is not implemented"}]
    study = small_study(small_recipe_file, factors=[{"name": "method", "levels": levels}])
    assert [cell.error for cell in plan_study(study, tmp_path).cells] == ["", "it is not implemented"]


def test_a_level_may_need_a_plugin(small_recipe_file, tmp_path, builtins_only):
    """The study is the same one with and without it, so a later run with the plugin completes the earlier one."""
    levels = [{"label": "ours"}, {"label": "theirs", "plugin": "some-noise", "adversary": "noise"}]
    study = small_study(small_recipe_file, factors=[{"name": "method", "levels": levels}])
    plugin = tmp_path / "some_noise.py"
    plugin.write_text(NOISE)
    missing = "needs the plugin some-noise: install it, or name its file or folder with `--plugin`"
    digests = set()
    for plugins, error in (([], missing), ([plugin], "")):
        with registry.using(registry.load(plugins, entry_points=False)):
            assert [cell.error for cell in plan_study(study, tmp_path).cells] == ["", error]
            digests.add(study_of("small", study.to_table()).digest())
    assert digests == {study.digest()}


def test_a_plugin_that_is_switched_off_or_misspelt_is_named(monkeypatch, builtins_only):
    monkeypatch.setattr(builtins_only, "off", [Source("some-noise 1.0", "1")])
    monkeypatch.setattr(builtins_only, "sources", [*builtins_only.sources, Source("louder-noise 1.0", "1")])
    assert reason_not_loaded("Some_Noise") == "needs the plugin Some_Noise, which is switched off"
    assert reason_not_loaded("lauder-noise") == "needs the plugin lauder-noise; did you mean `louder-noise`, which is loaded?"
    assert reason_not_loaded("louder_noise") == ""


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ({"plugin": ""}, "factors.method: theirs: plugin: must be a text, not ''"),
        ({"plugin": ["a"]}, "factors.method: theirs: plugin: must be a text, not ['a']"),
        ({"unavailable": True}, "factors.method: theirs: unavailable: must be a text, not True"),
        ({"plugin": "a", "unavailable": "b"}, "factors.method: theirs: has both `unavailable` and `plugin`"),
    ],
)
def test_a_wrong_key_of_a_level_is_an_error(level, message):
    with pytest.raises(UsageError) as caught:
        study_of("x", {"factors": [{"name": "method", "levels": [{"label": "theirs", **level}]}]})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("epochs=1,0.5", [1, 0.5]),
        ("lr=1e-4,0.001", [1e-4, 1e-3]),
        ("batch-size=8,16", [8, 16]),
        ("max-length=16,32", [16, 32]),
        ("n=5,10", [5, 10]),
        ('attack=["deepwordbug","textbugger"],["none"]', [["deepwordbug", "textbugger"], []]),
    ],
    ids=lambda value: value.partition("=")[0] if isinstance(value, str) else "",
)
def test_the_flags_of_run_vary_over_the_values_of_a_command_line(text, values):
    study = study_of("x", {"recipes": ["fine-tune"], "tasks": ["demo"], "set": {"model": "demo"}}, factors_added=[parse_vary(text)])
    found = []
    for cell in compose_cells(study):
        stages = cell.recipe.stages
        attacks = [attack.name for attack in stages["attack"].attacks] if "attack" in stages else []
        train = stages["finetune"]
        of = {"epochs": train.epochs, "lr": train.lr, "batch-size": train.batch_size, "max-length": cell.recipe.max_length}
        of |= {"n": stages["attack"].examples if "attack" in stages else None, "attack": attacks}
        found.append(of[text.partition("=")[0]])
    assert found == values


@pytest.mark.parametrize("baseline", ["random", "pruner=random, sparsity=0.5"])
def test_a_baseline_is_a_level_or_a_cell(plan_of, baseline):
    plan = plan_of({"pruner": ["magnitude", "random"], "sparsity": [0.3, 0.5]}, baseline=baseline)
    assert plan.study.baseline == baseline


@pytest.mark.parametrize(
    ("vary", "more", "message"),
    [
        (
            {"adversary": ["none", "freelb"]},
            {"set": {"pruner": "magnitude"}},
            "`adversary` has no effect on any cell.*scores without training",
        ),
        ({"finetune.lrr": [1e-3, 1e-4]}, {}, "has no such setting; did you mean `lr`"),
        ({"search.pruner.penaltyy": [1, 2], "pruner": ["hard-concrete", "magnitude"]}, {}, "did you mean `penalty`"),
        ({"retrain-adversry": ["none", "fgm"]}, {}, "did you mean `retrain-adversary`"),
        ({"batch-szie": [8, 16]}, {}, "did you mean `batch-size`"),
        ({"sparsity": [0.3, 0.5]}, {"recipes": ["fine-tunee"]}, "^unknown recipe `fine-tunee`"),
        ({"pruner": ["hard-concrete", "random"]}, {"set": {"search.pruner.penalti": 1, "serach.lr": 1}}, "did you mean `penalty`"),
        ({"heads+neurons": [[0.1, 0.2]], "heads": [0.3]}, {}, "`heads` is varied by two factors, `heads.neurons` and `heads`"),
        ({"max_length": [32], "max-length": [48]}, {}, "varied by two factors"),
        (
            {"epochs": [1, 2]},
            {"recipes": ["fine-tune"], "tasks": ["demo"], "set": {"finetune.epochs": 3}},
            r"`epochs` \(1, 2\) has no effect beside `finetune.ep",
        ),
        (
            {"finetune.lr": [1e-3, 1e-4]},
            {"recipes": ["fine-tune"], "tasks": ["demo"], "set": {"lr": 1}},
            "`lr` = 1 has no effect beside the factor `finetune.lr`",
        ),
        ({"search.lr": [float("inf")]}, {}, "must be a finite number"),
        (
            {"adversary": ["none", "pgd"], "retrain.adversary": ["none", "pgd"]},
            {"baseline": "none"},
            "the baseline `none` is a level of `adversary` and `retrain.adversary`: name a cell, such as `adversary=none, retrain.adv",
        ),
        ({"sparsity": [0.1, 0.3]}, {"baseline": "0.31"}, "the baseline `0.31` is neither a level nor a cell.*did you mean `0.3`"),
        ({"prunner": ["a", "b"]}, {}, "did you mean `pruner`"),
        ({"seeds": [1, 2]}, {}, "--seeds sets the seeds"),
        ({"sparsity": [0.3, 3]}, {}, "sparsity=3: .*must be"),
        ({"pruner": ["hard-concrete", "magnitud"]}, {}, "pruner=magnitud: .*did you mean `magnitude`"),
        ({}, {"set": {"search.pruner.penaltyy": 1}}, "penaltyy"),
        ({"task": ["demo", "no-such-task"]}, {}, "task=no-such-task"),
        ({"recipe": ["fine-tune", "robust-tickt"]}, {"tasks": ["demo"]}, "recipe=robust-tickt: .*did you mean `robust-ticket`"),
    ],
)
def test_a_mistake_is_refused_before_anything_runs(plan_of, vary, more, message):
    with pytest.raises(UsageError, match=message):
        plan_of(vary, **more)


def test_a_plan_of_many_cells_examines_each_stage_once(plan_of, monkeypatch):
    examined = []
    of = StageFacts.of
    monkeypatch.setattr(StageFacts, "of", lambda stage: examined.append(stage.name) or of(stage))
    plan_of({"sparsity": "0.1:0.9:0.1", "retrain.batch_size": [4, 8]}, seeds=2)
    assert sorted(examined) == sorted([*["draw", "search"] * 9, *["train"] * 3, "evaluate"])  # a pruner may use the sparsity


def test_a_study_may_end_with_a_stage(small_recipe_file, tmp_path):
    plan = plan_study(small_study(small_recipe_file, {"sparsity": [0.1, 0.3]}, until="draw"), tmp_path / "lab")
    assert kinds(plan) == ["draw", "draw", "search", "train"]
    assert study_of("x", plan.study.to_table()) == study_of("x", {**plan.study.to_table(), "until": "draw"})
    with pytest.raises(UsageError, match="has no stage `drew`; did you mean `draw`"):
        plan_study(small_study(small_recipe_file, {"sparsity": [0.1, 0.3]}, until="drew"), tmp_path / "lab")
