from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.number_files import csv_of, summaries

from ticketlab.cli import output, run_recipe
from ticketlab.report.layout import rich_table
from ticketlab.report.main_table import model_table, table_title
from ticketlab.report.rows import count_errors, result_rows


def _attack(aua: float, count_errors: int = 0) -> dict[str, Any]:
    found = {"clean": 0.9, "aua": aua, "suc": 1 - aua / 0.9, "queries": 20.0, "n": 100, "skipped": 10, "errors": count_errors}
    return found | {"suc_of": {"count": 0, "total": 90, "interval": None}}


def _results(*seeds: dict[str, Any], recipe: str = "robust-ticket", scale: str = "full") -> dict[str, Any]:
    by_seed = {str(seed): stages for seed, stages in enumerate(seeds)}
    head = {"schema": 1, "recipe": recipe, "scale": scale, "model": "demo", "seeds": list(range(len(seeds)))}
    return {**head, "tasks": {"sst2": by_seed}}


def _ticket(accuracy: float, aua: float, count_errors: int = 0) -> dict[str, Any]:
    return {
        "finetune": {"kind": "train", "train": {"trainable_parameters": 9_000_000}, "cost": {"seconds": 10.0, "training_seconds": 8.0}},
        "search": {"kind": "search", "cost": {"seconds": 20.0, "training_seconds": 15.0}},
        "draw": {"kind": "draw", "ticket": {}, "cost": {"seconds": 1.0}},
        "retrain": {
            "kind": "train",
            "train": {"trainable_parameters": 6_500_000, "sparsity": {"weights": 0.3}},
            "cost": {"seconds": 9.0, "training_seconds": 7.0},
        },
        "evaluate": {
            "kind": "evaluate",
            "of": "retrain",
            "clean": {"accuracy": accuracy, "n": 400},
            "cost": {"seconds": 5.0, "prediction_seconds": 4.0},
        },
        "attack": {"kind": "attack", "of": "retrain", "attacks": {"deepwordbug": _attack(aua, count_errors)}, "cost": {"seconds": 50.0}},
    }


def _text(results: dict[str, Any]) -> str:
    output = io.StringIO()
    Console(file=output, width=200).print(rich_table(model_table(result_rows(results), table_title(results))))
    return output.getvalue()


def test_a_row_has_means_deviations_and_the_cost_of_the_model() -> None:
    (row,) = result_rows(_results(_ticket(0.8, 0.2), _ticket(0.9, 0.4)))
    assert (row.label, row.task, row.seeds) == ("robust-ticket", "sst2", 2)
    assert row.clean is not None
    assert row.clean.mean == pytest.approx(0.85)
    assert row.clean.deviation == pytest.approx(0.05 * 2**0.5)
    assert row.clean.n == 400
    assert row.attacks[0].aua is not None
    assert row.attacks[0].aua.mean == pytest.approx(0.3)
    assert row.attacks[0].suc is not None
    assert row.attacks[0].suc.n == 90  # of the attacked examples, not of all
    assert row.sparsity["weights"].mean == pytest.approx(0.3)
    assert row.seconds is not None
    assert row.seconds.mean == pytest.approx(40.0)
    assert row.search_seconds is not None
    assert row.search_seconds.mean == pytest.approx(15.0)
    assert row.training_seconds is not None
    assert row.training_seconds.mean == pytest.approx(15.0)
    assert row.parameters is not None
    assert row.parameters.mean == 6_500_000
    assert row.latency is not None
    assert row.latency.mean == pytest.approx(0.01)


def test_a_model_trained_without_the_drawn_ticket_has_no_sparsity() -> None:
    stages = _ticket(0.8, 0.2)
    del stages["retrain"]["train"]["sparsity"]
    (row,) = result_rows(_results(stages))
    assert not row.sparsity


def test_heads_and_neurons_are_separate_and_a_warm_up_on_unlabelled_text_belongs_to_the_search() -> None:
    stages = _ticket(0.8, 0.2)
    stages["finetune"]["train"]["objective"] = "mlm"
    stages["retrain"]["train"]["sparsity"] = {"heads": 1 / 6, "neurons": 0.3}
    (row,) = result_rows(_results(stages))
    assert row.search_seconds is not None
    assert row.search_seconds.mean == pytest.approx(23.0)
    assert row.training_seconds is not None
    assert row.training_seconds.mean == pytest.approx(7.0)
    text = _text(_results(stages))
    assert "heads 16.7" in text
    assert "neurons 30.0" in text
    assert "6.5 M" in text


def test_several_evaluated_models_are_several_rows_and_the_dense_one_has_no_sparsity() -> None:
    stages = _ticket(0.8, 0.2)
    stages["dense"] = {"kind": "evaluate", "of": "finetune", "clean": {"accuracy": 0.9, "n": 400}}
    found = {row.label: row for row in result_rows(_results(stages))}
    assert set(found) == {"robust-ticket retrain", "robust-ticket finetune"}
    dense = found["robust-ticket finetune"]
    assert not dense.sparsity
    assert dense.seconds is not None
    assert dense.seconds.mean == pytest.approx(10.0)
    assert dense.attacks == ()


def test_an_external_model_has_measurements_but_no_cost() -> None:
    (row,) = result_rows(_results({"attack": {"kind": "attack", "of": "./mine", "attacks": {"deepwordbug": _attack(0.2)}}}))
    assert row.clean is None  # the accuracy on the attacked sample belongs to the attack
    assert row.attacks[0].clean is not None
    assert row.attacks[0].clean.mean == pytest.approx(0.9)
    assert row.seconds is None
    assert "Training s" not in _text(_results({"attack": {"kind": "attack", "of": "./mine", "attacks": {"deepwordbug": _attack(0.2)}}}))


def test_an_attack_whose_examples_all_ended_in_errors_has_empty_cells() -> None:
    nothing = {"clean": None, "aua": None, "suc": None, "queries": None, "n": 0, "skipped": 0, "errors": 4}
    results = _results({"attack": {"kind": "attack", "of": "./mine", "attacks": {"deepwordbug": nothing}}})
    assert count_errors(results) == 4
    assert "Errors" in _text(results)


def test_the_table_shows_percentages_and_names_a_reduced_scale() -> None:
    text = _text(_results(_ticket(0.8, 0.2), _ticket(0.9, 0.4), scale="small"))
    assert "scale small (reduced)" in text
    assert "85.0 ± 7.1" in text
    assert "2 seeds" in text
    assert "400 examples evaluated; sample of 100 examples, 90 attacked; 10 misclassified before" in " ".join(text.split())


@pytest.mark.parametrize(("width", "tables"), [(200, 1), (80, 2)])
def test_a_table_too_wide_for_the_terminal_is_split_without_truncating_cells(
    width: int, tables: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = _ticket(0.8, 0.2)
    stages["retrain"]["train"]["sparsity"] = {"heads": 1 / 6, "neurons": 0.3}
    monkeypatch.setattr(output, "open_console", lambda: Console(width=width))
    run_recipe.print_rows(result_rows(_results(stages, recipe="early-robust")), "the title")
    text = capsys.readouterr().out
    assert text.count("the title") == tables
    assert "…" not in text
    for word in ("early-robust", "Clean %", "#Query", "neurons 30.0", "Trained", "Search s", "Training s", "95 % Wilson"):
        assert word in " ".join(text.split()), word


def test_labels_are_not_markup() -> None:
    assert "[bold]x" in _text(_results(_ticket(0.8, 0.2), recipe="[bold]x"))


def test_csv_has_one_line_per_number(tmp_path: Path) -> None:
    lines = csv_of(tmp_path / "results.csv", _results(_ticket(0.8, 0.2), _ticket(0.9, 0.4)))
    (aua,) = [line for line in summaries(lines) if line["metric"] == "attack.deepwordbug.aua"]
    assert (aua["label"], aua["attack"], aua["n"]) == ("robust-ticket", "deepwordbug", "100")
    assert float(aua["value"]) == pytest.approx(0.3)
