"""Study files: what they may contain, their scales, and the table that is written back."""

from datetime import date

import pytest

from ticketlab.core.errors import UsageError
from ticketlab.studies.cell_recipe import compose_cells
from ticketlab.studies.design import cell_label, combinations
from ticketlab.studies.factor_tables import parse_exclude
from ticketlab.studies.levels import parse_vary
from ticketlab.studies.read_definition import read_study, study_of

WHOLE = """
summary = "Pruners at two sparsities"
recipes = ["robust-ticket"]
tasks = ["demo"]
model = "demo"
seeds = 2
baseline = "random"

[set]
attack = ["deepwordbug"]
"search.epochs" = 2

[vary]
sparsity = [0.1, 0.3]

[[factors]]
name = "method"
levels = [{ label = "random", recipe = "random-ticket" }, { label = "no adversary", adversary = "none" }]

[[exclude]]
method = "random"
sparsity = 0.3

[scales.small]
seeds = 1

[scales.small.vary]
sparsity = [0.5]

[table]
rows = ["method"]
"""


@pytest.fixture
def study_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(WHOLE)
    return path


def labels(study):
    return [cell_label(combination) for combination in combinations(study)]


def test_a_file_describes_its_cells(study_file):
    study = read_study(study_file)
    assert (study.name, study.recipe, study.seeds, study.baseline) == ("mine", "robust-ticket", (0, 1), "random")
    assert study.settings == {"attack": ["deepwordbug"], "search.epochs": 2, "model": "demo"}
    assert labels(study) == ["method=random, sparsity=0.1", "method=no adversary, sparsity=0.1", "method=no adversary, sparsity=0.3"]
    assert study.report == {"table": {"rows": ["method"]}}


def test_a_scale_is_merged_over_the_file(study_file):
    study = read_study(study_file, scale="small")
    assert study.seeds == (0,)
    assert study.scale == "small"
    assert labels(study) == ["method=random, sparsity=0.5", "method=no adversary, sparsity=0.5"]


def test_arguments_replace_the_values_of_the_file(study_file):
    study = read_study(study_file, seeds=3, set={"search.epochs": 1}, factors_added=[parse_vary("sparsity=0.3,0.7")])
    assert study.seeds == (0, 1, 2)
    assert study.settings["search.epochs"] == 1
    assert labels(study)[-1] == "method=no adversary, sparsity=0.7"


def test_the_table_of_a_study_describes_the_same_study(study_file):
    study = read_study(study_file)
    again = study_of(study.name, study.to_table())
    assert again == study
    assert again.digest() == study.digest()


def test_what_a_report_shows_is_not_part_of_the_digest(study_file):
    study = read_study(study_file)
    study_file.write_text(WHOLE.replace('rows = ["method"]', 'columns = ["method"]').replace('baseline = "random"', ""))
    assert read_study(study_file).digest() == study.digest()


def test_several_recipes_and_tasks_are_factors():
    study = study_of("x", {"recipes": ["fine-tune", "robust-ticket"], "tasks": ["demo", "sst2"]})
    assert [factor.name for factor in study.factors] == ["task", "recipe"]
    assert len(labels(study)) == 4


def test_one_factor_at_a_time_varies_around_the_first_levels():
    study = study_of("x", {"vary": {"pruner": ["a", "b", "c"], "sparsity": [0.1, 0.2]}, "design": "one-at-a-time"})
    assert labels(study) == [
        "pruner=a, sparsity=0.1", "pruner=b, sparsity=0.1", "pruner=c, sparsity=0.1", "pruner=a, sparsity=0.2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"recipe": ["fine-tune"]}, "`recipe` is not a key of a study; did you mean `recipes`"),
        ({"design": "gird"}, "did you mean `grid`"),
        ({"seeds": 0}, "seeds"),
        ({"seeds": [1, 1]}, "twice"),
        ({"seeds": True}, "seeds"),
        ({"factors": [{"name": "a"}]}, "needs a `name` and `levels`"),
        ({"factors": [{"name": "a", "levels": [{"label": "x"}, {"label": "x"}]}]}, "`x` is given twice"),
        ({"vary": {"sparsity": 0.1}}, "must be a list of values"),
        ({"factors": [{"name": "a", "levels": "xy"}]}, "levels: must be a list, not 'xy'"),
        ({"factors": "a"}, "factors: must be a list of tables"),
        ({"vary": "sparsity"}, "vary: must be a table"),
        ({"vary": {"sparsity": [date(2026, 1, 1)]}}, "vary.sparsity: 2026-01-01 is of type date"),
        ({"set": ["n"]}, "set: must be a table"),
        ({"set": {"n": date(2026, 1, 1)}}, "set.n: 2026-01-01 is of type date"),
        ({"exclude": {"sparsity": 0.1}}, "exclude: must be a list of tables"),
        ({"scales": {"small": 3}, "scale": "small"}, "scales.small: must be a table"),
        ({"recipes": []}, "recipes: must be the name or file of a recipe"),
        ({"tasks": ["a/demo.csv", "b/demo.csv"]}, "two tasks have the name `demo`"),
        ({"tasks": [3]}, "tasks: must be the name or path of a data set"),
        ({"vary": {"sparsity": [0.1]}, "exclude": [{"sparsty": 0.1}]}, "did you mean `sparsity`"),
        ({"vary": {"sparsity": [0.1]}, "exclude": [{"sparsity": 0.2}]}, "no level `0.2`"),
        ({"vary": {"sparsity": [0.1]}, "factors": [{"name": "sparsity", "levels": [{"label": "x"}]}]}, "given twice"),
        ({"table": {"row": ["pruner"]}}, "table.row: a study's table has no such key; did you mean `rows`"),
        ({"table": {"rows": 3}}, "table.rows: must be a name or a list of names, not 3"),
        ({"table": {"metrics": [1]}}, "table.metrics: must be a name or a list of names"),
        ({"table": ["rows"]}, "table: must be a table"),
        ({"published": {"clean.accuracy": 91}}, "published: must be a list of tables"),
        ({"published": [{"clean.accuracy": "91.2 (0.3)"}]}, "published: `clean.accuracy` must be a number, not '91.2"),
        ({"differences": 5}, "differences: must be a text, a list of texts or a table of texts, not 5"),
        ({"notes": [1]}, "notes: must be a text"),
        ({"figures": ["metric"]}, "figures: must be a table"),
        ({"figures": [{"x": "sparsity"}]}, "figures: the `kind` must be a text, not None"),
        ({"figures": [{"kind": "metrics"}]}, "figures: no kind of figure `metrics`; did you mean `metric`"),
        ({"figures": [{"kind": "classes", "width": 20}]}, "figures: classes: width: must be from 240 to 4000 pixels, not 20"),
        ({"figures": [{"kind": "metric", "x": "sparsity"}]}, "figures: the figure `metric` needs the argument `y`"),
    ],
)
def test_a_wrong_table_is_refused(table, message):
    with pytest.raises(UsageError, match=message):
        study_of("x", table)


def test_an_exclusion_that_replaces_that_of_a_file_names_existing_levels(study_file):
    factors = [parse_vary("sparsity=0.2,0.4")]
    assert labels(read_study(study_file, factors_added=factors))
    with pytest.raises(UsageError, match="the factor `sparsity` has no level"):
        read_study(study_file, factors_added=factors, exclude=[{"sparsity": ["0.3"]}])


def test_a_study_without_cells_is_refused():
    with pytest.raises(UsageError, match="every cell of the study is excluded"):
        combinations(study_of("x", {"vary": {"sparsity": [0.1]}, "exclude": [{"sparsity": 0.1}]}))


def test_a_grid_that_is_too_large_is_refused():
    with pytest.raises(UsageError, match=r"1,000,000 cells"):
        combinations(study_of("x", {"vary": dict.fromkeys(("a.b", "c.d", "e.f"), "1:100:1")}))


def test_an_exclusion_may_list_values():
    assert parse_exclude("pruner=random|magnitude&adversary=freelb") == {"pruner": ["random", "magnitude"], "adversary": ["freelb"]}
    with pytest.raises(UsageError, match="write FACTOR=LEVEL"):
        parse_exclude("pruner")


@pytest.mark.parametrize("text", ["method=no adversary|fine tuned & sparsity=0.5", "method=no adversary|fine tuned sparsity=0.5"])
def test_an_exclusion_may_name_levels_with_spaces(text):
    assert parse_exclude(text) == {"method": ["no adversary", "fine tuned"], "sparsity": ["0.5"]}


@pytest.mark.parametrize("text", ["a = ", "[vary]\nsparsity = 1", "x = 1"])
def test_errors_in_a_file_name_it(tmp_path, text):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"wrong\.toml"):
        read_study(path)


def test_the_model_of_the_command_replaces_that_of_the_file():
    table = {"model": "of-file", "set": {"n": 5}}
    assert study_of("x", table).settings["model"] == "of-file"
    assert study_of("x", table, set={"model": "of-command"}).settings == {"n": 5, "model": "of-command"}
    assert study_of("x", table, model="of-command").settings["model"] == "of-command"


@pytest.mark.parametrize(
    ("levels", "replace"),
    [
        ("vary.sparsity = [0.1, 0.3]", r"leave it out, or replace the levels: ablate --vary sparsity=VALUE"),
        (
            'factors = [{ name = "ratio", levels = [{ label = "0.1", sparsity = 0.1 }, { label = "0.3", sparsity = 0.3 }] }]',
            "leave it out$",
        ),
    ],
)
def test_a_value_for_what_the_file_varies_is_refused(tmp_path, levels, replace):
    path = tmp_path / "mine.toml"
    path.write_text(f"set.sparsity = 0.5\n{levels}")  # that of the file is not
    assert read_study(path).settings == {"sparsity": 0.5}
    with pytest.raises(UsageError, match=rf"mine.toml: `sparsity` is varied by the factor `\w+` \(0.1, 0.3\).* {replace}"):
        read_study(path, set={"sparsity": 0.9})


def test_errors_of_cells_name_the_file(tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text('[[factors]]\nname = "method"\nlevels = [{ label = "x", recipie = "fine-tune" }]')
    with pytest.raises(UsageError, match=r"wrong\.toml: `recipie` is neither .* did you mean `recipe`"):
        compose_cells(read_study(path))


def test_equal_studies_have_one_digest_however_they_are_written():
    typed = {"recipes": "fine-tune", "vary": {"sparsity": [0.2, 0.5]}, "set": {"attack": "none", "n": 5, "batch_size": 8, "a.b": True}}
    texts = {
        "recipes": ["fine-tune"],
        "vary": {"sparsity": "0.2,0.5"},
        "set": {"attacks": ["none"], "n": "5", "batch-size": 8, "a.b": "true"},
    }
    assert study_of("x", typed).digest() == study_of("y", texts).digest()
    assert study_of("x", typed).digest() != study_of("x", {**typed, "set": {**typed["set"], "n": 6}}).digest()
