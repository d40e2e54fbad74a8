from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from scipy.stats import binomtest
from support.number_files import comparison_of, csv_of, read_csv, summaries

from ticketlab.core.errors import UsageError
from ticketlab.report.cells import Cell, Comparison, Factor
from ticketlab.report.numbers_file import check_numbers_path, write_numbers
from ticketlab.report.numbers_table import COLUMNS


def run(*accuracies: float, name: str = "mine-1", label: str = "mine", keys: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """Return the results of a run with one training and one evaluation of 100 examples for each seed."""
    history = [{"step": 5, "loss": 0.7, "dev_accuracy": 0.5}, {"step": 10, "loss": 0.6, "dev_accuracy": 0.75}]
    seeds = {
        str(seed): {
            "finetune": {
                "kind": "train",
                "key": f"train {seed}",
                "inputs": {},
                "train": {"trainable_parameters": 9, "history": history},
                "cost": {"seconds": 4.0, "training_seconds": 3.0},
            },
            "evaluate": {
                "kind": "evaluate",
                "key": keys[seed] if keys else f"evaluate {seed}",
                "of": "finetune",
                "inputs": {"model": "finetune"},
                "clean": {"split": "test", "accuracy": accuracy, "n": 100},
            },
        }
        for seed, accuracy in enumerate(accuracies)
    }
    head = {"run": name, "recipe": "mine", "label": label, "scale": "full", "model": "demo", "seeds": list(range(len(accuracies)))}
    return {**head, "tasks": {"sst2": seeds}, **more}


def test_each_number_has_a_summary_and_a_line_for_each_seed(tmp_path: Path) -> None:
    lines = [line for line in csv_of(tmp_path / "a.csv", run(0.7, 0.8, 0.9)) if line["metric"] == "clean.accuracy"]
    found = [(line["seeds"], line["seed"], round(float(line["value"]), 6), line["n"]) for line in lines]
    assert found == [("3", "", 0.8, "100"), ("", "0", 0.7, "100"), ("", "1", 0.8, "100"), ("", "2", 0.9, "100")]
    summary, first, *_ = lines
    assert float(summary["deviation"]) == pytest.approx(0.1)
    # Student's interval of the mean over three seeds: 0.8 ± 4.302653 * 0.1 / sqrt(3)
    assert [float(summary[end]) for end in ("low", "high")] == pytest.approx([0.551586, 1.048414], abs=1e-6)
    wilson = binomtest(70, 100).proportion_ci(method="wilson")
    assert [float(first[end]) for end in ("low", "high")] == pytest.approx([wilson.low, wilson.high])
    assert (first["deviation"], first["key"], summary["key"]) == ("", "evaluate 0", "evaluate 0 evaluate 1 evaluate 2")


def test_one_seed_has_no_interval_over_seeds(tmp_path: Path) -> None:
    (summary,) = [line for line in summaries(csv_of(tmp_path / "a.csv", run(0.7))) if line["metric"] == "clean.accuracy"]
    assert [summary[column] for column in ("seeds", "deviation", "low", "high")] == ["1", "", "", ""]


def test_a_measurement_that_seeds_share_counts_once(tmp_path: Path) -> None:
    lines = [line for line in csv_of(tmp_path / "a.csv", run(0.7, 0.7, 0.9, keys=("a", "a", "b"))) if line["metric"] == "clean.accuracy"]
    assert [(line["seeds"], line["seed"], line["key"]) for line in lines] == [
        ("2", "", "a b"),
        ("", "0", "a"),
        ("", "1", "a"),
        ("", "2", "b"),
    ]
    assert float(lines[0]["value"]) == pytest.approx(0.8)


def test_histories_have_their_steps(tmp_path: Path) -> None:
    lines = csv_of(tmp_path / "a.csv", run(0.7, 0.8))
    found = [(line["seed"], line["step"], line["value"]) for line in lines if line["metric"] == "history.finetune.dev_accuracy"]
    assert found == [("0", "5", "0.5"), ("0", "10", "0.75"), ("1", "5", "0.5"), ("1", "10", "0.75")]
    assert {line["step"] for line in lines if line["metric"] == "clean.accuracy"} == {""}


def test_runs_have_a_column_for_each_setting_that_differs_from_their_recipe(tmp_path: Path) -> None:
    one = run(0.7, overrides={"search.pruner": "magnitude", "draw.sparsity": 0.1})
    other = run(0.8, name="mine-2", overrides={"draw.sparsity": 0.3, "retrain.hold": [True, "x"]})
    lines = summaries(csv_of(tmp_path / "a.csv", one, other))
    columns = [column for column in lines[0] if column not in COLUMNS]
    assert columns == ["setting.search.pruner", "setting.draw.sparsity", "setting.retrain.hold"]
    assert [line["setting.draw.sparsity"] for line in lines if line["metric"] == "clean.accuracy"] == ["0.1", "0.3"]
    assert {line["setting.retrain.hold"] for line in lines} == {"", '[true, "x"]'}


def study() -> Comparison:
    """Two cells of a study whose factors are named like columns, and an unfinished one."""
    levels = ({"task": "=1+1", "n": "0.1"}, {"task": "b", "n": "0.3"}, {"task": "c", "n": "0.5"})
    results = [comparison_of(run(0.7, name="a")).cells[0].results, comparison_of(run(0.8, name="b")).cells[0].results, None]
    cells = [Cell(f"-{one['task']}", one, Path(name), found) for name, one, found in zip(("a", "b", "c"), levels, results, strict=True)]
    return Comparison("study", (Factor("task", ("=1+1", "b", "c")), Factor("n", ("0.1", "0.3", "0.5"))), tuple(cells))


def test_studies_have_a_column_for_each_factor_and_no_formula_of_a_spreadsheet(tmp_path: Path) -> None:
    write_numbers(study(), tmp_path / "a.csv")
    lines = summaries(read_csv(tmp_path / "a.csv"))
    found = [
        [line[column] for column in ("label", "factor.task", "factor.n", "task")] for line in lines if line["metric"] == "clean.accuracy"
    ]
    assert found == [["'-=1+1", "'=1+1", "0.1", "sst2"], ["'-b", "b", "0.3", "sst2"]]


def test_parquet_has_the_same_columns_with_types_and_unchanged_text(tmp_path: Path) -> None:
    write_numbers(study(), tmp_path / "a.parquet")
    write_numbers(study(), tmp_path / "a.csv")
    table = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    lines = read_csv(tmp_path / "a.csv")
    assert (table.column_names, table.num_rows) == (list(lines[0]), len(lines))
    assert table["value"].to_pylist() == [float(line["value"]) for line in lines]
    assert set(table["factor.task"].to_pylist()) == {"=1+1", "b"}
    assert {str(table.schema.field(name).type) for name in ("seed", "n", "step")} == {"int64"}
    assert None in table["seed"].to_pylist()


def test_a_parquet_column_of_numbers_is_one_of_numbers(tmp_path: Path) -> None:
    runs = [run(0.7, name=str(n), overrides={"lr": lr, "text": text}) for n, (lr, text) in enumerate([(1, 1), (0.5, "x")])]
    write_numbers(comparison_of(*runs), tmp_path / "a.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    assert set(table["setting.lr"].to_pylist()) == {1.0, 0.5}
    assert set(table["setting.text"].to_pylist()) == {"1", "x"}


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_file_of_another_run_is_not_overwritten(name: str, tmp_path: Path) -> None:
    one, other = comparison_of(run(0.8, name="=mine-1")), comparison_of(run(0.8, name="mine-2"))
    path = tmp_path / name
    for _ in range(2):
        write_numbers(one, path)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=rf"{name}: the file exists and holds the numbers of another run \('?=mine-1\)"):
        write_numbers(other, path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
@pytest.mark.parametrize("content", ["run,label\n1,2\n", "PAR1 and more", ",".join(COLUMNS) + "s\n"])
def test_a_file_of_another_kind_is_not_overwritten(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match="the file exists and does not hold numbers written by this version"):
        check_numbers_path(tmp_path / name)
