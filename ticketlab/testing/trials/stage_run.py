"""Runs of a stage whose files are watched, and which are interrupted while it writes them."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from ticketlab.core.errors import Interrupted
from ticketlab.stages.base import Context, Stage
from ticketlab.testing.trials.recorded_run import Outcome, Runner
from ticketlab.testing.trials.written_places import on_write, written_places


class StageRunner(Runner):
    """Runs the recipe of a stage as :class:`Runner` does. ``measured`` are the names of measurements, such as times, that always differ."""

    def __init__(self, recipe: Any, root: Path, stage: str, measured: Collection[str]) -> None:
        super().__init__(recipe, root, stage)
        self.stage: Stage = recipe.stages[stage]
        self._measured = measured

    @property
    def lab(self) -> Path:
        """The lab that the recipe runs in."""
        return self._lab

    @property
    def folder(self) -> Path:
        """The folder of the stage after a run."""
        assert self._folder is not None
        return self._folder

    def again(self, *, seed: int) -> tuple[Outcome, int]:
        """Run without forgetting the result. Return the outcome, and how often the stage was computed."""
        contexts: list[Context] = []
        with remembered_contexts(type(self.stage), contexts):
            outcome = self._run(seed)
        return outcome, len(contexts)

    def watched(self, *, seed: int) -> tuple[Outcome, Context, list[Path]]:
        """Run anew. Return the outcome, the context of the stage, and the paths that were written to while it ran."""
        contexts: list[Context] = []
        places: list[Path] = []
        self._forget()
        with remembered_contexts(type(self.stage), contexts, places):
            outcome = self._run(seed)
        return outcome, contexts[-1], places

    def interrupted_writes(self, writes: Collection[int], *, seed: int) -> Outcome:
        """Run anew, ending as if the process had been killed before each of its ``writes``, or after all, and then resume it."""
        self._forget()
        for write in sorted(writes):
            with _ends_before(type(self.stage), write), contextlib.suppress(KeyboardInterrupt, Interrupted):
                self._run(seed + write)
        return self._run(seed)

    def in_context(self, context: Context, folder: Path, **changes: Any) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        """Call the stage's ``run`` in another folder and with other values in its context. Return the result and the files' hashes."""
        folder.mkdir()
        changed = evolve(context, directory=folder, log=lambda _: None, warnings=[], input_warnings=[], printed=set(), **changes)
        result = self.stage.run(changed)
        return self.comparable(result), hashes_in(folder)

    def comparable(self, value: Any) -> Any:
        """Return a result without costs and measurements."""
        if isinstance(value, Mapping):
            return {name: self.comparable(part) for name, part in value.items() if name not in self._measured and not is_cost(name)}
        return [self.comparable(part) for part in value] if isinstance(value, (list, tuple)) else value

    def difference(self, one: Outcome, other: Outcome) -> str:
        """Return what differs between two outcomes, apart from measurements; empty if nothing does."""
        return evolve(one, result=self.comparable(one.result)).difference(evolve(other, result=self.comparable(other.result)))


def hashes_in(folder: Path, without: Path | None = None) -> dict[str, str]:
    """Return the hashes of the files in a folder, but those in the folder ``without``."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not (without and path.is_relative_to(without))]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@contextlib.contextmanager
def remembered_contexts(cls: type[Stage], contexts: list[Context], places: list[Path] | None = None) -> Iterator[None]:
    """Add the context of each call of ``run`` to a list, and the paths that it writes to to another."""

    def run(original: Callable[[Stage, Context], dict[str, Any]], stage: Stage, context: Context) -> dict[str, Any]:
        contexts.append(context)
        with written_places() as found:
            result = original(stage, context)
        if places is not None:
            places.extend(found)
        return result

    with _replaced_run(cls, run):
        yield


@contextlib.contextmanager
def _ends_before(cls: type[Stage], write: int) -> Iterator[None]:
    """End ``run`` before its write number ``write`` to its own folder, or at its end if it has fewer."""

    def run(original: Callable[[Stage, Context], dict[str, Any]], stage: Stage, context: Context) -> dict[str, Any]:
        count = 0

        def until_ended(path: Path) -> None:
            nonlocal count
            if path.is_relative_to(context.directory.absolute()):
                count += 1
                if count == write + 1:
                    raise KeyboardInterrupt

        with on_write(until_ended):
            original(stage, context)
        raise KeyboardInterrupt

    with _replaced_run(cls, run):
        yield


@contextlib.contextmanager
def _replaced_run(cls: type[Stage], run: Callable[..., dict[str, Any]]) -> Iterator[None]:
    original, own = cls.run, "run" in vars(cls)
    cls.run = lambda self, context: run(original, self, context)  # type: ignore[method-assign]
    try:
        yield
    finally:
        if own:
            cls.run = original  # type: ignore[method-assign]
        else:
            del cls.run


def is_cost(name: str) -> bool:
    """Return whether an entry of a result is a cost, which differs each time."""
    return name in ("cost", "seconds") or name.endswith("_seconds")
