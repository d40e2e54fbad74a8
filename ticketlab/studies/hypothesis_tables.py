"""Reads the hypotheses of a study file, ``[[hypotheses]]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.report.hypothesis import EXPECTATIONS, Hypothesis, Selector
from ticketlab.report.measure_names import check_measure
from ticketlab.report.metric_text import SPEED_UP, metric_text
from ticketlab.studies.levels import label_of

KEYS = ("claim", "of", "than", "metric", "expect", "margin", "relevant")
REQUIRED = KEYS[:5]


def read_hypotheses(tables: Sequence[Mapping[str, Any]]) -> tuple[Hypothesis, ...]:
    """Return the hypotheses of tables. Levels and cells are not looked up yet.

    :raises UsageError: a key is missing, unknown, of the wrong type or without effect, or two hypotheses have the same claim.
    """
    found: dict[str, Hypothesis] = {}
    for number, table in enumerate(tables, start=1):
        where = f"hypothesis {number}"
        try:
            hypothesis = _hypothesis(table)
        except UsageError as problem:
            raise UsageError(f"{where}: {problem}") from None
        if hypothesis.claim in found:
            raise UsageError(f"{where}: has the claim of another one, `{hypothesis.claim}`; a claim identifies its hypothesis")
        found[hypothesis.claim] = hypothesis
    return tuple(found.values())


def _hypothesis(table: Mapping[str, Any]) -> Hypothesis:
    for key in table:
        if key not in KEYS:
            raise UsageError(f"`{key}` is not a key of a hypothesis{did_you_mean(key, KEYS)}")
    for key in REQUIRED:
        if key not in table:
            raise UsageError(f"needs `{key}`; the keys are {', '.join(KEYS)}")
    claim, expect = table["claim"], table["expect"]
    if not isinstance(claim, str) or not claim.strip():
        raise UsageError(f"claim: must be a sentence, not {claim!r}")
    if expect not in EXPECTATIONS:
        raise UsageError(f"expect: `{expect}` is not an expectation{did_you_mean(str(expect), EXPECTATIONS)}")
    metrics = _metrics(table["metric"])
    has_margin = expect.startswith("not ")
    if has_margin and "margin" not in table:
        raise UsageError(f'margin: expect = "{expect}" needs a margin, the largest difference that does not matter')
    unused = "relevant" if has_margin else "margin"
    if unused in table:
        used = "margin" if has_margin else "relevant"
        raise UsageError(f'{unused}: has no effect with expect = "{expect}"; write `{used}`, or remove it')
    return Hypothesis(
        claim=" ".join(claim.split()),
        of=_selector(table["of"], "of"),
        than=_selector(table["than"], "than"),
        metrics=metrics,
        expect=expect,
        **{key: _difference(table[key], key, metrics[0]) for key in ("margin", "relevant") if key in table},
    )


def _selector(value: Any, where: str) -> Selector:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, Mapping) and value:
        return {str(name): label_of(level) for name, level in value.items()}
    raise UsageError(f'{where}: must be the label of a level or cell, or levels by factor such as {{ method = "RobusT" }}, not {value!r}')


def _metrics(value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) and name for name in names):
        raise UsageError(f"metric: must be the name of a metric, or a list of names, not {value!r}")
    if len(set(names)) < len(names):
        raise UsageError("metric: a name is given twice; remove one")
    for name in names:
        if "*" in name:
            raise UsageError(f"metric: `{name}` is a pattern; name each metric, so that the file says what decides")
        if name == SPEED_UP:
            raise UsageError(f"metric: `{SPEED_UP}` is relative to a baseline; write cost.training_seconds")
        try:
            check_measure(name)
        except UsageError as problem:
            raise UsageError(f"metric: `{name}`: {problem}") from None
    texts = {name: metric_text(name) for name in names}
    first = texts[names[0]]
    for name, text in texts.items():
        if (text.factor, text.better) != (first.factor, first.better):
            raise UsageError(f"metric: `{names[0]}` and `{name}` have no common mean, since their unit or better direction differs")
    return tuple(names)


def _difference(value: Any, key: str, metric: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise UsageError(f"{key}: must be a number above 0, not {value!r}")
    least, most = metric_text(metric).limits
    if value >= most - least:
        raise UsageError(f"{key}: {value:g} is no possible difference of `{metric}`, which is from {least:g} to {most:g}; 0.05 is 5 points")
    return float(value)
