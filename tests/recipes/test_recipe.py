"""Recipes are read, merged, checked and written back."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from ticketlab.core.errors import SettingError, UsageError
from ticketlab.recipes import tables
from ticketlab.recipes.recipe import Recipe, build_recipe
from ticketlab.recipes.tables import difference, merge, merge_stages, override, resolve


def build(text: str, **options: Any) -> Recipe:
    return build_recipe("mine", resolve(tomllib.loads(text), **options))


TRAIN = '[finetune]\nkind = "train"\n'


# merging and overriding


@pytest.mark.parametrize(
    ("base", "other", "merged"),
    [
        pytest.param({"a": 1, "b": 2}, {"b": 3, "c": 4}, {"a": 1, "b": 3, "c": 4}, id="values"),
        pytest.param({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}}, id="tables"),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="a list as a whole"),
        pytest.param(
            {"p": {"name": "x", "lr": 1}}, {"p": {"name": "x", "k": 2}}, {"p": {"name": "x", "lr": 1, "k": 2}}, id="the same name"
        ),
        pytest.param({"p": {"name": "x", "lr": 1}}, {"p": {"k": 2}}, {"p": {"name": "x", "lr": 1, "k": 2}}, id="no name is the same"),
        pytest.param({"p": {"name": "x", "lr": 1}}, {"p": {"name": "y"}}, {"p": {"name": "y"}}, id="another name replaces"),
        pytest.param({"p": {"name": "x", "lr": 1}}, {"p": "y"}, {"p": "y"}, id="another name alone replaces"),
        pytest.param({"p": {"name": "x", "lr": 1}}, {"p": "x"}, {"p": {"name": "x", "lr": 1}}, id="the same name alone changes nothing"),
        pytest.param({"p": "x"}, {"p": {"lr": 1}}, {"p": {"name": "x", "lr": 1}}, id="settings of a name"),
        pytest.param({"p": "x"}, {"p": {"name": "y", "lr": 1}}, {"p": {"name": "y", "lr": 1}}, id="settings of another name"),
    ],
)
def test_tables_are_merged(base: dict[str, Any], other: dict[str, Any], merged: dict[str, Any]) -> None:
    assert merge(base, other) == merged


plain = st.recursive(st.integers() | st.lists(st.integers()), lambda inner: st.dictionaries(st.sampled_from("abc"), inner), max_leaves=8)
plain_tables = st.dictionaries(st.sampled_from("abc"), plain)


@given(plain_tables, plain_tables)
def test_merging_is_idempotent(base: dict[str, Any], other: dict[str, Any]) -> None:
    assert merge(merge(base, other), other) == merge(base, other)
    assert merge(base, {}) == base
    assert merge({}, base) == base


@given(plain_tables, plain_tables)
def test_merging_a_difference_restores_the_other_table(base: dict[str, Any], other: dict[str, Any]) -> None:
    whole = merge(base, other)
    assert merge(base, difference(base, whole)) == whole
    assert difference(whole, whole) == {}


def test_a_difference_names_the_component_whose_settings_it_has() -> None:
    base = {"pruner": {"name": "x", "lr": 1, "k": 2}, "loss": {"name": "a", "w": 1}}
    other = {"pruner": {"name": "x", "lr": 3, "k": 2}, "loss": {"name": "b"}}
    assert difference(base, other) == {"pruner": {"name": "x", "lr": 3}, "loss": {"name": "b"}}


def test_an_added_stage_comes_before_the_first_that_names_it() -> None:
    base = {"summary": "c", "a": {"kind": "train"}, "b": {"kind": "train", "start": "a"}, "e": {"kind": "evaluate", "model": "b"}}
    added = {"c": {"kind": "draw", "search": "d"}, "b": {"ticket": "c", "start": "f@50%"}, "d": {"kind": "search"}, "f": {"kind": "train"}}
    assert list(merge_stages(base, added)) == ["summary", "a", "f", "d", "c", "b", "e"]
    assert list(merge_stages(base, {"c": {"kind": "export", "model": "b"}, "paper": "a"})) == [*base, "c", "paper"]
    circle = merge_stages(base, {"c": {"start": "d"}, "d": {"start": "c"}})
    assert set(circle) == {*base, "c", "d"}  # refused when it is built


def test_merged_values_are_copies() -> None:
    scales = {"s": {"names": ["a"]}}
    merge({}, scales)["s"]["names"].append("b")
    assert scales == {"s": {"names": ["a"]}}


STAGES: dict[str, Any] = {
    "search": {"kind": "search", "pruner": {"name": "x", "lr": 1}, "adversary": "none"},
    "attack": {"kind": "attack", "attacks": ["deepwordbug", {"name": "textfooler", "k": 1}]},
    "tasks": [{"name": "local"}, {"name": "demo", "train_rows": 5}],
}


@pytest.mark.parametrize(
    ("assignment", "path", "value"),
    [
        pytest.param("search.epochs=3", ["search", "epochs"], 3, id="number"),
        pytest.param("search.lr = 1e-3", ["search", "lr"], 1e-3, id="spaces"),
        pytest.param("search.flag=true", ["search", "flag"], True, id="bool"),
        pytest.param("search.start=finetune", ["search", "start"], "finetune", id="plain text"),
        pytest.param('search.start="a=b"', ["search", "start"], "a=b", id="quoted text"),
        pytest.param("search.start=a=b", ["search", "start"], "a=b", id="an equals sign"),
        pytest.param("search.sparsity=1/6", ["search", "sparsity"], "1/6", id="fraction"),
        pytest.param("search.start=", ["search", "start"], "", id="nothing"),
        pytest.param("search.pruner=y", ["search", "pruner"], "y", id="another component"),
        pytest.param("search.pruner=x", ["search", "pruner"], {"name": "x", "lr": 1}, id="the same component"),
        pytest.param("search.pruner.name=y", ["search", "pruner"], {"name": "y"}, id="another component by its name"),
        pytest.param("search.pruner.lr=2", ["search", "pruner"], {"name": "x", "lr": 2}, id="of a component"),
        pytest.param("search.adversary.k=2", ["search", "adversary"], {"name": "none", "k": 2}, id="of a component without a table"),
        pytest.param("search.loss.k=2", ["search", "loss"], {"k": 2}, id="of a component not named"),
        pytest.param(
            "attack.attacks.textfooler.k=2",
            ["attack", "attacks"],
            [{"name": "deepwordbug"}, {"name": "textfooler", "k": 2}],
            id="of a component in a list",
        ),
        pytest.param(
            "tasks.train_rows=9",
            ["tasks"],
            [{"name": "local", "train_rows": 9}, {"name": "demo", "train_rows": 9}],
            id="of all components in a list",
        ),
        pytest.param("seeds=[1, 2]", ["seeds"], [1, 2], id="head"),
    ],
)
def test_an_assignment_sets_the_value_at_its_path(assignment: str, path: list[str], value: Any) -> None:
    found: Any = override(STAGES, assignment)
    for key in path:
        found = found[key]
    assert found == value
    assert STAGES["search"]["pruner"] == {"name": "x", "lr": 1}


@pytest.mark.parametrize("value", [["a \U0001f600", '\x7f\n"é'], {"\U0001f600": {"of": [1, 0.5, True]}}, [float("inf")]])
def test_a_value_written_as_toml_is_read_again_by_an_assignment(value: Any) -> None:
    assert tables.parse_assignment(f"search.pruner.x={tables.as_toml(value)}")[1] == value


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        pytest.param("search", "write path=value", id="no value"),
        pytest.param("=3", "write path=value", id="no path"),
        pytest.param("search..lr=3", "write path=value", id="two dots"),
        pytest.param("serch.lr=3", "no stage or setting `serch`; did you mean `search`?", id="stage"),
        pytest.param("epochs=3", "no stage or setting `epochs`; did you mean `search.epochs`?", id="setting of a stage"),
        pytest.param("adversary.steps=3", "did you mean `search.adversary.steps`?", id="setting of a component of a stage"),
        pytest.param("scales.small.search.lr=3", "no stage or setting `scales`", id="overlay"),
        pytest.param("search.epochs.x=3", "`x` is inside something that is not a table", id="inside a number"),
        pytest.param("attack.attacks.textfoler.k=2", "the list has no `textfoler`; did you mean `textfooler`?", id="not in the list"),
        pytest.param("attack.attacks.k=2", "the list has no `k`", id="names without settings"),
        pytest.param("tasks.demmo.rows=2", "the list has no `demmo`; did you mean `demo`?", id="of a component that is not there"),
        pytest.param("scale=small", "choose it with --scale", id="scale"),
    ],
)
def test_an_assignment_to_an_unknown_path_is_refused(assignment: str, message: str) -> None:
    table = merge(STAGES, {"search": {"epochs": 3}})
    with pytest.raises(UsageError) as problem:
        override(table, assignment)
    assert str(problem.value).startswith("--set ")
    assert message in str(problem.value)


OVERLAID = """
train_rows = 9
[finetune]
kind = "train"
lr = 1.0
epochs = 1
batch_size = 1
[per_task.sst2.finetune]
epochs = 2
batch_size = 2
[scales.small]
train_rows = 3
[scales.small.finetune]
batch_size = 3
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, (9, 1.0, 1.0, 1), id="as it is"),
        pytest.param({"task": "sst2"}, (9, 1.0, 2.0, 2), id="task"),
        pytest.param({"task": "imdb"}, (9, 1.0, 1.0, 1), id="another task"),
        pytest.param({"scale": "small"}, (3, 1.0, 1.0, 3), id="scale"),
        pytest.param({"scale": "full"}, (9, 1.0, 1.0, 1), id="full"),
        pytest.param({"scale": "small", "task": "sst2"}, (3, 1.0, 2.0, 3), id="scale over task"),
    ],
)
def test_overlays_of_task_and_scale_are_applied(options: dict[str, str], expected: tuple[int, float, float, int]) -> None:
    recipe = build(OVERLAID, **options)
    stage: Any = recipe.stages["finetune"]
    assert (recipe.train_rows, stage.lr, stage.epochs, stage.batch_size) == expected
    assert recipe.scale == options.get("scale", "full")


def test_a_resolved_recipe_keeps_its_scale() -> None:
    small = build(OVERLAID, scale="small")
    again = build_recipe("mine", resolve(tomllib.loads(small.to_toml())))
    assert again == small
    assert resolve(small.to_table(), scale="small") == small.to_table()


# what is checked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('a = 3\n[b]\nkind="train"', "a: a recipe has no such setting", id="head"),
        pytest.param('modle = "x"\n[b]\nkind="train"', "modle: a recipe has no such setting; did you mean `model`?", id="head, near"),
        pytest.param("[a]\nlr = 1", "a: a stage needs a `kind`: attack, bias, draw", id="no kind"),
        pytest.param('[a]\nkind = "trian"', "a.kind: unknown stage `trian`; did you mean `train`?", id="kind"),
        pytest.param('["a b"]\nkind = "train"', "a b: a stage name may contain letters, digits", id="name with a space"),
        pytest.param('["../x"]\nkind = "train"', "../x: a stage name may contain letters, digits", id="name with a path"),
        pytest.param("max_length = 3", "max_length: must be at least 4", id="too short"),
        pytest.param("max_length = true", "max_length: must be a whole number, not True", id="length of another type"),
        pytest.param('precision = "fp64"', "precision: must be one of auto, fp32, bf16, not 'fp64'", id="precision"),
        pytest.param("model = 3", "model: must be a string, not 3", id="model"),
        pytest.param("train_rows = 0", "train_rows: must be at least 1, not 0", id="rows"),
        pytest.param("train_rows = true", "train_rows: must be a whole number, not True", id="rows of another type"),
        pytest.param("paper_seeds = 0", "paper_seeds: must be at least 1, not 0", id="trials"),
        pytest.param('paper_seeds = "five"', "paper_seeds: must be a whole number, not 'five'", id="a number in words"),
        pytest.param("seeds = 3", "seeds: must be a list, not 3", id="one seed"),
        pytest.param("seeds = []", "seeds: name at least one seed", id="no seed"),
        pytest.param("seeds = [-1]", "seeds: must be at least 0, not -1", id="negative seed"),
        pytest.param("seeds = [true]", "seeds: must be a whole number, not True", id="bool seed"),
        pytest.param("seeds = [1, 1]", "seeds: a seed is named twice", id="seed twice"),
        pytest.param('tasks = "demo"', "tasks: must be a list, not 'demo'", id="one task"),
        pytest.param("tasks = 3", "tasks: must be a list, not 3", id="no task"),
        pytest.param('tasks = ["demoo"]', "tasks[0]: unknown task `demoo`; did you mean `demo`?", id="task"),
        pytest.param('tasks = ["demo", "demo"]', "tasks[1]: another task is already named `demo`", id="task twice"),
        pytest.param(
            'tasks = [{name="local", path="a/x.csv"}, {name="local", path="b/x.csv"}]',
            "tasks[1]: another task is already named `x`",
            id="two files of one name",
        ),
        pytest.param("ood_map = ['a']", "ood_map: must be a list of TASK_LABEL=OOD_LABEL, not ['a']", id="a label without its counterpart"),
        pytest.param("per_task = 3", "per_task: must contain tables", id="per_task"),
        pytest.param("per_task.demo.tasks = ['sst2']", "per_task.demo.tasks: the settings of a task cannot", id="tasks of a task"),
        pytest.param("per_task.demo = 3", "per_task: must contain tables", id="per_task of a number"),
    ],
)
def test_an_invalid_recipe_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingError) as problem:
        build(f"{text}\n{TRAIN}", task="demo")
    assert str(problem.value).startswith(message)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        pytest.param('[b]\nkind="train"\nstart="a"\n[a]\nkind="train"', "b.start: there is no earlier stage `a`", id="a later one"),
        pytest.param('[a]\nkind="train"\nstart="a"', "a.start: there is no earlier stage `a`", id="itself"),
        pytest.param(
            '[abc]\nkind="train"\n[b]\nkind="train"\nstart="abd"',
            "b.start: there is no earlier stage `abd`; did you mean `abc`?",
            id="near",
        ),
        pytest.param(
            '[a]\nkind="train"\n[b]\nkind="draw"\nsearch="a"', "b.search: `a` is a train stage; this needs a search stage", id="kind"
        ),
        pytest.param(
            '[s]\nkind="search"\n[e]\nkind="evaluate"\nmodel="s"',
            "e.model: a search with `hard-concrete` produces scores and no model",
            id="model",
        ),
        pytest.param('[d]\nkind="draw"', "d.search: there is no earlier stage `search`", id="what is not set"),
    ],
)
def test_an_invalid_reference_is_refused(stages: str, message: str) -> None:
    with pytest.raises(SettingError) as problem:
        build(stages)
    assert str(problem.value).startswith(message)


@pytest.mark.parametrize("value", ["./model", "owner/name", "a\\b", "demo", "pretrained"])
def test_a_reference_may_be_external(value: str) -> None:
    assert build(f"[a]\nkind = 'train'\nstart = '{value}'").stages["a"].start == value  # type: ignore[attr-defined]


# the line of an error

LAYOUTS = [
    pytest.param('finetune.kind = "train"\nfinetune.epochs = 1\nfinetune.lrr = 3\n', 3, id="dotted keys"),
    pytest.param('[f]\nkind = "train"\nadversary.name = "freelb"\nadversary.stps = 2\n', 4, id="dotted keys in a table"),
    pytest.param('[f]\nkind = "train"\n# stps = 1\nadversary = { name = "freelb", stps = 2 }\n', 4, id="inline table"),
    pytest.param('[f]\nkind = "train"\n[f.adversary]\nname = "freelb"\nsteps = 0\n', 5, id="sub-table"),
    pytest.param('[ "f" ]\n"kind" = "train"\n[ f . "adversary" ]\nname = "freelb"\n"steps" = 0\n', 5, id="quotes and spaces"),
    pytest.param(
        '[a]\nkind = "attack"\nmodel = "x/y"\nattacks = [\n  "deepwordbug",\n  { name = "textfooler", foo = 3 },\n]\n', 6, id="array"
    ),
    pytest.param('[a]\nkind = "attack"\nmodel = "x/y"\nattacks = [\n  "deepwordbg",\n]\nexamples = 3\n', 4, id="name in an array"),
    pytest.param(
        '[a]\nkind = "attack"\nmodel = "x/y"\n[[a.attacks]]\nname = "deepwordbug"\n[[a.attacks]]\nname = "deepwordbug"\nk = 1\n',
        8,
        id="array of tables",
    ),
    pytest.param('[f]\nkind = "train"\nlr = 1\n[g]\nkind = "train"\nlr = 1\n[scales.small.g]\nlr = -1\n', 8, id="scale"),
    pytest.param('[f]\nkind = "train"\nlr = -1\n[scales.large.f]\nlr = 1\n', 3, id="not another scale"),
    pytest.param('tasks = ["demo"]\n[f]\nkind = "train"\nlr = 1\n[per_task.demo.f]\nlr = -1\n', 6, id="settings of a task"),
    pytest.param(
        '[f]\nkind = "train"\n[scales.small]\ntrain_rows = 3\n[scales.small.g]\nlr = 1\n', 5, id="a scale of a stage that is not there"
    ),
    pytest.param('[f]\nkind = "train"\n\n[d]\nkind = "draw"\n', 4, id="a missing setting"),
    pytest.param('[a]\nkind = "train"\nlr = 1\n[b]\nkind = "train"\nlr = -1\n[c]\nkind = "train"\nlr = 1\n', 6, id="among like names"),
    pytest.param('summary = """\nlr = 3\n[f]\n"""\n[f]\nkind = "train"\nlr = -1\n', 7, id="after a text of many lines"),
    pytest.param('max_length = "a"\n[f]\nkind = "train"\n', 1, id="head"),
    pytest.param('[f]\nkind = "train"\n[[tasks]]\nname = "demo"\n[[tasks]]\nname = "imdb"\nrows = 3\n', 7, id="second task"),
    pytest.param('[f]\nkind = "train"\n[g]\nlr = 1\n', 3, id="no kind"),
    pytest.param('[f]\r\nkind = "train"\r\nlr = -1\r\n', 3, id="line ends of Windows"),
    pytest.param('\ufeff[f]\nkind = "train"\nlr = -1\n', 3, id="byte order mark"),
]


@pytest.mark.parametrize(("text", "line"), LAYOUTS)
def test_an_error_in_a_file_is_reported_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(text.encode())
    name, raw, source = tables.read(path)
    table = resolve(raw, scale="small" if "scales.small" in text else None, task="demo")
    with pytest.raises(SettingError) as problem:
        build_recipe(name, table, source=source)
    assert str(problem.value).endswith(f" (mine.toml line {line})")


def test_an_error_in_an_override_does_not_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TRAIN, encoding="utf-8")
    name, raw, source = tables.read(path)
    with pytest.raises(SettingError) as problem:
        build_recipe(name, raw | {"tasks": ["demo", "demo"]}, source=source)
    assert "mine.toml" not in str(problem.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"a: 1", "not TOML: ", id="yaml"),
        pytest.param(b"[a]\n[a]\n", "not TOML: Cannot declare ('a',) twice (at line 2", id="table twice"),
        pytest.param(b"[a]\nk = 1\nk = 2\n", "not TOML: Cannot overwrite a value (at line 3", id="key twice"),
        pytest.param(bytes(range(256)), "not TOML: ", id="binary"),
        pytest.param("# é".encode("latin-1"), "not TOML: ", id="latin-1"),
        pytest.param(b"a = " + b"[" * 9999, "not TOML: ", id="deep"),
        pytest.param(b"a = " + b"1" * 9999, "not TOML: ", id="a number of 9999 digits"),
        pytest.param(b"", "an empty recipe", id="empty"),
        pytest.param(b"[[a]]\nkind = 'train'\n", "an empty recipe", id="a list of stages"),
    ],
)
def test_a_file_that_is_not_a_recipe_is_reported(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError) as problem:
        tables.read(path)
    assert str(problem.value).startswith(f"{path}: {message}")


# what identifies a recipe

BASE = """
[finetune]
kind = "train"
lr = 1e-3
epochs = 2
[search]
kind = "search"
start = "finetune"
pruner = { name = "hard-concrete", lr = 0.1 }
[evaluate]
kind = "evaluate"
model = "finetune"
"""


@pytest.mark.parametrize(
    ("text", "same"),
    [
        pytest.param(BASE.replace("lr = 1e-3\nepochs = 2", "epochs = 2.0\nlr = 0.001"), True, id="order and spelling"),
        pytest.param(BASE.replace('pruner = { name = "hard-concrete", lr = 0.1 }', 'pruner = "hard-concrete"'), True, id="a default"),
        pytest.param(BASE + "batch_size = 7\n", True, id="how many at once"),
        pytest.param(BASE.replace("epochs = 2", "epochs = 2\ncheckpoint_seconds = 5"), True, id="how often to save"),
        pytest.param(BASE.replace('start = "finetune"', 'start = "finetune"\nsparsity = 0.9'), True, id="what to watch"),
        pytest.param(BASE.replace("epochs = 2", "epochs = 3"), False, id="epochs"),
        pytest.param(BASE.replace("lr = 0.1", "lr = 0.2"), False, id="of a component"),
        pytest.param("paper_seeds = 5\n" + BASE, True, id="trials of the paper"),
        pytest.param("seeds = [1]\n" + BASE, False, id="seeds"),
        pytest.param('model = "demo"\n' + BASE, False, id="model"),
        pytest.param("train_rows = 10\n" + BASE, False, id="rows"),
        pytest.param("max_length = 64\n" + BASE, False, id="length"),
        pytest.param('tasks = ["demo"]\n' + BASE, False, id="task"),
    ],
)
def test_the_digest_is_of_what_results_depend_on(text: str, same: bool) -> None:
    assert (build(text).digest() == build(BASE).digest()) is same


@given(
    st.dictionaries(st.sampled_from(["summary", "paper", "model"]), st.text()), st.lists(st.integers(0, 2**63 - 1), min_size=1, unique=True)
)
def test_a_recipe_round_trips_through_toml(head: dict[str, str], seeds: list[int]) -> None:
    recipe = build_recipe("mine", {**head, "seeds": seeds, "tasks": ["demo"], **tomllib.loads(BASE)})
    again = build_recipe("mine", tomllib.loads(recipe.to_toml()))
    assert again == recipe
    assert again.digest() == recipe.digest()
    assert evolve(recipe, name="another").digest() == recipe.digest()
