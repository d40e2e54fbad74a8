"""The trials of a tuning, and the best of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from ticketlab.recipes.tables import as_toml


@frozen(kw_only=True)
class Trial:
    """One run with values of the tuned settings. ``value`` is that of the metric; None for a trial that failed with ``error``.

    ``run`` is the name of the run's directory in the lab. ``one_class`` says that an attack was on a model that predicts one class for
    every example: nothing can fool it, so the value says nothing; empty otherwise.
    """

    number: int
    values: Mapping[str, Any]
    value: float | None = None
    run: str = ""
    seconds: float | None = None
    error: str = ""
    one_class: str = ""


@frozen(kw_only=True)
class Tuning:
    """The trials of a tuning, in order. ``path`` is the file that keeps them, and ``metric`` what they are compared by."""

    name: str
    path: Path
    metric: str
    lower_is_better: bool
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial | None:
        """The trial with the best value, the first of equal ones; None if all failed. One of one class only if all others are, too."""
        finished = [trial for trial in self.trials if trial.value is not None]
        finished = [trial for trial in finished if not trial.one_class] or finished
        return (min if self.lower_is_better else max)(finished, key=_value, default=None)

    @property
    def flags(self) -> list[str]:
        """The best values as arguments of ``ticketlab run``: ``["--set", "search.pruner.penalty=120.5"]``."""
        values = self.best.values if self.best else {}
        return [word for key, value in values.items() for word in _flag(key, value)]


def as_setting(value: Any) -> str:
    """Return a value as it is written after ``--set PATH=``."""
    return value if isinstance(value, str) else as_toml(value)


def _flag(key: str, value: Any) -> tuple[str, str]:
    return ("--set", f"{key}={as_setting(value)}") if "." in key else (f"--{key}", as_setting(value))


def _value(trial: Trial) -> float:
    assert trial.value is not None
    return trial.value
