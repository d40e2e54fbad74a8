import pytest
from support.charts import data, panels, subtitle
from support.hand_made import cell, comparison, results

from ticketlab.core.errors import UsageError
from ticketlab.figures import classes


def evaluated(seed, predicted, labels=None):
    clean = {"n": 10, "accuracy": 0.5, "labels": labels or {"neg": 4, "pos": 6}, "predicted": predicted}
    return {"evaluate": {"kind": "evaluate", "key": f"e{seed}", "of": "retrain", "clean": clean, "ood": {}}}


def bars(chart):
    found = {}
    for row in data(chart, "bar", "share"):
        found.setdefault(row["bar"].replace("\n", " "), {})[row["class"]] = round(row["share"], 6)
    return found


def test_bars_are_the_classes_of_the_data_and_of_the_predictions_of_each_seed():
    seeds = [evaluated(0, {"neg": 0, "pos": 10}), evaluated(1, {"neg": 10, "pos": 0})]
    assert bars(classes(comparison([cell({"method": "a"}, results({"sst2": seeds}))]))) == {
        "test (10)": {"neg": 40, "pos": 60},
        "test, predicted by a, seed 0": {"pos": 100},
        "test, predicted by a, seed 1": {"neg": 100},
    }


def test_a_mean_over_seeds_says_how_much_they_differ():
    seeds = [evaluated(0, {"neg": 0, "pos": 10}), evaluated(1, {"neg": 10, "pos": 0})]
    chart = classes(comparison([cell({"method": "a"}, results({"sst2": seeds}))]), by="cell")
    assert bars(chart)["test, predicted by a (seeds differ by up to 100 points)"] == {"neg": 50, "pos": 50}
    assert "mean of 2 seeds" in subtitle(chart)


def test_the_splits_of_the_data_are_shown_once_for_all_cells():
    data_sets = {"sst2": {"classes": {"train": {"neg": 30, "pos": 10}, "test": {"neg": 4, "pos": 6}}}}
    cells = [cell({"method": name}, results({"sst2": [evaluated(0, {"neg": 5, "pos": 5})]}, data=data_sets)) for name in ("a", "b")]
    assert bars(classes(comparison(cells), predictions=False)) == {
        "train (40)": {"neg": 75, "pos": 25},
        "test (10)": {"neg": 40, "pos": 60},
    }


def test_each_set_has_a_panel():
    own = evaluated(0, {"neg": 5, "pos": 5})
    own["evaluate"]["ood"] = {"hans": {"n": 4, "labels": {"neg": 1, "pos": 3}, "predicted": {"neg": 4}}}
    assert list(panels(classes(comparison([cell({"method": "a"}, results({"sst2": [own]}))])))) == ["sst2", "hans"]


def test_runs_without_evaluations_are_refused():
    with pytest.raises(UsageError, match="no finished cell has evaluated a model or recorded the classes of its data"):
        classes(comparison([cell({"method": "a"}, results({"sst2": [{}]}))]))


def test_long_names_are_broken_into_lines_and_not_cut_off():
    cells = [
        cell({"method": f"{'a long method ' * 4}{name}"}, results({"sst2": [evaluated(number, {"neg": 5, "pos": 5})]}))
        for number, name in enumerate(("one", "two"))
    ]
    names = [row["bar"] for row in data(classes(comparison(cells)), "bar", "share") if "predicted" in row["bar"]]
    assert all(len(line) <= 40 for name in names for line in name.split("\n"))
    assert {name.replace("\n", " ") for name in names} == {f"test, predicted by {'a long method ' * 4}{name}" for name in ("one", "two")}
