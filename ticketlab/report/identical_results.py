"""Which rows are one and the same computation: equal numbers that are no second result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticketlab.report.rows import ResultRow


def notes(rows: Sequence[ResultRow]) -> list[str]:
    """Return a note about each row whose model or measurement is that of an earlier one, or of an earlier seed.

    Stages with one key are one stage of the lab: settings in which they differ have no effect.
    """
    return list(dict.fromkeys([*_of_seeds(rows), *_of_models(rows), *_of_attacks(rows), *_trained_partly(rows)]))


def _of_seeds(rows: Sequence[ResultRow]) -> Iterator[str]:
    for row in rows:
        if row.repeated:
            seeds = row.repeated + row.seeds
            yield f"{_name(row, rows)}: seeds share a measurement, as nothing in it depends on them: {row.seeds} of {seeds} count"


def _of_models(rows: Sequence[ResultRow]) -> Iterator[str]:
    for number, row in enumerate(rows):
        earlier = [other for other in rows[:number] if _name(other, rows) != _name(row, rows)]
        model = next((other for other in earlier if row.made and other.made == row.made and other.of != row.of), None)
        measured = next((other for other in earlier if row.keys and other.keys == row.keys), None)
        if model is not None:
            yield f"{_name(row, rows)} is the same model as {_name(model, rows)}: the settings in which they differ have no effect"
        elif measured is not None:
            yield f"{_name(row, rows)} is the same measurement as {_name(measured, rows)}: what they differ in has no effect"


def _of_attacks(rows: Sequence[ResultRow]) -> Iterator[str]:
    """Yield what is to be said of attacks of one model that are the same; those of models that are the same go without saying."""
    for row in rows:
        for number, cells in enumerate(row.attacks):
            same = next(
                (other for other in row.attacks[:number] if cells.keys and other.keys == cells.keys and other.name == cells.name), None
            )
            if same is not None:
                yield (
                    f"{_name(row, rows)}: {cells.label} is the same measurement as {same.label}: the settings in which they differ have no "
                    "effect"
                )


def _trained_partly(rows: Sequence[ResultRow]) -> Iterator[str]:
    for row in rows:
        if row.partly:
            yield f"{_name(row, rows)}: what its training took is left out, as only whole trainings are timed ({', '.join(row.partly)})"


def _name(row: ResultRow, rows: Sequence[ResultRow]) -> str:
    """Return what a note calls a row: its label, and where the labels of several tasks are alike its task."""
    several = any(other.label == row.label and other.task != row.task for other in rows)
    return f"{row.label} on {row.task}" if several else row.label
