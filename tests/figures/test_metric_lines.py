import pytest
from support.charts import data, panels, subtitle, title, values_of
from support.hand_made import cell, comparison, results, stages

from ticketlab.core.errors import UsageError
from ticketlab.figures import metric

AUA, CLEAN = "attack.textfooler.aua", "clean.accuracy"


def measured(values, metric=AUA, salt="", **more):
    return [stages(seed, of={metric: value}, salt=salt, **more) for seed, value in enumerate(values)]


def sweep(*, seeds=(0.2, 0.3, 0.4), methods=("robust", "magnitude"), levels=("0.1", "0.2", "0.3"), tasks=("sst2",)):
    """A cell per method and level; each level adds 0.1 and the second method 0.05."""
    cells = []
    for number, method in enumerate(methods):
        for step, level in enumerate(levels):
            own = [value + step / 10 + number / 20 for value in seeds]
            found = {task: measured(own, salt=f"{method}{level}{task}") for task in tasks}
            cells.append(cell({"method": method, "sparsity": level}, results(found)))
    return cells


def points(chart, series=None):
    return [row for row in data(chart, "series", "x", "mean") if row["x"] is not None and series in (None, row["series"])]


def baselines(chart):
    return [row for row in data(chart, "series", "x", "mean") if row["x"] is None]


def test_each_point_is_the_mean_over_seeds_in_percent_with_a_band_of_one_deviation():
    found = points(metric(comparison(sweep()), x="sparsity", y=AUA, color="method"), "robust")
    assert [(row["x"], round(row["mean"], 6)) for row in found] == [(0.1, 30.0), (0.2, 40.0), (0.3, 50.0)]
    assert (round(found[0]["low"], 6), round(found[0]["high"], 6)) == (20.0, 40.0)  # 20, 30, 40: the deviation is 10


def test_the_interval_of_the_mean_is_students():
    found = points(metric(comparison(sweep()), x="sparsity", y=AUA, color="method", band="interval"), "robust")
    # 30 ± t(0.975, 2) x 10 / sqrt(3) = 30 ± 4.302653 x 5.773503, cut at 0 %
    assert (found[0]["low"], found[0]["high"]) == (pytest.approx(30 - 24.84138), pytest.approx(30 + 24.84138))


def test_a_band_ends_at_possible_values():
    cells = [cell({"sparsity": level}, results({"sst2": measured((0.0, 0.3), salt=level)})) for level in ("0.1", "0.2")]
    found = points(metric(comparison(cells), x="sparsity", y=AUA))
    assert found[0]["mean"] == pytest.approx(15)
    assert found[0]["low"] == 0  # 15 - 21.2


def test_one_seed_has_no_band():
    chart = metric(comparison(sweep(seeds=(0.2,))), x="sparsity", y=AUA, color="method")
    assert {row["low"] for row in points(chart)} == {None}
    assert "one seed, so no band" in subtitle(chart)


def test_a_measurement_that_seeds_share_counts_once():
    shared = measured((0.2, 0.2, 0.5))
    shared[1]["attack"]["key"] = shared[0]["attack"]["key"]
    chart = metric(comparison([cell({"sparsity": "0.1"}, results({"sst2": shared}))]), x="sparsity", y=AUA)
    assert points(chart)[0]["mean"] == pytest.approx(35)
    assert "mean of 2 seeds" in subtitle(chart)


def test_a_cell_without_the_factor_is_one_dashed_baseline():
    found = results({"sst2": measured((0.1, 0.2), salt="fine-tune")}, recipe="fine-tune")
    more = [
        cell({"method": "fine-tune", "sparsity": level}, found, inapplicable=("sparsity",), same_as=same)
        for level, same in (("0.1", ""), ("0.2", "fine-tune, 0.1"))
    ]
    chart = metric(comparison([*sweep(), *more]), x="sparsity", y=AUA, color="method")
    assert [(row["series"], row["mean"]) for row in baselines(chart)] == [("fine-tune", pytest.approx(15))]
    assert {row["series"] for row in points(chart)} == {"robust", "magnitude"}


def test_cells_that_differ_in_a_factor_that_is_named_nowhere_are_no_one_line():
    chart = metric(comparison(sweep()), x="sparsity", y=AUA)
    assert {row["series"] for row in points(chart)} == {"robust", "magnitude"}


def test_levels_of_two_factors_that_are_numbers_have_the_names_of_their_factors():
    cells = [
        cell({"heads": heads, "neurons": neurons, "method": "a"}, results({"sst2": measured((0.2,), salt=heads + neurons)}))
        for heads in ("1/6", "1/3")
        for neurons in ("0.2", "0.3")
    ]
    found = metric(comparison(cells), x="method", y=AUA)
    assert {row["series"] for row in points(found)} == {f"heads {heads} · neurons {n}" for heads in ("1/6", "1/3") for n in ("0.2", "0.3")}


@pytest.mark.parametrize(
    ("levels", "kind"),
    [
        pytest.param(("0.1", "0.2", "0.3"), "linear", id="equal-steps"),
        pytest.param(("0.01", "0.1", "1"), "log", id="equal-ratios"),
        pytest.param(("1", "5", "50"), "log", id="wide-range"),
        pytest.param(("1/6", "1/3", "1/2"), "linear", id="fractions"),
    ],
)
def test_geometric_levels_are_on_a_logarithmic_axis(levels, kind):
    cells = sweep(levels=levels, methods=("robust",))
    chart = metric(comparison(cells), x="sparsity", y=AUA)
    assert {scale["type"] for scale in values_of(chart, "scale") if "type" in scale} == {kind}


def test_levels_that_are_no_numbers_are_categories_without_lines():
    cells = sweep(levels=("none", "0.2"), methods=("robust",))
    chart = metric(comparison(cells), x="sparsity", y=AUA)
    assert [row["x"] for row in points(chart)] == ["none", "0.2"]
    assert not any(mark.get("type") == "line" for mark in values_of(chart, "mark"))


def test_a_logarithmic_axis_refuses_zero():
    with pytest.raises(UsageError, match="axis: sparsity has the value 0, and a logarithmic axis shows positive values only"):
        metric(comparison(sweep(levels=("0", "0.1"))), x="sparsity", y=AUA, axis="log")


def test_tasks_have_their_own_panels_and_so_has_each_metric():
    cells = [
        cell(
            {"sparsity": level},
            results({task: [stages(0, of={AUA: 0.2, CLEAN: 0.9}, salt=task + level)] for task in ("sst2", "imdb")}),
        )
        for level in ("0.1", "0.2")
    ]
    chart = metric(comparison(cells), x="sparsity", y=[AUA, CLEAN])
    headings = list(panels(chart))
    assert headings == [f"{task} · {name}" for name in ("Aua under textfooler", "Clean accuracy") for task in ("sst2", "imdb")]


def test_an_axis_that_hides_zero_says_so():
    cells = [cell({"sparsity": level}, results({"sst2": measured((0.9, 0.92), CLEAN, level)})) for level in ("0.1", "0.2")]
    assert "The vertical axis starts at 89 %." in subtitle(metric(comparison(cells), x="sparsity", y=CLEAN))


def test_the_subtitle_has_model_task_scale_sample_and_missing_cells():
    failed = cell({"method": "robust", "sparsity": "0.9"}, None, error="out of memory")
    other = cell({"method": "robust", "sparsity": "0.8"}, results({"sst2": measured((0.9,), CLEAN)}))
    chart = metric(comparison([*sweep(), failed, other], "my study"), x="sparsity", y=AUA, color="method")
    words = subtitle(chart)
    assert words.startswith("my study bert-base · sst2 · scale full · mean of 3 seeds, ± 1 standard deviation 100 test examples attacked")
    assert "Missing: 1 cell (robust, 0.9) of 8; 1 failed, the first with: out of memory" in words
    assert "Without these numbers: 1 cell (robust, 0.8)" in words
    assert title(chart) == "Aua under textfooler against sparsity"


def test_the_horizontal_axis_can_be_another_metric_of_the_model():
    cells = [
        cell({"sparsity": level}, results({"sst2": measured((0.2, 0.3), salt=level, sparsity={"weights": float(level) + 0.01})}))
        for level in ("0.1", "0.2")
    ]
    found = points(metric(comparison(cells), x="sparsity.weights", y=AUA))
    assert [(row["series"], round(row["x"], 6)) for row in found] == [("robust-ticket", 11), ("robust-ticket", 21)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"x": "sparsty"}, "x: no factor `sparsty`; did you mean `sparsity`?", id="x"),
        pytest.param({"y": "attack.textfoler.aua"}, "y: no finished cell has the number `attack.textfoler.aua`; did you mean", id="y"),
        pytest.param({"color": "metod"}, "color: no factor `metod`; did you mean `method`?", id="color"),
        pytest.param({"facet": "tsk"}, "facet: no factor `tsk`", id="facet"),
        pytest.param({"y": []}, "y: no metric is named", id="no-metric"),
    ],
)
def test_wrong_names_are_refused_with_the_nearest_right_one(arguments, message):
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        metric(comparison(sweep()), **{"x": "sparsity", "y": AUA, **arguments})


def test_a_study_without_a_finished_cell_is_refused_with_its_first_error():
    cells = [cell({"sparsity": "0.1"}, None, error="the disk is full")]
    with pytest.raises(UsageError, match=r"a study: none of its 1 cells is finished.*the disk is full"):
        metric(comparison(cells), x="sparsity", y=AUA)
