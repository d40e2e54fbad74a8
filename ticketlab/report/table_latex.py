"""A comparison's table in LaTeX, for a paper: booktabs rules, headings over groups of columns, the best numbers in bold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from ticketlab.core.formatting import printable
from ticketlab.report.comparison_table import Column, ComparisonTable, Entry, deviation_text, footnote_letter, letters_of, mean_text
from ticketlab.report.latex_text import latex
from ticketlab.report.layout import EMPTY
from ticketlab.report.verdict_table import NUMBERS, verdict_table

MAX_LABEL = 40
DAGGER = r"$\dagger$"


def latex_table(table: ComparisonTable, label: str = "") -> str:
    r"""Return a ``table`` environment with a caption, the label ``tab:LABEL``, and the legend, footnotes and notes below.

    It needs ``\usepackage{booktabs}``. ``label`` is by default made from the title. Levels that repeat those of the row above are blank.
    The warnings of the runs are comments above the table. Verdicts on hypotheses are a second table, ``tab:LABEL-hypotheses``.
    """
    lines = [
        r"% needs \usepackage{booktabs}",
        *(f"% warning: {printable(warning)}" for warning in table.warnings),
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex(table.title)}}}",
        rf"\label{{tab:{_label(label or table.title)}}}",
        rf"\begin{{tabular}}{{{'l' * len(table.stub)}{'r' * len(table.columns)}}}",
        r"\toprule",
        *_heads(table),
        r"\midrule",
        *_rows(table),
        r"\bottomrule",
        r"\end{tabular}",
        *_notes(table),
        r"\end{table}",
        *(_verdicts(table, _label(label or table.title)) if table.verdicts else []),
    ]
    return "\n".join(lines) + "\n"


def _verdicts(table: ComparisonTable, label: str) -> Iterator[str]:
    """Yield the lines of the table of hypotheses. Claims and comparisons are paragraphs."""
    verdicts = verdict_table(table.verdicts)
    columns = ["r" if head in NUMBERS else "l" for head in verdicts.heads]
    columns[:2] = [rf"p{{{width}\linewidth}}" for width in (0.25, 0.22)]
    yield from (r"\begin{table}", r"\centering", r"\footnotesize", rf"\caption{{Hypotheses. {latex(table.title)}}}")
    yield from (rf"\label{{tab:{label}-hypotheses}}", rf"\begin{{tabular}}{{{''.join(columns)}}}", r"\toprule")
    yield from (_line([*map(latex, verdicts.heads)]), r"\midrule")
    yield from (_line([*map(latex, row)]) for row in verdicts.rows)
    yield from (r"\bottomrule", r"\end{tabular}")
    if verdicts.notes:
        yield from _small([latex(note[:1].upper() + note[1:]) for note in verdicts.notes])
    yield r"\end{table}"


def _label(text: str) -> str:
    """Return a title as a label of whole words, such as ``main-results``."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    short = words if len(words) <= MAX_LABEL else words[: MAX_LABEL + 1].rpartition("-")[0] or words[:MAX_LABEL]
    return short or "comparison"


def _heads(table: ComparisonTable) -> Iterator[str]:
    """Yield the lines of headings. Equal neighbours under the same headings become one, with a rule below."""
    depth = max((len(column.heads) for column in table.columns), default=1)
    for level in range(depth - 1):
        cells, rules, start = [""] * len(table.stub), [], len(table.stub) + 1
        for heads, group in groupby(column.heads[: level + 1] for column in table.columns):
            width = len(list(group))
            cells.append(rf"\multicolumn{{{width}}}{{c}}{{{latex(heads[-1])}}}")
            rules += [rf"\cmidrule(lr){{{start}-{start + width - 1}}}"] if width > 1 else []
            start += width
        yield _line(cells)
        yield from [" ".join(rules)] if rules else []
    yield _line([*map(latex, table.stub), *(latex(column.heads[-1]) for column in table.columns)])


def _rows(table: ComparisonTable) -> Iterator[str]:
    """Yield the lines of the rows, with space between groups that differ in their first level."""
    above: Sequence[str] = ()
    firsts = [row.stub[:1] for row in table.rows]
    spaced = len(set(firsts)) < len(firsts)
    for row in table.rows:
        same = 0
        while same < len(row.stub) - 1 and above[: same + 1] == row.stub[: same + 1]:
            same += 1
        if above and same == 0 and spaced:
            yield r"\addlinespace"
        levels = ["" if number < same else latex(level or EMPTY) for number, level in enumerate(row.stub)]
        levels[-1:] = [level + _superscript(letters_of(row.marks)) for level in levels[-1:]]
        yield _line([*levels, *map(_entry, row.entries, table.columns)])
        above = row.stub


def _entry(entry: Entry, column: Column) -> str:
    deviation = deviation_text(entry, column)
    mean = latex(mean_text(entry, column))
    mean = rf"\textbf{{{mean}}}" if entry.best else mean
    below = rf"$_{{\pm {deviation}}}$" if deviation else ""
    return f"{mean}{below}{_superscript((DAGGER if entry.significant else '') + letters_of(entry.marks))}"


def _superscript(text: str) -> str:
    return rf"\textsuperscript{{{text}}}" if text else ""


def _line(cells: Sequence[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _notes(table: ComparisonTable) -> Iterator[str]:
    notes = [
        *(latex(text[:1].upper() + text[1:]) for text in table.legend),
        *(["Bold: best of its column"] if table.has_best else []),
        *([f"{DAGGER} {latex(table.significance)}"] if table.significance else []),
        *(f"{_superscript(footnote_letter(number))} {latex(text)}" for number, text in enumerate(table.footnotes)),
        *map(latex, table.notes),
    ]
    if notes:
        yield from _small(notes)


def _small(notes: Sequence[str]) -> Iterator[str]:
    yield r"\par\smallskip"
    yield rf"\parbox{{\linewidth}}{{\footnotesize {'. '.join(notes)}.}}"
