import pytest
import tomlkit
from support.hand_made import results

from ticketlab.core import files
from ticketlab.figures.run_factors import with_factors
from ticketlab.report.cells import compare_runs


@pytest.fixture
def make_run(tmp_path):
    """Write the results and the recipe of a run."""

    def make(name, recipe="robust-ticket", **stages):
        folder = tmp_path / "runs" / name
        files.write_json(folder / "results.json", results({}, recipe=recipe))
        files.write_text(folder / "recipe.toml", tomlkit.dumps({"seeds": [0], "summary": name, **stages}))
        return folder

    return make


def ticket(sparsity, pruner="magnitude", **settings):
    return {"search": {"pruner": {"name": pruner, **settings}, "sparsity": sparsity}, "draw": {"sparsity": sparsity}}


def levels(found):
    return [dict(cell.levels) for cell in found.cells]


def test_the_factors_of_runs_are_the_settings_that_differ(make_run):
    runs = [make_run(f"{pruner}{s}", **ticket(s, pruner)) for s in (0.5, 0.1) for pruner in ("magnitude", "random")]
    found = with_factors(compare_runs(runs))
    assert [(factor.name, factor.key, factor.levels) for factor in found.factors] == [
        ("sparsity", "draw.sparsity", ("0.1", "0.5")),  # search.sparsity says nothing more
        ("pruner", "search.pruner", ("magnitude", "random")),
    ]
    assert levels(found)[0] == {"sparsity": "0.1", "pruner": "magnitude"}
    assert found.title == "4 runs of robust-ticket"


def test_settings_that_only_one_component_has_are_no_factors(make_run):
    runs = [make_run("a", **ticket(0.3, "hard-concrete", penalty=1.0)), make_run("b", **ticket(0.3, "magnitude"))]
    assert levels(with_factors(compare_runs(runs))) == [{"pruner": "hard-concrete"}, {"pruner": "magnitude"}]


def test_a_named_setting_comes_first(make_run):
    runs = [make_run(f"p{p:g}", **ticket(p / 10, "hard-concrete", penalty=p)) for p in (1.0, 5.0)]
    assert levels(with_factors(compare_runs(runs), "search.pruner.penalty", None)) == [{"penalty": "1"}, {"penalty": "5"}]


def test_a_run_without_the_setting_has_no_level(make_run):
    runs = [make_run("a", **ticket(0.1)), make_run("b", **ticket(0.3)), make_run("c", recipe="fine-tune", finetune={"epochs": 3})]
    assert {"recipe": "fine-tune"} in levels(with_factors(compare_runs(runs)))


def test_runs_that_nothing_tells_apart_keep_their_names(make_run):
    found = with_factors(compare_runs([make_run("a", **ticket(0.1)), make_run("b", **ticket(0.1))]))
    assert [factor.name for factor in found.factors] == ["run"]
    assert len({tuple(cell.levels.values()) for cell in found.cells}) == 2


def test_a_named_setting_that_only_some_runs_have_is_a_factor(make_run):
    runs = [make_run("a", **ticket(0.1)), make_run("c", recipe="fine-tune", finetune={"epochs": 3})]
    assert levels(with_factors(compare_runs(runs), "sparsity")) == [
        {"recipe": "robust-ticket", "sparsity": "0.1"},
        {"recipe": "fine-tune"},
    ]
