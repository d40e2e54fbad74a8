"""The renderers of a comparison's table, on one table with everything that an entry can have."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.comparisons import cell, results, study

from ticketlab.core.formatting import printable
from ticketlab.report.baseline_comparison import PairedComparison
from ticketlab.report.build_table import comparison_table
from ticketlab.report.cells import Published
from ticketlab.report.comparison_table import ComparisonTable, footnote_letter
from ticketlab.report.latex_text import latex
from ticketlab.report.table_csv import csv_table
from ticketlab.report.table_json import json_table
from ticketlab.report.table_latex import latex_table
from ticketlab.report.table_markdown import markdown_table
from ticketlab.report.table_text import plain_table
from ticketlab.statistics.paired import PairedDifference

ODD = r"a|b & 50% #_{} \ ^~$ <b>*x*`"
ODD_MARKDOWN = r"a\|b \& 50% \#\_\{\} \\ ^\~\$ \<b\>\*x\*\`"
ODD_LATEX = (
    r"a\textbar{}b \& 50\% \#\_\{\} \textbackslash{} \textasciicircum{}\textasciitilde{}\$ "
    r"\textless{}b\textgreater{}{*}x{*}\textasciigrave{}"
)
LABELS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)


def table(odd: str = ODD) -> ComparisonTable:
    """Return a table of three methods on two tasks, one of which failed and one of which the paper has, too."""
    cells = [
        cell({"method": "base", "task": "sst2"}, results("sst2", clean=(0.9, 0.92), aua={"pwws": (0.1, 0.2)}, name="a", warnings=[odd])),
        cell({"method": odd, "task": "sst2"}, results("sst2", clean=(0.95, 0.97), aua={"pwws": (0.3, 0.3)}, name="b")),
        cell({"method": "base", "task": "mnli"}, results("mnli", clean=(0.8,), name="c")),
        cell({"method": odd, "task": "mnli"}, error=f"bad: {odd}"),
    ]
    tested = PairedDifference(first=0.3, second=0.15, difference=0.15, p=0.01, test="paired t test")
    test = PairedComparison(
        cell=cells[1].label, baseline="base, sst2", task="sst2", metric="attack.pwws.aua", numbers=tested, p_corrected=0.01
    )
    published = (Published({"method": odd, "task": "sst2"}, "attack.pwws.aua", 26.7),)
    return comparison_table(study(cells, published=published, title="Title"), tests=[test])


def test_text() -> None:
    assert plain_table(table("new")).splitlines() == [
        "Title: sst2, mnli, model demo, 1 to 2 seeds",
        "",
        "                          sst2           sst2         mnli",
        "                         Clean           pwws        Clean",
        "  method                 Acc %          Aua %        Acc %",
        " ──────────────────────────────────────────────────────────",
        "  base     ours     91.0 ± 1.4     15.0 ± 7.1     80.0 (a)",
        "  new      ours    96.0 ± 1.4*   30.0 ± 0.0*†   failed (b)",
        "  new      paper             -           26.7            -",
        "",
        "mean ± standard deviation (n - 1) over 1 to 2 seeds",
        "examples behind each seed's number: sst2 400 (Clean), 100 (pwws); mnli 400 (Clean)",
        "* best of its column",
        "† differs from that of base, sst2 with p < 0.05 (paired t test; Holm's correction for 1 test)",
        "(a) 1 seed instead of 2",
        "(b) new, mnli failed: bad: new",
        "Note: base, sst2: sst2, evaluate: new",
    ]


def test_markdown() -> None:
    assert markdown_table(table(ODD)).splitlines() == [
        "**Title: sst2, mnli, model demo, 1 to 2 seeds**",
        "",
        "| method |   | sst2 Clean Acc % | sst2 pwws Aua % | mnli Clean Acc % |",
        "| --- | --- | ---: | ---: | ---: |",
        "| base | ours | 91.0 ± 1.4 | 15.0 ± 7.1 | 80.0<sup>a</sup> |",
        rf"| {ODD_MARKDOWN} | ours | **96.0** ± 1.4 | **30.0** ± 0.0† | failed<sup>b</sup> |",
        rf"| {ODD_MARKDOWN} | paper | - | 26.7 | - |",
        "",
        "- mean ± standard deviation (n - 1) over 1 to 2 seeds",
        "- examples behind each seed's number: sst2 400 (Clean), 100 (pwws); mnli 400 (Clean)",
        "- bold: best of its column",
        r"- † differs from that of base, sst2 with p \< 0.05 (paired t test; Holm's correction for 1 test)",
        "- <sup>a</sup> 1 seed instead of 2",
        rf"- <sup>b</sup> {ODD_MARKDOWN}, mnli failed: bad: {ODD_MARKDOWN}",
        rf"- base, sst2: sst2, evaluate: {ODD_MARKDOWN}",
    ]


@pytest.mark.parametrize(
    ("title", "label"),
    [("é", "comparison"), ("Small models: Aua against sparsity, 5 seeds", "small-models-aua-against-sparsity-5"), ("x" * 50, "x" * 40)],
)
def test_a_label_of_latex_has_whole_words(title: str, label: str) -> None:
    assert rf"\label{{tab:{label}}}" in latex_table(table(ODD), label=title)


def test_latex() -> None:
    assert latex_table(table(ODD), label="Main results!").splitlines() == [
        r"% needs \usepackage{booktabs}",
        rf"% warning: base, sst2: sst2, evaluate: {ODD}",
        r"\begin{table}",
        r"\centering",
        r"\caption{Title: sst2, mnli, model demo, 1 to 2 seeds}",
        r"\label{tab:main-results}",
        r"\begin{tabular}{llrrr}",
        r"\toprule",
        r" &  & \multicolumn{2}{c}{sst2} & \multicolumn{1}{c}{mnli} \\",
        r"\cmidrule(lr){3-4}",
        r" &  & \multicolumn{1}{c}{Clean} & \multicolumn{1}{c}{pwws} & \multicolumn{1}{c}{Clean} \\",
        r"method &  & Acc \% & Aua \% & Acc \% \\",
        r"\midrule",
        r"base & ours & 91.0$_{\pm 1.4}$ & 15.0$_{\pm 7.1}$ & 80.0\textsuperscript{a} \\",
        r"\addlinespace",
        rf"{ODD_LATEX} & ours & \textbf{{96.0}}$_{{\pm 1.4}}$ & "
        r"\textbf{30.0}$_{\pm 0.0}$\textsuperscript{$\dagger$} & failed\textsuperscript{b} \\",
        r" & paper & - & 26.7 & - \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip",
        r"\parbox{\linewidth}{\footnotesize Mean \ensuremath{\pm} standard deviation (n - 1) over 1 to 2 seeds. "
        r"Examples behind each seed's number: sst2 400 (Clean), 100 (pwws); mnli 400 (Clean). Bold: best of its column. "
        r"$\dagger$ differs from that of base, sst2 with p \textless{} 0.05 (paired t test; Holm's correction for 1 test). "
        rf"\textsuperscript{{a}} 1 seed instead of 2. \textsuperscript{{b}} {ODD_LATEX}, mnli failed: bad: {ODD_LATEX}.}}",
        r"\end{table}",
    ]


def test_csv_has_numbers_and_no_formulas() -> None:
    rows = list(csv.reader(io.StringIO(csv_table(table("=1+1")))))
    heads = ["sst2 Clean Acc %", "sst2 Clean Acc % deviation", "sst2 pwws Aua %", "sst2 pwws Aua % deviation", "mnli Clean Acc %"]
    assert rows == [
        ["method", "source", *heads, "notes"],
        ["base", "ours", "91.0", "1.414214", "15.0", "7.071068", "80.0", "1 seed instead of 2"],
        ["'=1+1", "ours", "96.0", "1.414214", "30.0", "0.0", "failed", "'=1+1, mnli failed: bad: =1+1"],
        ["'=1+1", "paper", "", "", "26.7", "", "", ""],
    ]


def test_json_has_unrounded_numbers_with_their_seeds_and_notes() -> None:
    found = json.loads(json.dumps(json_table(table("new"))))
    base, new, paper = found["rows"]
    assert found["columns"][1] == {"metric": "attack.pwws.aua", "heads": ["sst2", "pwws", "Aua %"], "levels": {"task": "sst2"}}
    assert base["levels"] == {"method": "base", "source": "ours"}
    assert base["entries"][0] == {
        "cell": "base, sst2",
        "mean": pytest.approx(0.91),
        "deviation": pytest.approx(0.0141421, abs=1e-6),
        "interval": pytest.approx([0.91 - 12.706205 * 0.01, 0.91 + 12.706205 * 0.01], abs=1e-6),  # Student's, 1 degree of freedom
        "seeds": 2,
        "examples": [400, 400],
        "best": False,
        "p": None,
    }
    assert (new["entries"][1]["best"], new["entries"][1]["p"]) == (True, 0.01)
    assert new["entries"][2] == {"cell": "new, mnli", "state": "failed", "notes": ["new, mnli failed: bad: new"]}
    assert (paper["published"], paper["entries"][1]) == (True, {"cell": "", "published": 26.7})


def test_footnotes_have_letters() -> None:
    assert [footnote_letter(number) for number in (0, 25, 26, 27, 701, 702)] == ["a", "z", "aa", "ab", "zz", "aaa"]


def literal(source: str) -> str:
    """Return the text that LaTeX prints for escaped text; anything that it would not print literally is an error."""
    printed = {
        r"\textbackslash{}": "\\", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~", r"\textbar{}": "|", r"\textless{}": "<",
        r"\textgreater{}": ">", r"\textasciigrave{}": "`", r"\ldots{}": "\N{HORIZONTAL ELLIPSIS}",
        "---": "\N{EM DASH}", "--": "\N{EN DASH}", "{}": "", "{[}": "[", "{]}": "]", "{*}": "*",
        **{rf"\{char}": char for char in "&%$#_{}"},
    }  # fmt: skip
    text = ""
    while source:
        known = next((one for one in printed if source.startswith(one)), None)
        math = re.match(r"\\ensuremath\{(\\[A-Za-z]+|-)\}", source)
        if math:
            text += "?"
        elif known is None:
            assert source[0] not in "&%$#_{}\\^~[]*", source
            text += source[0]
        else:
            text += printed[known]
        source = source[math.end() if math else len(known or " ") :]
    return text


@given(LABELS)
def test_latex_prints_any_text_literally(label: str) -> None:
    plain = printable(" ".join(label.split()))
    expected = "".join("?" if latex(char).startswith(r"\ensuremath") else char for char in plain)
    assert literal(latex(label)) == expected


@pytest.mark.parametrize("text", ["--", "---", "''", ",,", "a--b"])
def test_latex_makes_no_ligatures(text: str) -> None:
    assert not re.search(r"--|''|,,", latex(text))
    assert latex(text).replace("{}", "") == text


@given(LABELS.filter(lambda label: label not in ("base", "")))
def test_any_label_leaves_the_tables_whole(label: str) -> None:
    made = table(label)
    source = latex_table(made)
    body = source.partition("\\midrule\n")[2].partition("\\bottomrule")[0]
    for line in body.splitlines():
        assert line == r"\addlinespace" or (len(re.findall(r"(?<!\\)&", line)) == 4 and line.endswith(r" \\"))
    unescaped = re.sub(r"\\[\\{}%]", "", re.sub(r"(?m)^%.*$", "", source))
    assert unescaped.count("{") == unescaped.count("}")
    assert "%" not in unescaped
    lines = [line for line in markdown_table(made).splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {6}
    assert len({len(row) for row in csv.reader(io.StringIO(csv_table(made)))}) == 1


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles_with_booktabs_alone(tmp_path: Path) -> None:
    document = [r"\documentclass{article}", r"\usepackage{booktabs}", r"\begin{document}", latex_table(table(ODD)), r"\end{document}"]
    (tmp_path / "table.tex").write_text("\n".join(document), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert made.returncode == 0, made.stdout
