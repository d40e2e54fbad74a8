"""The conformance tests of tasks: the same examples every time, in splits that share no text, and nothing written."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, ClassVar, cast

import attrs
from attrs import evolve

from ticketlab.core.component import Component
from ticketlab.core.errors import TicketlabError
from ticketlab.inference import random_state
from ticketlab.tasks.assembly.fingerprint import fingerprint_of
from ticketlab.tasks.assembly.loading import load_challenge_set, load_task
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.reading.text_equality import canonical_text
from ticketlab.testing.component_tests import ComponentTests
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.other_process import require_same_elsewhere
from ticketlab.testing.trials.written_places import written_places


class TaskTests(ComponentTests):
    """The tests of a task.

    - ``challenge``: load it as a challenge set (``load_challenge``), for a task that is no task by itself.
    - ``shared_texts``: the number of texts that two of its splits may share, as published data sets do.
    """

    component: ClassVar[type[Task]]
    challenge: ClassVar[bool] = False
    shared_texts: ClassVar[int] = 0
    unbounded: ClassVar[tuple[str, ...]] = ()

    def test_it_loads(self, made: Component) -> None:
        """The fields and examples are of the right types, labels are in range, ids unique, and there are two classes to learn."""
        data = self._load(made)
        task = cast(Task, made)
        require(data.name == task.label, f"the name of the data is {data.name!r}, and the label of the task {task.label!r}")
        require(any(data.splits.values()), "no split has examples")
        require(data.fingerprint == fingerprint_of(data), "the fingerprint is not the hash of the content")

    def test_two_loads_are_equal(self, made: Component) -> None:
        """The same examples in the same order, whatever the global random generators are seeded with."""
        found = []
        for seed in (0, 1):
            with random_state.seeded(seed):
                found.append(self._load(made if seed == 0 else evolve(made)))
        self._require_same(found[0], found[1], "loaded twice")

    def test_loading_draws_no_global_random_numbers(self, made: Component) -> None:
        """Results must not depend on whether data was loaded before: take random numbers from a generator of the task's own."""
        with random_state.preserved():
            before = random_state.RandomState.now()
            self._load(made)
            after = random_state.RandomState.now()
        require(
            before.python == after.python
            and bool((before.legacy[1] == after.legacy[1]).all())
            and bool((before.tensors == after.tensors).all()),
            "`load` changes the states of the global random generators: use `random.Random(0)` or `numpy.random.default_rng(0)`",
        )

    def test_the_examples_do_not_depend_on_the_hashes_of_the_process(self) -> None:
        """The order of a set of texts is another one in each process."""
        made = [self.make(**settings) for settings in ({}, *self.settings)]
        require_same_elsewhere(content_of, "the examples differ", made, self.uses, self.challenge)

    def test_splits_share_no_text(self, made: Component) -> None:
        """A model that has seen a test example in training is measured on its memory."""
        splits = {name: {tuple(map(canonical_text, example.texts)) for example in own} for name, own in self._load(made).splits.items()}
        names = list(splits)
        for index, one in enumerate(names):
            for other in names[index + 1 :]:
                shared = splits[one] & splits[other]
                require(
                    len(shared) <= self.shared_texts,
                    f"{one} and {other} share {len(shared)} texts, such as {next(iter(shared), None)!r:.100}: divide them by their "
                    "texts, or set `shared_texts` in the test if the published data is like that",
                )

    def test_other_content_has_another_fingerprint(self, made: Component) -> None:
        """The fingerprint is part of the keys of results: settings that change the examples change it, and others do not."""
        data = self._load(made)
        first = next(example for own in data.splits.values() for example in own)
        changed = {
            name: tuple(evolve(one, texts=(*one.texts[:-1], "other")) if one is first else one for one in own)
            for name, own in data.splits.items()
        }
        require(fingerprint_of(evolve(data, splits=changed)) != data.fingerprint, "another text has the same fingerprint")
        for settings in ({}, *self.settings):
            other = self._load(self.make(**settings))
            same = (other.splits, other.label_names, other.columns) == (data.splits, data.label_names, data.columns)
            require(not same or other.fingerprint == data.fingerprint, "the same examples have two fingerprints")

    def test_train_rows_limits_the_training_examples_alone(self, made: Component) -> None:
        """The caller selects them, so ``load`` returns all examples whatever ``train_rows`` is."""
        data = self._load(made)
        most = len(data.splits.get("train", ()))
        if most < 2:
            return
        few = self._load(evolve(cast(Any, made), train_rows=most // 2))
        kept = {example.id for example in few.splits["train"]}
        require(
            len(kept) <= most // 2,
            f"train_rows={most // 2} leaves {len(kept)} training examples: `load` must return them with their own ids",
        )
        require(kept <= {example.id for example in data.splits["train"]}, "train_rows changes the ids of the training examples")
        for name in data.splits.keys() - {"train"}:
            require(few.splits[name] == data.splits[name], f"train_rows changes the {name} examples: `load` must not read it")

    def test_nothing_is_written(self, made: Component) -> None:
        """Data may be on a disk that is read-only, and shared: a cache belongs elsewhere."""
        with written_places() as written:
            self._load(made)
        for folder in self._own_folders(made):
            beside = [place for place in written if place.is_relative_to(folder)]
            require(not beside, f"`load` writes {beside[0] if beside else ''}, beside the data or the code of the task")

    def _load(self, task: Component) -> TaskData:
        """Load the task as a run does."""
        message = ""
        try:
            return (load_challenge_set if self.challenge else load_task)(cast(Task, task))
        except TicketlabError as problem:
            message = str(problem)
        except Exception as problem:  # the code of a plugin may raise anything
            message = f"`load` raises {type(problem).__name__}: {problem}"
        require(False, message)
        raise AssertionError

    def _own_folders(self, task: Component) -> list[Path]:
        """Return the folders of the code, of the files that the settings name, and the working directory."""
        code = inspect.getsourcefile(type(task))
        values = [getattr(task, field.name) for field in attrs.fields(type(task))]
        named = [Path(value).expanduser() for value in values if isinstance(value, (str, Path)) and str(value)]
        places = [Path(code).parent] if code else []
        places += [place if place.is_dir() else place.parent for place in named if place.exists()]
        return [Path.cwd(), *(place.absolute() for place in places)]

    def _require_same(self, one: TaskData, other: TaskData, how: str) -> None:
        for name in ("label_names", "columns"):
            first, second = getattr(one, name), getattr(other, name)
            require(first == second, f"`{name}` is {first} and then {second}, {how}: their order must be the same for every call")
        for split in {**one.splits, **other.splits}:
            same = one.splits.get(split) == other.splits.get(split)
            require(same, f"the {split} examples differ, {how}: take random numbers from a generator with a fixed seed")
        require(one.fingerprint == other.fingerprint, f"the fingerprints differ, {how}")


def content_of(task: Task, challenge: bool) -> list[Any]:
    """Return what identifies the examples of a task."""
    data = (load_challenge_set if challenge else load_task)(task)
    return [data.fingerprint, list(data.label_names)]
