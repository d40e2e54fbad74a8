"""The metrics of an attack, defined as in textattack, with their numerators and denominators."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
from attrs import frozen

from ticketlab.attacks.results.record import Record
from ticketlab.core.intervals import student, wilson


@frozen
class Fraction:
    """A fraction with its numerator and denominator; None if the denominator is 0. It describes the sample, and has no interval."""

    count: int
    total: int

    @property
    def value(self) -> float | None:
        """The fraction, between 0 and 1."""
        return self.count / self.total if self.total else None

    def parts(self) -> dict[str, Any]:
        """Return numerator and denominator as plain values."""
        return {"count": self.count, "total": self.total}


@frozen
class Proportion(Fraction):
    """A fraction of examples that estimates a probability, with a confidence interval."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval (Wilson)."""
        return None if self.value is None else wilson(self.value, self.total)

    def parts(self) -> dict[str, Any]:
        """Return numerator, denominator and interval as plain values."""
        return {**super().parts(), "interval": _listed(self.interval)}


@frozen
class SampleMean:
    """A mean over examples with its sum and count; None if there are no examples.

    ``deviation`` is the sample standard deviation (with denominator n - 1), None for fewer than two values. Values lie between ``least``
    and ``most``, to which the interval is clipped.
    """

    sum: float
    n: int
    deviation: float | None = None
    least: float = -math.inf
    most: float = math.inf

    @classmethod
    def of(cls, values: Sequence[float], least: float = -math.inf, most: float = math.inf) -> SampleMean:
        """Return the mean of these values."""
        return cls(float(sum(values)), len(values), statistics.stdev(values) if len(values) > 1 else None, least, most)

    @property
    def value(self) -> float | None:
        """The mean."""
        return self.sum / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval (Student's t); None for fewer than two values."""
        bounds = None if self.value is None or self.deviation is None else student(self.value, self.deviation, self.n)
        return bounds and (max(bounds[0], self.least), min(bounds[1], self.most))

    def parts(self) -> dict[str, Any]:
        """Return sum, number of examples, deviation and interval as plain values."""
        return {"sum": self.sum, "n": self.n, "deviation": self.deviation, "interval": _listed(self.interval)}


@frozen(kw_only=True)
class AttackMetrics:
    """The effect of an attack on a victim.

    ``n`` excludes errors and timeouts. ``clean`` and ``aua`` (accuracy before and under attack) are over ``n``; ``suc`` (success rate) and
    ``queries`` exclude skipped examples, ``words_changed`` and ``similarity`` also failed attacks.
    """

    n: int
    successes: int
    failures: int
    skipped: int
    errors: int
    timeouts: int
    truncated: int
    clean: Proportion
    aua: Proportion
    suc: Proportion
    queries: SampleMean
    """Queries per attacked example."""
    words_changed: SampleMean
    """Fraction of words changed where the attack succeeded; texts in which no word differs are excluded, as in textattack."""
    similarity: SampleMean
    """Cosine similarity of original and changed text by a sentence encoder, where the attack succeeded; empty without an encoder."""
    replaceable_examples: Fraction
    """Attacked examples with a word for which the attack had a candidate, out of those for which this is known."""
    replaceable_words: Fraction
    """Words for which it had a candidate, out of those for which it looked for one."""
    allowed_examples: Fraction
    """The same, for candidates that passed the constraints."""
    allowed_words: Fraction
    unseen_words: Fraction
    """Words that the victim does not see because the text is truncated, out of the words of all examples."""

    def to_table(self) -> dict[str, Any]:
        """Return plain values: the fractions and means, their parts and intervals, and the counts."""
        table: dict[str, Any] = {}
        for field in attrs.fields(AttackMetrics):
            value = getattr(self, field.name)
            if isinstance(value, (Fraction, SampleMean)):
                table[field.name] = value.value
                table[f"{field.name}_of"] = value.parts()
            else:
                table[field.name] = value
        return table


def measure(records: Iterable[Record], *, query_budget: int | None = None) -> AttackMetrics:
    """Return the metrics of one attack, which spends at most ``query_budget`` queries on an example."""
    records = list(records)
    number = Counter(record.status for record in records)
    attacked = [record for record in records if record.status in ("success", "failed")]
    known = len(attacked) + number["skipped"]
    changed = [record for record in attacked if record.status == "success" and record.words_changed and record.words_total]
    counted = [record for record in attacked if record.words_tried is not None]
    tried = _sum(record.words_tried for record in counted)
    measured = [record for record in records if record.words_unseen is not None]
    return AttackMetrics(
        n=known,
        successes=number["success"],
        failures=number["failed"],
        skipped=number["skipped"],
        errors=number["error"],
        timeouts=number["timeout"],
        truncated=sum(record.truncated for record in records),
        clean=Proportion(len(attacked), known),
        aua=Proportion(number["failed"], known),
        suc=Proportion(number["success"], len(attacked)),
        queries=_mean_queries([record.queries for record in attacked], query_budget),
        words_changed=SampleMean.of([record.words_changed / record.words_total for record in changed], 0, 1),
        similarity=SampleMean.of([record.similarity for record in records if record.similarity is not None], -1, 1),
        replaceable_examples=Fraction(sum(bool(record.words_replaceable) for record in counted), len(counted)),
        replaceable_words=Fraction(_sum(record.words_replaceable for record in counted), tried),
        allowed_examples=Fraction(sum(bool(record.words_allowed) for record in counted), len(counted)),
        allowed_words=Fraction(_sum(record.words_allowed for record in counted), tried),
        unseen_words=Fraction(_sum(record.words_unseen for record in measured), sum(record.words_total for record in measured)),
    )


def _mean_queries(numbers: Sequence[int], budget: int | None) -> SampleMean:
    """Return the mean. Every attacked example was queried once before, so it is at least 1, unless an attack does not count that query."""
    return SampleMean.of(numbers, min([1, *numbers]), max([budget, *numbers]) if budget is not None else math.inf)


def _sum(numbers: Iterable[int | None]) -> int:
    return sum(number or 0 for number in numbers)


def _listed(interval: tuple[float, float] | None) -> list[float] | None:
    return list(interval) if interval else None
