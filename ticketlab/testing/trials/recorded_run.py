"""Runs of recipes whose outcome is compared: repeated with other random states, or interrupted in the middle of steps and resumed."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.inference import random_state
from ticketlab.lab.layout import RESULT
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs.run import run
from ticketlab.testing.models.model_snapshot import equal_bits
from ticketlab.training.loop import Loop

COSTS = ("cost", "seconds", "created")
WARNINGS = "warnings"
"""The key of warnings, which are no numbers: one about the first steps is not repeated by a run that resumes."""


@frozen
class Outcome:
    """What a stage left behind: its result without costs, the hashes of its files, and the bits of what its optimizer trained."""

    result: Mapping[str, Any]
    files: Mapping[str, str]
    trained: tuple[Tensor, ...]
    steps: int

    def difference(self, other: Outcome) -> str:
        """Return what differs between two outcomes in a few words; empty if nothing does."""
        if len(self.trained) != len(other.trained) or not all(map(equal_bits, self.trained, other.trained)):
            return "the bits of the trained parameters"
        files = sorted(name for name in {*self.files, *other.files} if self.files.get(name) != other.files.get(name))
        results = ({key: value for key, value in one.result.items() if key != WARNINGS} for one in (self, other))
        return f"the file `{files[0]}`" if files else _first_difference("the result", *results)

    @property
    def warnings(self) -> list[str]:
        """The warnings that the stage stored."""
        return [str(warning) for warning in self.result.get(WARNINGS, ())]


class Runner:
    """Runs a recipe in a lab of its own, a new folder in ``root``, and deletes the result of one stage before each run."""

    def __init__(self, recipe: Recipe, root: Path, stage: str) -> None:
        self._recipe, self._stage = recipe, stage
        self._lab = Path(tempfile.mkdtemp(prefix="lab-", dir=root))
        self._folder: Path | None = None

    def whole(self, *, seed: int) -> Outcome:
        """Run without interruption, with the global random generators seeded by ``seed``."""
        self._forget()
        return self._run(seed)

    def interrupted(self, steps: Collection[int], *, seed: int) -> Outcome:
        """Run, ending in the middle of each of ``steps`` (counted from 0) as if the process had been killed, and resume each time."""
        self._forget()
        for step in sorted(steps):
            with _killed_in(self._stage, step):
                try:
                    self._run(seed + step)
                except KeyboardInterrupt:
                    continue
            raise AssertionError(f"the training ended before step {step}")
        return self._run(seed)

    def _forget(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder)
        shutil.rmtree(self._lab / "runs", ignore_errors=True)

    def _run(self, seed: int) -> Outcome:
        trained: list[tuple[Tensor, ...]] = []
        with random_state.preserved(), _remembering(self._stage, trained):
            random_state.seed_all(seed)
            done = run(self._recipe, self._lab)
        result = done.stages()[self._stage]
        self._folder = self._lab / "stages" / str(result["key"])[:2] / str(result["key"])
        kept = _without_costs(result)
        steps = next((int(part["steps"]) for part in result.values() if isinstance(part, Mapping) and "steps" in part), 0)
        return Outcome(kept, _hashes(self._folder), trained[-1] if trained else (), steps)


@contextlib.contextmanager
def _killed_in(title: str, step: int) -> Iterator[None]:
    """End each training of a stage in the middle of a step, between the gradients and the optimizer, without a signal to handle."""
    loop: Any = Loop
    original = loop._step

    def until_killed(self: Loop, now: int, *arguments: Any, **options: Any) -> Any:
        if self.title == title and now == step:
            object.__setattr__(self, "optimizer", _Killed(self.optimizer))
        return original(self, now, *arguments, **options)

    loop._step = until_killed
    try:
        yield
    finally:
        loop._step = original


class _Killed:
    """An optimizer whose next step ends the process."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._optimizer, name)

    def step(self) -> None:
        raise KeyboardInterrupt


@contextlib.contextmanager
def _remembering(title: str, trained: list[tuple[Tensor, ...]]) -> Iterator[None]:
    """Add the parameters of the optimizer, as they are when a training of a stage ends, to a list."""
    original = Loop.run

    def remembering(self: Loop) -> Any:
        finished = original(self)
        if self.title == title:
            trained.append(tuple(value.detach().clone() for group in self.optimizer.param_groups for value in group["params"]))
        return finished

    Loop.run = remembering  # type: ignore[method-assign]
    try:
        yield
    finally:
        Loop.run = original  # type: ignore[method-assign]


def _without_costs(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_costs(item) for key, item in value.items() if key not in COSTS and not key.endswith("_seconds")}
    return [_without_costs(item) for item in value] if isinstance(value, (list, tuple)) else value


def _hashes(folder: Path) -> dict[str, str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != RESULT]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _first_difference(where: str, one: Any, other: Any) -> str:
    """Return the place of the first difference between two results with both values; empty if they are equal."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in {**one, **other}:
            found = _first_difference(f"{where}.{key}", one.get(key), other.get(key))
            if found:
                return found
        return ""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            found = _first_difference(f"{where}[{index}]", *pair)
            if found:
                return found
        return ""
    same = one == other or (isinstance(one, float) and isinstance(other, float) and one != one and other != other)
    return "" if same else f"`{where.removeprefix('the result.')}` of the result ({one!r:.40} and {other!r:.40})"
