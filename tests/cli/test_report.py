from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.comparisons import results
from support.number_files import read_csv

from ticketlab.core import files

if TYPE_CHECKING:
    from conftest import Invoke


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A lab with two runs of two seeds."""
    found = {
        "base": results(clean=(0.9, 0.92), aua={"pwws": (0.1, 0.2)}, name="a"),
        "robust": results(clean=(0.88, 0.9), aua={"pwws": (0.4, 0.3)}, name="b"),
    }
    for name, run in found.items():
        files.write_json(tmp_path / "lab" / "runs" / name / "results.json", {"schema": 2, "run": name, "label": name, **run})
    return tmp_path / "lab"


def test_the_table_is_on_stdout(invoke: Invoke, lab: Path) -> None:
    result = invoke("report", "base", "robust", "--lab", lab)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "base, robust: sst2, model demo, 2 seeds"
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["base", *["91.0", "±", "1.4*", "15.0", "±", "7.1"]] in lines
    assert ["robust", *["89.0", "±", "1.4", "35.0", "±", "7.1*"]] in lines
    assert "mean ± standard deviation (n - 1) over 2 seeds" in result.stdout


def test_rows_columns_and_metrics_are_chosen(invoke: Invoke, lab: Path) -> None:
    result = invoke(
        "report", "base", "robust", "--lab", lab, "--metrics", "attack.*.aua,clean.accuracy", "--columns", "run", "--format", "csv"
    )
    assert result.exit_code == 0
    heads = result.stdout.splitlines()[0]
    assert heads.startswith("base pwws Aua %,base pwws Aua % deviation,base Clean Acc %") or "base pwws Aua %" in heads


@pytest.mark.parametrize(
    ("name", "begins"),
    [("a.md", "**base, robust"), ("a.tex", "% needs"), ("a.csv", "run,"), ("a.txt", "base, robust"), ("a.html", "<!doctype html>")],
)
def test_the_name_of_the_file_is_its_format(name: str, begins: str, invoke: Invoke, lab: Path, tmp_path: Path) -> None:
    result = invoke("report", "base", "robust", "--lab", lab, "--out", tmp_path / name)
    assert f"{tmp_path / name}: written" in result.stderr
    assert (result.exit_code, result.stdout) == (0, "")
    assert (tmp_path / name).read_text(encoding="utf-8").lower().startswith(begins.lower())


def test_json_and_the_file_of_numbers(invoke: Invoke, lab: Path, tmp_path: Path) -> None:
    result = invoke("report", "robust", "--lab", lab, "--json", "--csv", tmp_path / "numbers.csv")
    assert result.exit_code == 0
    (row,) = json.loads(result.stdout)["rows"]
    assert row["entries"][0]["mean"] == pytest.approx(0.89)
    lines = [line for line in read_csv(tmp_path / "numbers.csv") if line["metric"] == "clean.accuracy"]
    assert [(line["run"], line["seed"], line["value"]) for line in lines] == [
        ("robust", "", "0.89"),
        ("robust", "0", "0.88"),
        ("robust", "1", "0.9"),
    ]


def test_a_baseline_adds_tests_and_says_where_there_are_none(invoke: Invoke, lab: Path) -> None:
    result = invoke("report", "base", "robust", "--lab", lab, "--baseline", "base")
    assert result.exit_code == 0
    assert "2 numbers not compared with the baseline, such as: " in result.stdout
    assert "speed-up" not in result.stdout  # there are no times


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("base", "rbust"), "; did you mean `robust`? (`ticketlab lab ls` lists them)"),
        (("base", "--metrics", "clean.acuracy"), "no run has the metric `clean.acuracy`; did you mean `clean.accuracy`?"),
        (("base", "--rows", "pruner"), "the table names the factor `pruner`, which does not exist"),
        (("base", "--baseline", "fine-tune"), "no cell or level is called `fine-tune`, which was named as the baseline"),
        (("base", "--format", "html"), "--format html: name the file with --out, such as --out report.html"),
        (
            ("base", "--format", "csv", "--out", "a.html"),
            "--out a.html: the name is that of a file in the format html, and --format is csv",
        ),
        (("base", "--format", "latex", "--json"), "--format latex: with --json the table is printed as JSON; leave one of them out"),
        (("base", "--out", "page.html", "--rows", "run"), "--rows and --columns: the page has a row for each cell"),
        (("base", "--out", "table.doc"), "--out table.doc: the format is not clear from the name; end it in .txt, .md, .tex, .csv, .html"),
        (("base", "--select-on", "dev.clean.accuracy"), "--select-on names the metric by which --select selects: give both"),
        (("base", "--select", "sparsity"), "the comparison has no factor `sparsity`"),
    ],
)
def test_mistakes_are_one_line(options: tuple[str, ...], message: str, invoke: Invoke, lab: Path) -> None:
    result = invoke("report", *options, "--lab", lab)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
