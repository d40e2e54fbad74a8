from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from ticketlab.core.errors import UsageError
from ticketlab.tuning.space import Choices, Dimension, Range
from ticketlab.tuning.store import TuningStore, open_store
from ticketlab.tuning.trials import Trial

pytest.importorskip("optuna")
SPACE: dict[str, Dimension] = {
    "penalty": Range(1, 1000, log=True),
    "steps": Range(1, 5, whole=True),
    "pruner": Choices(("imp", "magnitude")),
}


def opened(path: Path, space: Mapping[str, Dimension] = SPACE, **more: Any) -> Any:
    return open_store(path, {"over": "a", **more}, space, lower_is_better=False, sampler_seed=0)


def run(path: Path, wanted: int, space: Mapping[str, Dimension] = SPACE, stop: Callable[[int], bool] = lambda _: False) -> list[Trial]:
    """Run trials whose value depends on their settings; ``stop`` interrupts before the end of a trial."""
    with opened(path, space) as store:
        while (trial := store.next(wanted)) is not None:
            number, values = trial
            if stop(len(store.trials())):
                break
            _finish(store, number, values)
        return [Trial(number=one.number, values=one.values, value=one.value, error=one.error) for one in store.trials()]


def _finish(store: TuningStore, number: int, values: Mapping[str, Any]) -> None:
    failed = values.get("steps") == 2
    store.finish(number, value=None if failed else float(values.get("penalty", 1)), error="diverged" if failed else "", run=f"run-{number}")


def test_an_interrupted_tuning_has_the_trials_of_an_uninterrupted_one(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole.db", 6)
    assert len(whole) == 6
    assert all(1 <= trial.values["penalty"] <= 1000 and trial.values["steps"] in range(1, 6) for trial in whole)
    assert len({trial.values["penalty"] for trial in whole}) > 3
    path = tmp_path / "parts.db"
    assert run(path, 6, stop=lambda ended: ended == 2) == whole[:2]
    assert run(path, 5) == whole[:5]
    assert run(path, 6) == whole  # the sixth is not random


def test_a_trial_that_was_interrupted_is_tried_again_with_its_values(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as store:
        interrupted = store.next(3)
    with opened(tmp_path / "a.db") as store:
        assert store.next(3) == interrupted


def test_a_failed_trial_counts_and_keeps_its_error(tmp_path: Path) -> None:
    found = run(tmp_path / "a.db", 2, {"steps": Choices((2, 3)), "penalty": Range(1, 2)})
    assert {(trial.values["steps"], trial.value is None, trial.error) for trial in found} <= {(2, True, "diverged"), (3, False, "")}
    assert len(found) == 2


def test_all_combinations_of_a_small_space_are_tried_once(tmp_path: Path) -> None:
    space: dict[str, Dimension] = {"pruner": Choices(("imp", "magnitude")), "steps": Range(1, 2, whole=True)}
    found = run(tmp_path / "a.db", 9, space)
    assert [tuple(trial.values.values()) for trial in found] == [(pruner, steps) for pruner in ("imp", "magnitude") for steps in (1, 2)]


def test_a_kill_before_the_values_are_written_leaves_out_no_combination(tmp_path: Path) -> None:
    import optuna

    space: dict[str, Dimension] = {"steps": Range(3, 6, whole=True)}
    for _ in range(2):
        with (
            mock.patch.object(optuna.trial.Trial, "set_user_attr", side_effect=KeyboardInterrupt),
            pytest.raises(KeyboardInterrupt),
            opened(tmp_path / "a.db", space) as store,
        ):
            store.next(4)
    assert [trial.values["steps"] for trial in run(tmp_path / "a.db", 4, space)] == [3, 4, 5, 6]


def test_another_tuning_of_the_same_name_is_an_error(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db"):
        pass
    with pytest.raises(UsageError, match=r"holds the trials of another tuning \(other over, scale\); use another --name"):
        opened(tmp_path / "a.db", over="b", scale="small").__enter__()


def test_two_processes_cannot_work_on_one_tuning(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "a.db"),
        pytest.raises(UsageError, match=rf"process {os.getpid()} on .* works on this tuning"),
        opened(tmp_path / "a.db"),
    ):
        pass


def test_a_path_may_have_any_characters(tmp_path: Path) -> None:
    folder = tmp_path / "a lab?x=%20#1"
    run(folder / "a.db", 1)
    assert (folder / "a.db").is_file()
    assert len(run(folder / "a.db", 1)) == 1


def test_the_sampler_learns_the_worst_value_of_a_model_of_one_class_and_the_trial_keeps_its_own(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as store:
        trial = store.next(1)
        assert trial is not None
        store.finish(trial[0], value=0.9, one_class="predicts `a`")
        (ended,) = store.trials()
        assert (ended.value, ended.one_class) == (0.9, "predicts `a`")
        assert store._study.trials[0].value == 0.0
