"""The pictures of numbers over steps: gates and convergence."""

import copy

import pytest
from support.charts import panels, rows_of
from support.hand_made import cell, comparison, results, stages

from ticketlab.core.errors import UsageError
from ticketlab.figures import convergence, gates

AUA = "attack.textfooler.aua"


def search_of(penalty):
    history = [{"step": step, "gates_at_zero": penalty * step / 100, "gates_at_one": 0.5, "penalty": 0.9, "loss": 1.0} for step in (10, 20)]
    return {"search": {"steps": 20, "history": history}, "cost": {"seconds": 1.0, "training_seconds": 1.0}}


def rows(chart, panel):
    """Return (series, step, mean) of the points of one panel, by its title."""
    return sorted((row["series"], row["x"], round(row["mean"], 6)) for row in rows_of(panels(chart)[panel], "point"))


def test_gates_have_a_panel_for_each_measure_and_a_line_for_each_lambda():
    cells = [
        cell(
            {"lambda": level},
            results({"sst2": [stages(seed, of={AUA: 0.2}, search=search_of(float(level)), salt=level) for seed in (0, 1)]}),
        )
        for level in ("0.1", "1")
    ]
    chart = gates(comparison(cells), color="lambda")
    assert rows(chart, "Gates at 0") == [("0.1", 10, 1), ("0.1", 20, 2), ("1", 10, 10), ("1", 20, 20)]
    assert rows(chart, "Regulariser R") == [("0.1", 10, 0.9), ("0.1", 20, 0.9), ("1", 10, 0.9), ("1", 20, 0.9)]


def test_gates_on_heads_and_neurons_have_panels_of_their_own():
    history = [{"step": step, "heads_at_zero": step / 100, "heads_open": 0.9, "neurons_at_one": 0.25, "loss": 1.0} for step in (10, 20)]
    search = {"search": {"steps": 20, "history": history}, "cost": {"seconds": 1.0, "training_seconds": 1.0}}
    chart = gates(comparison([cell({"method": "a"}, results({"sst2": [stages(0, of={AUA: 0.2}, search=search)]}))]))
    assert list(panels(chart)) == ["Heads at 0", "Expected open heads", "Neurons at 1"]
    assert [(step, mean) for _, step, mean in rows(chart, "Heads at 0")] == [(10, 10), (20, 20)]
    assert [mean for _, _, mean in rows(chart, "Expected open heads")] == [90, 90]


def test_a_search_that_cells_share_is_one_line():
    found = results({"sst2": [stages(0, of={AUA: 0.2}, search=search_of(1))]})
    cells = [cell({"sparsity": level}, copy.deepcopy(found)) for level in ("0.1", "0.3")]
    assert {series for series, _, _ in rows(gates(comparison(cells)), "Gates at 1")} == {"robust-ticket"}


def test_a_search_without_gates_is_refused():
    cells = [cell({"method": "a"}, results({"sst2": [stages(0, of={AUA: 0.2})]}))]
    with pytest.raises(UsageError, match="stage: no `search` of a finished cell has recorded its gates"):
        gates(comparison(cells))


def trained(method, name):
    """A cell whose model was attacked at step 20, at half of its 100 steps, and at its end."""
    history = [{"step": step, "dev_accuracy": step / 200} for step in (50, 100)]
    own = stages(0, name=name, of={AUA: 0.4}, history=history, salt=method)
    for at, aua in (("20", 0.1), ("50%", 0.2)):
        own[f"attack{at}"] = {**own["attack"], "at": at, "key": f"{method}{at}", "attacks": {"textfooler": {"n": 100, "aua": aua}}}
    return cell({"method": method}, results({"sst2": [own]}))


def test_convergence_is_the_development_accuracy_and_the_aua_of_checkpoints():
    chart = convergence(comparison([trained("fine-tune", "finetune"), trained("ticket", "retrain")]), color="method")
    both = ("fine-tune", "ticket")
    assert rows(chart, "Development accuracy") == [(name, *at) for name in both for at in ((50, 25), (100, 50))]
    assert rows(chart, "Aua under textfooler") == [(name, *at) for name in both for at in ((20, 10), (50, 20), (100, 40))]


def test_a_measure_of_a_long_training_has_fewer_points_than_steps():
    history = [{"step": step, "dev_accuracy": 0.5} for step in range(100)]
    chart = convergence(comparison([cell({"method": "a"}, results({"sst2": [stages(0, of={AUA: 0.2}, history=history)]}))]))
    (panel,) = panels(chart).values()
    assert len(rows_of(panel, "line")) == 100
    assert len(rows_of(panel, "point")) == 12


def test_an_unknown_measure_is_refused():
    with pytest.raises(UsageError, match=r"y: no finished cell has `dev_acuracy` over steps; did you mean `dev_accuracy`\?"):
        convergence(comparison([trained("ticket", "retrain")]), y="dev_acuracy")
