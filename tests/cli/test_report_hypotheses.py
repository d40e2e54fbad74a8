"""``ticketlab report`` of a study with hypotheses, in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.measured_cells import compared, measured_cell, write_study

from ticketlab.core import files

if TYPE_CHECKING:
    from conftest import Invoke

CLAIM = "A robust ticket resists attacks <b>better</b> than a random one, at the same sparsity & cost."
COMPARISON = "robust against random: clean.accuracy higher"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A lab with a study of two methods with five seeds, of which one is better by 20 of 100 examples, and one that failed."""
    counts = {"robust": (80, 82, 81, 79, 83), "random": (60, 63, 61, 60, 62)}
    cells = [
        measured_cell(tmp_path, {"method": name}, clean=["1" * count + "0" * (100 - count) for count in found])
        for name, found in counts.items()
    ]
    failed = type(cells[0])("dense", {"method": "dense"}, tmp_path / "runs" / "dense", None, error="out of memory")
    levels = [{"of": {"method": "robust"}, "than": {"method": name}} for name in ("random", "dense")]
    rest = {"metric": ["clean.accuracy"], "expect": "higher", "relevant": 0.05}
    hypotheses = [{"claim": claim, **level, **rest} for claim, level in zip((CLAIM, "Better than dense."), levels, strict=True)]
    return write_study(tmp_path, compared(*cells, failed), hypotheses).parents[1]


def test_text(invoke: Invoke, lab: Path) -> None:
    result = invoke("report", "mine", "--lab", lab)
    assert result.exit_code == 0, result.stderr
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert any(line.startswith("A robust ticket resists") and line.endswith("< 0.001  shown") for line in lines), result.stdout
    assert any(line.endswith("same sparsity & cost.") and not line.startswith("A robust") for line in lines)
    assert COMPARISON in lines
    assert "not run: Better than dense: dense failed: out of memory" in lines
    assert (
        "verdicts: paired bootstrap and paired t test; Holm's correction for 2 tests of the hypotheses; fractions in percentage points"
        in lines
    )
    assert "changed after the first run" not in result.stdout


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("a.md", ["| Claim | Comparison | Difference | 95 % interval | p corrected | Verdict |", r"\<b\>better", r"| \< 0.001 | shown |"]),
        ("a.tex", [r"\label{tab:mine-sst2-model-demo-5-seeds-hypotheses}", r"\textless{}b\textgreater{}better", r" \& cost", "shown"]),
        ("a.html", ['<h2 id="decided">Hypotheses</h2>', "&lt;b&gt;better", COMPARISON, "out of memory"]),
    ],
)
def test_other_formats(name: str, texts: list[str], invoke: Invoke, lab: Path, tmp_path: Path) -> None:
    result = invoke("report", "mine", "--lab", lab, "--out", tmp_path / name)
    assert result.exit_code == 0, result.stderr
    found = (tmp_path / name).read_text(encoding="utf-8")
    assert [text for text in texts if text not in found] == []


def test_json_has_the_numbers_of_each_test_and_csv_is_the_main_table_alone(invoke: Invoke, lab: Path) -> None:
    shown, not_run = json.loads(invoke("report", "mine", "--lab", lab, "--json").stdout)["verdicts"]
    assert (shown["claim"], shown["verdict"], shown["tests"]) == (CLAIM, "shown", 2)
    (task,) = shown["tasks"]
    assert (task["task"], task["difference"], task["seeds"]) == ("sst2", pytest.approx(0.198), [0, 1, 2, 3, 4])
    assert task["of_value"] - task["than_value"] == pytest.approx(0.198)
    assert not_run["tasks"][0].keys() == task.keys()
    assert not_run["tasks"][0]["difference"] is None
    assert task["p_corrected"] == pytest.approx(2 * 2 / 10_001)
    assert (not_run["verdict"], not_run["tasks"][0]["reason"]) == ("not run", "dense failed: out of memory")
    assert "shown" not in invoke("report", "mine", "--lab", lab, "--format", "csv").stdout


def test_changed_hypotheses_are_reported(invoke: Invoke, lab: Path) -> None:
    path = lab / "studies" / "mine" / "study.json"
    table = files.read_json(path)
    table["hypotheses"].pop()
    files.write_json(path, table)
    result = invoke("report", "mine", "--lab", lab)
    assert "Note: the hypotheses were changed after the first run on 2026-01-31: removed: `Better than dense.`" in result.stdout
