"""Notes about rows that come from the same computation, whose equal numbers are not independent results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticketlab.report.rows import ResultRow


def identity_notes(rows: Sequence[ResultRow]) -> list[str]:
    """Return a note about each row whose model or measurement is the same as that of an earlier row or seed.

    Stages with equal keys are one stage of the lab: the settings in which they differ have no effect.
    """
    return list(dict.fromkeys([*_shared_by_seeds(rows), *_shared_by_rows(rows), *_shared_by_attacks(rows), *_partly_trained(rows)]))


def _shared_by_seeds(rows: Sequence[ResultRow]) -> Iterator[str]:
    for row in rows:
        if row.repeated:
            seeds = row.repeated + row.seeds
            yield (
                f"{_name(row, rows)}: seeds share a measurement, because it does not depend on the seed: "
                f"{row.seeds} of {seeds} {'counts' if row.seeds == 1 else 'count'}"
            )


def _shared_by_rows(rows: Sequence[ResultRow]) -> Iterator[str]:
    for number, row in enumerate(rows):
        earlier = [other for other in rows[:number] if _name(other, rows) != _name(row, rows)]
        model = next((other for other in earlier if row.model_keys and other.model_keys == row.model_keys and other.of != row.of), None)
        measured = next((other for other in earlier if row.keys and other.keys == row.keys), None)
        if model is not None:
            yield f"{_name(row, rows)} is the same model as {_name(model, rows)}: the settings in which they differ have no effect"
        elif measured is not None:
            yield f"{_name(row, rows)} is the same measurement as {_name(measured, rows)}: the differences between them have no effect"


def _shared_by_attacks(rows: Sequence[ResultRow]) -> Iterator[str]:
    """Yield notes about identical attacks on one model; those on identical models are covered by the models' note."""
    for row in rows:
        for number, attack in enumerate(row.attacks):
            same = next(
                (other for other in row.attacks[:number] if attack.keys and other.keys == attack.keys and other.name == attack.name), None
            )
            if same is not None:
                yield (
                    f"{_name(row, rows)}: {attack.label} is the same measurement as {same.label}: the settings in which they differ have "
                    "no effect"
                )


def _partly_trained(rows: Sequence[ResultRow]) -> Iterator[str]:
    for row in rows:
        if row.partly:
            yield f"{_name(row, rows)}: its training time is omitted, because only whole stages are timed ({', '.join(row.partly)})"


def _name(row: ResultRow, rows: Sequence[ResultRow]) -> str:
    """Return the name of a row in a note: its label, with the task if several tasks have a row with this label."""
    several = any(other.label == row.label and other.task != row.task for other in rows)
    return f"{row.label} on {row.task}" if several else row.label
