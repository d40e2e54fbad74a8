"""The numbers of attacks in tables and CSV files: fractions, means, and their intervals and deviations."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.number_files import csv_of

from ticketlab.attacks.results.metrics import measure
from ticketlab.attacks.results.record import Record
from ticketlab.cli import output, run_recipe
from ticketlab.report.attacked_sample import AttackedSample, describe_samples
from ticketlab.report.layout import rich_table
from ticketlab.report.main_table import model_table
from ticketlab.report.rows import count_errors, count_timeouts, result_rows
from ticketlab.report.statistics import summarise_means


def attacked(*queries: int, near: tuple[float, ...] = (0.5, 0.7), errors: int = 0, timeouts: int = 0) -> dict[str, Any]:
    """Return an attack's result with two successes, which changed 1 and 2 of 10 words; the other examples withstood the attack."""
    made = [
        Record(
            id=str(n),
            status="success" if n < 2 else "failed",
            original=["x"],
            perturbed=["y"],
            label="a",
            queries=q,
            words_changed=1 + n,
            words_total=10,
            similarity=dict(enumerate(near)).get(n),
        )
        for n, q in enumerate(queries)
    ]
    made += [Record(id=f"e{n}", status="error", original=["x"], label="a") for n in range(errors)]
    made += [Record(id=f"t{n}", status="timeout", original=["x"], label="a") for n in range(timeouts)]
    return measure(made).to_table()


def results(*seeds: dict[str, Any], name: str = "pwws") -> dict[str, Any]:
    stages = {str(seed): {"attack": {"kind": "attack", "of": "./mine", "attacks": {name: found}}} for seed, found in enumerate(seeds)}
    return {"schema": 1, "recipe": "attack", "scale": "full", "model": "demo", "seeds": list(range(len(seeds))), "tasks": {"sst2": stages}}


def shown(found: dict[str, Any]) -> str:
    output = io.StringIO()
    Console(file=output, width=250).print(rich_table(model_table(result_rows(found), "title")))
    return output.getvalue()


def test_one_seed_has_intervals() -> None:
    text = shown(results(attacked(10, 20, 30, 40)))
    for head in ("Aua %", "Suc %", "#Query", "Words %", "Similarity"):
        assert head in text
    assert "25.0" in text  # queries: deviation sqrt(500 / 3), t of 3 degrees of freedom 3.182446
    assert "(4.5 to 45.5)" in text
    assert "15.0" in text
    assert "(0.0 to 78.5)" in text  # 0.15 ± 12.706205 * 0.05, and no fraction is below 0
    assert "0.600" in text
    assert "(-0.671 to 1.000)" in text
    assert "95 % Wilson interval for one seed (sample of 4 examples, all attacked); Student's t interval for means" in " ".join(
        text.split()
    )


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [
        pytest.param([("test", 4, 0, 0)], "sample of 4 test examples, all attacked", id="all"),
        pytest.param(
            [("test", 86, 14, 0)],
            "sample of 100 test examples, 86 attacked; 14 misclassified before the attack were skipped: counted in Clean and Aua, "
            "not in Suc",
            id="some were skipped",
        ),
        pytest.param(
            [("train", 8, 1, 1)],
            "sample of 10 training examples, 8 attacked; 1 misclassified before the attack was skipped: counted in Clean and Aua, "
            "not in Suc; 1 has no result",
            id="one timed out",
        ),
        pytest.param(
            [("all", 90, 10, 0), ("all", 80, 18, 2)],
            "sample of 100 examples of all splits, 80 to 90 attacked; 10 to 18 misclassified before the attack were skipped: "
            "counted in Clean and Aua, not in Suc; 0 to 2 have no result",
            id="models differ",
        ),
        pytest.param(
            [("dev", 0, 3, 0)],
            "sample of 3 dev examples, 0 attacked; 3 misclassified before the attack were skipped: counted in Clean and Aua, not in Suc",
            id="none",
        ),
        pytest.param([("", 0, 0, 0)], "sample of 0 examples, 0 attacked", id="nothing"),
    ],
)
def test_samples_are_described_with_the_number_of_attacked_examples(seeds: list[tuple[str, int, int, int]], expected: str) -> None:
    samples = [
        AttackedSample.of(split, {"n": held + skipped, "skipped": skipped, "timeouts": late}) for split, held, skipped, late in seeds
    ]
    assert list(describe_samples(samples)) == [expected]


def test_several_seeds_have_deviations() -> None:
    text = shown(results(attacked(10, 20, 30, 40), attacked(20, 30, 40, 50, near=(0.9, 0.9))))
    assert "30.0 ± 7.1" in text
    assert "15.0 ± 0.0" in text
    assert "0.750 ± 0.212" in text
    assert "Student" not in text


def test_a_number_that_was_not_measured_has_no_column() -> None:
    text = shown(results(attacked(10, 20, near=())))
    assert "Similarity" not in text
    assert "Words %" in text
    assert "Words %" not in shown(results(measure([]).to_table()))


def test_a_model_without_a_number_that_others_have_gets_an_empty_cell() -> None:
    several = results(attacked(10, 20))
    several["tasks"]["sst2"]["0"]["other"] = {"kind": "attack", "of": "./yours", "attacks": {"pwws": measure([]).to_table()}}
    yours = next(line for line in shown(several).splitlines() if "yours" in line)
    assert yours.split()[-5:] == ["-"] * 5


def test_timeouts_and_errors_are_counted_separately() -> None:
    found = results(attacked(10, 20, timeouts=3), attacked(10, 20, errors=1, timeouts=1))
    assert (count_errors(found), count_timeouts(found)) == (1, 4)
    text = shown(found)
    assert "Errors" in text
    assert "Timeouts" in text
    assert "Timeouts" not in shown(results(attacked(10, errors=1)))


def test_the_csv_file_has_the_intervals_of_means(tmp_path: Path) -> None:
    numbers = csv_of(tmp_path / "a.csv", results(attacked(10, 20, 30, 40, timeouts=2)))
    lines = {line["metric"].removeprefix("attack.pwws."): line for line in numbers if line["seed"] == "0"}
    assert (lines["queries"]["value"], lines["queries"]["n"]) == ("25.0", "4")
    assert float(lines["queries"]["low"]) == pytest.approx(25 - 3.182446 * (500 / 3) ** 0.5 / 2, abs=1e-4)
    assert float(lines["words_changed"]["value"]) == pytest.approx(0.15)
    assert (lines["suc"]["n"], lines["skipped"]["value"]) == ("4", "0.0")
    assert (lines["words_changed"]["n"], lines["similarity"]["n"], lines["timeouts"]["value"]) == ("2", "2", "2.0")


def test_the_mean_over_seeds_has_the_size_of_the_smallest_sample() -> None:
    found = summarise_means([attacked(10, 20, 30), attacked(10, 20)], "queries")
    assert found is not None
    assert (found.mean, found.n, found.interval) == (17.5, 2, None)
    assert summarise_means([measure([]).to_table()], "queries") is None
    old = summarise_means([{"queries": 20.0}], "queries")
    assert old is not None
    assert (old.mean, old.n, old.interval) == (20.0, None, None)


def test_attacks_that_augment_training_are_not_results_but_their_errors_count() -> None:
    found = results(attacked(10, 20))
    stages = found["tasks"]["sst2"]["0"]
    stages["perturb"] = {"kind": "attack", "of": "finetune", "attacks": {"pwws": attacked(90, 90, errors=2)}, "cost": {"seconds": 5.0}}
    stages["retrain"] = {"kind": "train", "train": {"augmented": {"by": "perturb"}}, "cost": {"seconds": 3.0}}
    stages["evaluate"] = {"kind": "evaluate", "of": "retrain", "clean": {"accuracy": 0.8, "n": 10}}
    assert {row.model for row in result_rows(found)} == {"demo"}
    assert [row.label for row in result_rows(found)] == ["attack ./mine", "attack retrain"]
    assert result_rows(found)[1].seconds is not None
    assert result_rows(found)[1].seconds.mean == 8.0  # type: ignore[union-attr]
    assert count_errors(found) == 2


@pytest.mark.parametrize("width", [80, 100, 160])
def test_no_cell_is_truncated(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(output, "open_console", lambda: Console(width=width))
    run_recipe.print_rows(result_rows(results(attacked(100, 2000, 30), name="textattack:InputReductionFeng2018")), "title")
    text = capsys.readouterr().out
    assert "…" not in text
    assert all(len(line) <= width for line in text.splitlines())
    assert text.count("title") <= 3
