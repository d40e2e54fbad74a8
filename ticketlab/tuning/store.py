"""The trials of a tuning on disk: an Optuna study in SQLite, which survives the end of the process at any moment.

One process at a time works on a tuning. A trial is in the file as soon as its values are known, so a trial whose process was killed is
run again with the same values, and its run takes the finished stages from the lab.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.inference.random_state import derive_seed
from ticketlab.lab import lease
from ticketlab.tuning.space import Dimension, Range
from ticketlab.tuning.trials import Trial

DEFINITION, VALUES, OUTCOME = "definition", "values", "outcome of trial"
"""Names of attributes of studies and trials."""
STARTUP_TRIALS = 5
"""The number of random trials before those that learn from earlier ones."""


class TuningStore:
    """The trials of one tuning. ``definition`` is what they depend on; it is compared with that of the file."""

    def __init__(self, study: Any, space: Mapping[str, Dimension], sampler_seed: int) -> None:
        """Use an Optuna study; see :func:`open_store`."""
        self._study = study
        self._space = space
        self._sampler_seed = sampler_seed

    def trials(self) -> list[Trial]:
        """Return the trials that finished or failed, in order."""
        outcomes = self._study.user_attrs
        return [
            Trial(number=number, values=found.user_attrs[VALUES], **{"value": found.value, **outcomes.get(f"{OUTCOME} {found.number}", {})})
            for number, found in enumerate(self._ended())
        ]

    def next(self, wanted: int) -> tuple[int, dict[str, Any]] | None:
        """Return the id and the values of the next trial: one that was interrupted, or a new one.

        None if ``wanted`` trials have ended, or all combinations of values were tried. The values depend on the trials before, and on
        nothing else.
        """
        ended = self._ended()
        if len(ended) >= wanted:
            return None
        interrupted = next((trial for trial in self._of_state("RUNNING") if VALUES in trial.user_attrs), None)
        if interrupted is not None:
            return interrupted.number, interrupted.user_attrs[VALUES]
        import optuna

        for trial in self._study.get_trials(deepcopy=False):
            if trial.state.name == "RUNNING" and VALUES not in trial.user_attrs:  # the process was killed before it wrote them
                self._study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
        seed = derive_seed(self._sampler_seed, "trial", len(ended)) % 2**32
        self._study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP_TRIALS)
        fixed = self._untried(ended) if self._combinations() <= wanted else {}
        if fixed is None:
            return None
        if fixed and not any(trial.state.name == "WAITING" for trial in self._study.get_trials(deepcopy=False)):
            self._study.enqueue_trial(fixed)
        trial = self._study.ask(fixed_distributions={key: _distribution(dimension) for key, dimension in self._space.items()})
        values = {key: _value(self._space[key], suggested) for key, suggested in trial.params.items()}
        trial.set_user_attr(VALUES, values)
        return trial.number, values

    def finish(
        self, number: int, *, value: float | None, run: str = "", seconds: float = 0.0, error: str = "", one_class: str = ""
    ) -> None:
        """Record the end of a trial. With ``one_class`` the sampler learns the worst value of a fraction, and looks elsewhere."""
        import optuna

        outcome = {"run": run, "seconds": seconds, "error": error, **({"value": value, "one_class": one_class} if one_class else {})}
        self._study.set_user_attr(f"{OUTCOME} {number}", outcome)
        if value is None:
            self._study.tell(number, state=optuna.trial.TrialState.FAIL)
        else:
            worst = 1.0 if self._study.direction == optuna.study.StudyDirection.MINIMIZE else 0.0
            self._study.tell(number, worst if one_class else value)

    def _ended(self) -> list[Any]:
        return self._of_state("COMPLETE", "FAIL")

    def _of_state(self, *names: str) -> list[Any]:
        return [trial for trial in self._study.get_trials(deepcopy=False) if trial.state.name in names and VALUES in trial.user_attrs]

    def _combinations(self) -> float:
        return math.prod(dimension.size for dimension in self._space.values())

    def _untried(self, ended: list[Any]) -> dict[str, Any] | None:
        """Return the next combination of a finite space that was not tried; None if all were."""
        tried = [trial.params for trial in ended]
        options = {key: _options(dimension) for key, dimension in self._space.items()}
        combinations = (dict(zip(options, combination, strict=True)) for combination in itertools.product(*options.values()))
        return next((combination for combination in combinations if combination not in tried), None)


@contextlib.contextmanager
def open_store(
    path: Path, definition: Mapping[str, Any], space: Mapping[str, Dimension], *, lower_is_better: bool, sampler_seed: int
) -> Iterator[TuningStore]:
    """Open or create the file of a tuning, for this process alone.

    :raises UsageError: it is of a tuning with another definition, is not such a file, or another process works on it.
    :raises ResourceError: Optuna is not installed.
    """
    optuna = _optuna()
    held_at = path.with_suffix(".lease")
    held = lease.try_acquire(held_at, {"tuning": path.stem}, title=path.stem)
    if held is None:
        by = lease.held_by(held_at) or "another process"
        raise UsageError(f"{path}: {by} works on this tuning; wait for it, or use another --name")
    try:
        place = f"{path.absolute().as_uri()}?nolock=1"  # this process holds the lease, and network file systems may have no locks
        engine = {"creator": lambda: sqlite3.connect(place, uri=True)}
        storage = optuna.storages.RDBStorage("sqlite://", engine_kwargs=engine)
        direction = "minimize" if lower_is_better else "maximize"
        study = optuna.create_study(storage=storage, study_name=path.stem, direction=direction, load_if_exists=True)
        _check_definition(path, study, definition)
        yield TuningStore(study, space, sampler_seed)
        storage.remove_session()
        storage.engine.dispose()
    finally:
        held.release()


def _check_definition(path: Path, study: Any, definition: Mapping[str, Any]) -> None:
    """Compare the definition with that of the file, or write it if the file has none."""
    known = study.user_attrs.get(DEFINITION)
    if known is None:
        study.set_user_attr(DEFINITION, dict(definition))
        return
    differing = [key for key in definition if json.dumps(known.get(key), sort_keys=True) != json.dumps(definition[key], sort_keys=True)]
    if differing:
        raise UsageError(f"{path}: holds the trials of another tuning (other {', '.join(differing)}); use another --name")


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ResourceError('tuning needs the package optuna; `pip install "ticketlab[tune]"`') from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _distribution(dimension: Dimension) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(dimension, Range):
        return CategoricalDistribution([json.dumps(value) for value in dimension.values])
    if dimension.whole:
        return IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
    return FloatDistribution(dimension.low, dimension.high, log=dimension.log)


def _options(dimension: Dimension) -> list[Any]:
    """Return all values of a finite dimension, as Optuna stores them."""
    if isinstance(dimension, Range):
        return list(range(int(dimension.low), int(dimension.high) + 1))
    return [json.dumps(value) for value in dimension.values]


def _value(dimension: Dimension, suggested: Any) -> Any:
    return dimension.value(suggested) if isinstance(dimension, Range) else json.loads(suggested)
