"""The numbers of an attack, defined as textattack defines them, with what they are made of."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
from attrs import frozen

from ticketlab.attacks.results.records import Record
from ticketlab.core.intervals import student, wilson


@frozen
class Part:
    """A fraction with what it was made of; None where it would be over nothing. It describes the sample, and has no interval."""

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
class Share(Part):
    """A fraction of examples, which a larger sample would give more exactly."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval (Wilson)."""
        return None if self.value is None else wilson(self.value, self.total)

    def parts(self) -> dict[str, Any]:
        """Return numerator, denominator and interval as plain values."""
        return {**super().parts(), "interval": _listed(self.interval)}


@frozen
class Mean:
    """A mean over examples with what it was made of; None where it would be over nothing.

    ``deviation`` is the sample standard deviation (n - 1 below the sum), None for fewer than two values. No value is below ``least`` or
    above ``most``, and the interval ends there.
    """

    sum: float
    n: int
    deviation: float | None = None
    least: float = -math.inf
    most: float = math.inf

    @classmethod
    def of(cls, values: Sequence[float], least: float = -math.inf, most: float = math.inf) -> Mean:
        """Return the mean of these values."""
        return cls(float(sum(values)), len(values), statistics.stdev(values) if len(values) > 1 else None, least, most)

    @property
    def value(self) -> float | None:
        """The mean."""
        return self.sum / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval (Student's t); None for fewer than two values."""
        found = None if self.value is None or self.deviation is None else student(self.value, self.deviation, self.n)
        return found and (max(found[0], self.least), min(found[1], self.most))

    def parts(self) -> dict[str, Any]:
        """Return sum, number of examples, deviation and interval as plain values."""
        return {"sum": self.sum, "n": self.n, "deviation": self.deviation, "interval": _listed(self.interval)}


@frozen(kw_only=True)
class AttackMetrics:
    """What an attack did to a victim.

    ``n`` leaves out errors and timeouts. ``clean`` and ``aua`` (accuracy before and under attack) are over ``n``; ``suc`` (success rate)
    and ``queries`` leave out what was skipped, ``words_changed`` and ``similarity`` also what held.
    """

    n: int
    successes: int
    failures: int
    skipped: int
    errors: int
    timeouts: int
    truncated: int
    clean: Share
    aua: Share
    suc: Share
    queries: Mean
    """Queries per attacked example."""
    words_changed: Mean
    """Fraction of words changed where the attack succeeded; texts in which no word differs are left out, as textattack does."""
    similarity: Mean
    """Cosine of original and changed text by a sentence encoder, where the attack succeeded; over nothing without an encoder."""
    replaceable_examples: Part
    """Attacked examples with a word for which the attack had a candidate; over those of which that is known."""
    replaceable_words: Part
    """Words for which it had one, of those for which it looked for one."""
    allowed_examples: Part
    """The same, of candidates that its constraints let through."""
    allowed_words: Part
    unseen_words: Part
    """Words of all examples that the victim does not see, since it cuts the text before."""

    def to_table(self) -> dict[str, Any]:
        """Return plain values: the fractions and means, their parts and intervals, and the counts."""
        table: dict[str, Any] = {}
        for field in attrs.fields(AttackMetrics):
            value = getattr(self, field.name)
            if isinstance(value, (Part, Mean)):
                table[field.name] = value.value
                table[f"{field.name}_of"] = value.parts()
            else:
                table[field.name] = value
        return table


def measure(records: Iterable[Record], *, query_budget: int | None = None) -> AttackMetrics:
    """Sum up the records of one attack, which spends no more than ``query_budget`` queries on an example."""
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
        clean=Share(len(attacked), known),
        aua=Share(number["failed"], known),
        suc=Share(number["success"], len(attacked)),
        queries=_mean_queries([record.queries for record in attacked], query_budget),
        words_changed=Mean.of([record.words_changed / record.words_total for record in changed], 0, 1),
        similarity=Mean.of([record.similarity for record in records if record.similarity is not None], -1, 1),
        replaceable_examples=Part(sum(bool(record.words_replaceable) for record in counted), len(counted)),
        replaceable_words=Part(_sum(record.words_replaceable for record in counted), tried),
        allowed_examples=Part(sum(bool(record.words_allowed) for record in counted), len(counted)),
        allowed_words=Part(_sum(record.words_allowed for record in counted), tried),
        unseen_words=Part(_sum(record.words_unseen for record in measured), sum(record.words_total for record in measured)),
    )


def _mean_queries(numbers: Sequence[int], budget: int | None) -> Mean:
    """Return the mean. Whatever was attacked was asked about once before, so it is 1 or more, unless an attack does not count that."""
    return Mean.of(numbers, min([1, *numbers]), max([budget, *numbers]) if budget is not None else math.inf)


def _sum(numbers: Iterable[int | None]) -> int:
    return sum(number or 0 for number in numbers)


def _listed(interval: tuple[float, float] | None) -> list[float] | None:
    return list(interval) if interval else None
