"""Hypotheses of a study: what its numbers are to decide, as its file states it before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from attrs import frozen

from ticketlab.report.metric_text import MetricText, metric_text

Expectation = Literal["higher", "lower", "not lower", "not higher"]
EXPECTATIONS: tuple[Expectation, ...] = get_args(Expectation)
Selector = str | Mapping[str, str]
"""The levels of some cells by factor; or, in a file, the label of a cell or level as text."""


@frozen(kw_only=True)
class Hypothesis:
    """A claim about the difference of the cells ``of`` less the cells ``than``.

    ``metrics`` are compared, their mean if there are several. The difference is expected to be ``higher`` or ``lower`` than zero
    (superiority); or ``not lower`` or ``not higher``, by more than the non-inferiority ``margin``. ``relevant`` is the smallest effect
    size of interest. Both are in the unit of the metrics: fractions, seconds.
    """

    claim: str
    of: Selector
    than: Selector
    metrics: tuple[str, ...]
    expect: Expectation
    margin: float | None = None
    relevant: float | None = None

    @property
    def sign(self) -> int:
        """1 if the hypothesis holds for large differences, -1 if for small ones."""
        return 1 if self.expect in ("higher", "not lower") else -1

    @property
    def null(self) -> float:
        """The difference beyond which the hypothesis holds: that of the null hypothesis."""
        return -self.sign * (self.margin or 0.0)

    @property
    def text(self) -> MetricText:
        """How numbers of the metrics are shown; all have the same unit."""
        return metric_text(self.metrics[0])

    @property
    def comparison(self) -> str:
        """What is compared in words: ``RobusT against Random: attack.pwws.aua higher``."""
        metrics = self.metrics[0] if len(self.metrics) == 1 else f"mean of {', '.join(self.metrics)}"
        margin = f" by {self.text.exact_number(self.margin)} or more" if self.margin else ""
        return f"{selected(self.of)} against {selected(self.than)}: {metrics} {self.expect}{margin}"

    def to_table(self) -> dict[str, Any]:
        """Return the hypothesis as in a study file."""
        table: dict[str, Any] = {"claim": self.claim}
        table |= {key: side if isinstance(side, str) else dict(side) for key, side in (("of", self.of), ("than", self.than))}
        table |= {"metric": list(self.metrics), "expect": self.expect}
        return table | {key: value for key in ("margin", "relevant") if (value := getattr(self, key)) is not None}

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Hypothesis:
        """Return the hypothesis of a table that :meth:`to_table` has made."""
        return cls(metrics=tuple(table["metric"]), **{key: value for key, value in table.items() if key != "metric"})


def selected(selector: Selector) -> str:
    """Return the selected cells in words: levels with their factors, but the level of a single factor alone where it is a word."""
    if isinstance(selector, str):
        return selector
    (level, *others) = selector.values()
    if not others and level != "none" and not level[:1].isdigit():
        return level
    return ", ".join(f"{name}={level}" for name, level in selector.items())
