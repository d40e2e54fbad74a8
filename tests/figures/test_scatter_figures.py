"""The pictures of a metric against another: id-ood and time-aua."""

import pytest
from support.charts import data, subtitle, values_of
from support.hand_made import cell, comparison, results, stages

from ticketlab.core.errors import UsageError
from ticketlab.figures import id_ood, time_aua

CLEAN, OOD, AUA = "clean.accuracy", "ood.hans.accuracy", "attack.textfooler.aua"


def points(chart):
    return data(chart, "series", "x_low")


def of_both(method, level, clean, ood):
    seeds = [stages(seed, of={CLEAN: c, OOD: o}, salt=method + level) for seed, (c, o) in enumerate(zip(clean, ood, strict=True))]
    return cell({"method": method, "sparsity": level}, results({"mnli": seeds}))


def test_a_point_is_a_cell_with_the_spread_over_seeds_in_both_directions():
    chart = id_ood(comparison([of_both("poe", "0.5", (0.8, 0.82), (0.6, 0.6))]), color="method")
    (point,) = points(chart)
    assert (point["series"], point["x"], point["y"]) == ("poe", pytest.approx(81), pytest.approx(60))
    assert (point["x_low"], point["x_high"]) == (pytest.approx(81 - 2**0.5), pytest.approx(81 + 2**0.5))
    assert point["y_low"] == point["y_high"] == pytest.approx(60)


def test_points_of_a_colour_are_joined_along_a_factor():
    cells = [of_both("poe", level, (0.8,), (0.6,)) for level in ("0.5", "0.7", "0.9")]
    chart = id_ood(comparison(cells), color="method", line="sparsity")
    assert [(row["series"], row["order"]) for row in points(chart)] == [("poe", 0.5), ("poe", 0.7), ("poe", 0.9)]
    assert any(mark.get("type") == "line" for mark in values_of(chart, "mark"))


def test_without_the_line_each_level_is_its_own_series():
    cells = [of_both("poe", level, (0.8,), (0.6,)) for level in ("0.5", "0.7")]
    assert [row["series"] for row in points(id_ood(comparison(cells), color="method"))] == ["poe · sparsity 0.5", "poe · sparsity 0.7"]


def test_a_challenge_set_is_needed():
    cells = [cell({"method": "poe"}, results({"mnli": [stages(0, of={CLEAN: 0.8})]}))]
    with pytest.raises(UsageError, match=r"y: no finished cell was evaluated on a challenge set \(`ticketlab run --ood`\)"):
        id_ood(comparison(cells))


def timed(method, seconds, aua, search=None, **more):
    extra = {} if search is None else {"search": {"search": {"steps": 1}, "cost": {"seconds": search, "training_seconds": search}}}
    seeds = [stages(seed, of={AUA: value}, seconds=seconds, salt=method, **extra, **more) for seed, value in enumerate(aua)]
    return cell({"method": method}, results({"imdb": seeds}))


def test_the_time_of_a_ticket_includes_its_search():
    chart = time_aua(comparison([timed("fine-tune", 100.0, (0.1, 0.2)), timed("ticket", 60.0, (0.5,), search=90.0)]))
    assert [(row["series"], row["x"], round(row["y"], 6)) for row in points(chart)] == [("fine-tune", 100, 15), ("ticket", 150, 50)]


@pytest.mark.parametrize(
    ("seconds", "shown", "unit"), [(100.0, 100, "(s)"), (1200.0, 20, "(minutes)"), (18000.0, 5, "(hours)")], ids=["s", "minutes", "hours"]
)
def test_long_times_have_a_larger_unit(seconds, shown, unit):
    chart = time_aua(comparison([timed("a", seconds, (0.1,))]))
    assert points(chart)[0]["x"] == shown
    assert any(unit in str(title) for title in values_of(chart, "title"))


def test_labels_are_beside_the_points_and_do_not_cover_each_other():
    chart = time_aua(comparison([timed(name, 100.0, (0.3,)) for name in ("a", "b", "c")]))
    shifts = [mark["dy"] for mark in values_of(chart, "mark") if mark.get("type") == "text"]
    assert len(shifts) == len(set(shifts)) == 3


def test_a_model_of_unknown_time_is_left_out_and_counted():
    unknown = timed("early", 100.0, (0.3,), search=50.0)
    draw = {"kind": "draw", "key": "d", "inputs": {"search": "search@5"}, "ticket": {}, "cost": {"seconds": 1.0}}
    for of_seed in unknown.results["tasks"]["imdb"].values():
        of_seed["retrain"]["inputs"] = {"ticket": "draw"}
        retrained = {name: of_seed.pop(name) for name in ("retrain", "attack")}
        of_seed.update({"draw": draw, **retrained})
    chart = time_aua(comparison([timed("fine-tune", 100.0, (0.1,)), unknown]))
    assert [row["series"] for row in points(chart)] == ["fine-tune"]
    assert "1 of 2 models have no known training time and are left out." in subtitle(chart)


def test_a_cell_without_the_challenge_set_is_named_as_missing():
    without = cell({"method": "b", "sparsity": "0.5"}, results({"mnli": [stages(0, of={CLEAN: 0.9}, salt="b")]}))
    chart = id_ood(comparison([of_both("a", "0.5", (0.8,), (0.6,)), without, of_both("c", "0.5", (0.7,), (0.5,))]))
    assert len(points(chart)) == 2
    assert "Without these numbers: 1 cell (" in subtitle(chart)
