"""The numbers of an attack, defined as textattack defines them, with what they are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import attrs
from attrs import frozen

from ticketlab.attacks.records import Record
from ticketlab.interval import wilson


@frozen
class Share:
    """A fraction with what it was made of; None where it would be over nothing."""

    count: int
    total: int

    @property
    def value(self) -> float | None:
        """The fraction, between 0 and 1."""
        return self.count / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval (Wilson)."""
        return None if self.value is None else wilson(self.value, self.total)


@frozen(kw_only=True)
class AttackMetrics:
    """What an attack did to a victim.

    ``n`` leaves out errors and timeouts. ``clean`` and ``aua`` (accuracy before and under attack) are over ``n``; ``suc`` (success rate),
    ``queries`` and ``words_changed`` leave out what was skipped, ``words_changed`` also what held.
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
    queries: float | None
    """Mean number of queries per attacked example."""
    words_changed: float | None
    """Mean fraction of words changed where the attack succeeded."""

    def to_table(self) -> dict[str, Any]:
        """Return plain values: the fractions, their parts and intervals, and the counts."""
        table: dict[str, Any] = {}
        for field in attrs.fields(AttackMetrics):
            value = getattr(self, field.name)
            if isinstance(value, Share):
                interval = list(value.interval) if value.interval else None
                table[field.name] = value.value
                table[f"{field.name}_of"] = {"count": value.count, "total": value.total, "interval": interval}
            else:
                table[field.name] = value
        return table


def measure(records: Iterable[Record]) -> AttackMetrics:
    """Sum up the records of one attack."""
    records = list(records)
    number = Counter(record.status for record in records)
    attacked = [record for record in records if record.status in ("success", "failed")]
    known = len(attacked) + number["skipped"]
    changed = [record.words_changed / record.words_total for record in records if record.status == "success" and record.words_total]
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
        queries=_mean([record.queries for record in attacked]),
        words_changed=_mean(changed),
    )


def _mean(values: list[int] | list[float]) -> float | None:
    return sum(values) / len(values) if values else None
