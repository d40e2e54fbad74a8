"""Tasks of plugins: what their authors return is checked, limited and hashed by the caller."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from attrs import evolve, frozen
from third_party.moods_task import Moods

from ticketlab.core.errors import DataError
from ticketlab.recipes.recipe import Recipe
from ticketlab.runs import plan, run
from ticketlab.runs.input_cache import InputCache
from ticketlab.runs.run_inputs import load_run_inputs
from ticketlab.tasks.assembly.fingerprint import fingerprint_of
from ticketlab.tasks.assembly.loading import load_challenge_set, load_task
from ticketlab.tasks.base import Example, Task, TaskData
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.demo.pairs import DemoPairsOOD
from ticketlab.tasks.demo.reviews import DemoTask

MakeRecipe = Callable[..., Recipe]
TRAIN = tuple(Example(f"train-{number}", (f"film {number}",), number % 2) for number in range(8))
DEV, TEST = (tuple(Example(f"{split}-{number}", (f"{split} {number}",), number % 2) for number in range(2)) for split in ("dev", "test"))
DATA = TaskData("given", ("text",), ("bad", "good"), {"train": TRAIN, "dev": DEV, "test": TEST})


@frozen
class Given(Task):
    """A task that returns what a test gives it."""

    name: ClassVar[str] = "given"
    summary: ClassVar[str] = "examples of a test"
    returned: ClassVar[Any] = DATA

    def load(self) -> TaskData:
        return self.returned() if callable(self.returned) else self.returned  # type: ignore[no-any-return]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Given]:
    """Return a task whose ``load`` returns a value, or what a function returns."""

    def make(returned: Any, **settings: Any) -> Given:
        monkeypatch.setattr(Given, "returned", staticmethod(returned) if callable(returned) else returned)
        return Given(**settings)

    return make


def first(**changes: Any) -> TaskData:
    """Return the data with a changed third example of train."""
    changed = evolve(TRAIN[2], **changes)
    return evolve(DATA, splits={**DATA.splits, "train": (*TRAIN[:2], changed, *TRAIN[3:])})


def with_splits(**splits: Any) -> TaskData:
    return evolve(DATA, splits=splits)


AT = r"task `given`: train example 3 \(`train-2`\): "
REFUSED = {
    "texts is a string": (
        first(texts="good film"),
        AT + r"`texts` must be a tuple with one string for each column, .* write \('good film',\)",
    ),
    "texts has a number": (first(texts=(3,)), AT + "`texts` must be .*, not an int 3 in it"),
    "a text too many": (first(texts=("a", "b")), AT + r"`texts` has 2 strings for 1 column \(`text`\)"),
    "the name of a label": (first(label="good"), AT + "its label must be an index of label_names, not a name; `good` is label 1"),
    "a wrong name": (first(label="godo"), AT + ".* no label is called 'godo'; did you mean `good`?"),
    "a label too large": (first(label=2), AT + "its label is 2, and the indices of `bad`, `good` are 0 to 1"),
    "a label below zero": (first(label=-1), AT + "its label is -1"),
    "a label that is true": (first(label=True), AT + "its label must be an index of label_names, a whole number, not a bool True"),
    "a label that is a float": (first(label=1.0), AT + "its label must be .*, not a float 1.0"),
    "subsets": (first(subsets=("hard",)), AT + "`subsets` has 1 string for 0 subsets"),
    "an id twice in a split": (first(id="train-1"), r"train example 3 \(`train-1`\): its id is also that of an example of the same split"),
    "an id in two splits": (with_splits(train=TRAIN, dev=TRAIN[:2], test=TEST), r"dev example 1 \(`train-0`\): .* an example of train"),
    "an id that is a number": (first(id=3), "train example 3: its id must be a string that is not empty, not 3"),
    "an empty id": (first(id=" "), "train example 3: its id must be a string"),
    "no example": (with_splits(train=(*TRAIN, ("film", 1)), test=TEST), "train example 9: must be an Example, not a tuple"),
    "a split that is a string": (
        with_splits(train="film", test=TEST),
        "train: the examples of a split must be a tuple of Example, not a str",
    ),
    "an unknown split": (with_splits(trian=TRAIN, test=TEST), "unknown split 'trian'; did you mean `train`?"),
    "both names of dev": (with_splits(train=TRAIN, dev=DEV, validation=DEV), "both `dev` and `validation`"),
    "no training split": (with_splits(dev=DEV, test=TEST), "there is no training split, only dev and test"),
    "no examples": (with_splits(train=(), test=()), "there is no training split, no split has examples"),
    "a list of splits": (evolve(DATA, splits=[TRAIN]), "splits must be a mapping .*, not a list"),
    "label_names is a string": (evolve(DATA, label_names="ab"), r"label_names must be a tuple, not a string; write \('ab',\) for one"),
    "label_names is a set": (evolve(DATA, label_names={"a", "b"}), "label_names must be a tuple, not a set"),
    "columns is a string": (evolve(DATA, columns="text"), r"columns must be a tuple, not a string; write \('text',\)"),
    "three columns": (evolve(DATA, columns=("a", "b", "c")), "columns are `a`, `b`, `c`, but a model reads one text or a pair of texts"),
    "no columns": (evolve(DATA, columns=()), "columns is empty"),
    "a label twice": (evolve(DATA, label_names=("a", "a")), "label_names has `a` twice"),
    "a number among names": (evolve(DATA, label_names=("a", 1)), "label_names must be strings, and one of them is an int 1"),
    "warnings is a string": (evolve(DATA, warnings="old"), "warnings must be a tuple, not a string"),
    "positive label": (evolve(DATA, positive_label="goood"), "positive_label: there is no label `goood`; did you mean `good`?"),
    "measure": (evolve(DATA, measures=("macrof1",)), "measures: there is no metric `macrof1`; did you mean `macro_f1`?"),
    "binary F1": (evolve(DATA, measures=("binary_f1",)), "measures: `binary_f1` needs a positive_label"),
    "label sets": (evolve(DATA, label_sets=((0, 2),)), r"each of label_sets must be two or more indices of label_names, not \(0, 2\)"),
    "one class": (with_splits(train=TRAIN[::2], dev=DEV, test=TEST), "all training rows are labelled `bad`"),
    "counts": (evolve(DATA, counts="many"), "counts must be a mapping from names to whole numbers, not 'many'"),
    "dropped": (evolve(DATA, dropped={"empty": "3"}), "dropped must be a mapping from names to whole numbers"),
    "split warnings": (evolve(DATA, split_warnings=("old",)), "split_warnings must be SplitWarning, and one of them is a string 'old'"),
    "nothing": (None, "`load` must return a TaskData, not None"),
    "a generator": (lambda: (example for example in TRAIN), "`load` must return a TaskData, not a generator"),
}


@pytest.mark.parametrize(("returned", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_a_task_is_refused(given: Callable[..., Given], returned: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as problem:
        load_task(given(returned))
    assert str(problem.value).startswith("task `given`: ")
    assert "\n" not in str(problem.value)


def test_a_label_of_test_that_train_lacks_is_refused(given: Callable[..., Given]) -> None:
    three = evolve(DATA, label_names=("bad", "good", "odd"), splits={**DATA.splits, "test": (*TEST, Example("t", ("a",), 2))})
    with pytest.raises(DataError, match="the label `odd` is in test but never in train"):
        load_task(given(three))


def test_a_set_of_labels_may_be_used_in_train_only(given: Callable[..., Given]) -> None:
    either = evolve(first(label=2), label_sets=((0, 1),))
    assert load_task(given(either)).splits["train"][2].label == 2
    with pytest.raises(DataError, match="its label is 2, and the indices of `bad`, `good` are 0 to 1"):
        load_task(given(evolve(either, splits={**either.splits, "dev": (Example("d", ("a",), 2),)})))


@pytest.mark.parametrize("claimed", ["", "abc", fingerprint_of(DATA)], ids=["empty", "invented", "of other content"])
def test_the_fingerprint_is_that_of_the_content_whatever_the_author_claims(given: Callable[..., Given], claimed: str) -> None:
    flipped = {split: tuple(evolve(example, label=1 - example.label) for example in own) for split, own in DATA.splits.items()}
    lines = [[["text"], ["bad", "good"]]]
    for split in ("dev", "test", "train"):
        lines += [split, *([example.id, list(example.texts), example.label] for example in flipped[split])]
    expected = hashlib.sha256("".join(map(json.dumps, lines)).encode()).hexdigest()
    assert load_task(given(evolve(DATA, splits=flipped, fingerprint=claimed))).fingerprint == expected


def test_train_rows_takes_the_examples_of_each_class_with_the_smallest_hashes(given: Callable[..., Given]) -> None:
    by_hash = sorted(TRAIN, key=lambda example: hashlib.sha256(example.id.encode()).digest())
    wanted = {example.id for label in (0, 1) for example in [one for one in by_hash if one.label == label][:2]}
    data = load_task(given(DATA, train_rows=4))
    assert {example.id for example in data.splits["train"]} == wanted
    assert Counter(example.label for example in data.splits["train"]) == {0: 2, 1: 2}
    assert data.splits["test"] == TEST
    assert data.fingerprint == fingerprint_of(data) != load_task(given(DATA)).fingerprint


def write(folder: Path, **splits: tuple[Example, ...]) -> str:
    """Write the examples to files, so that they get the same ids."""
    folder.mkdir()
    for split, examples in splits.items():
        rows = [{"text": example.texts[0], "label": DATA.label_names[example.label]} for example in examples]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize("settings", [{}, {"train_rows": 3}, {"train_share": 0.5}], ids=str)
@pytest.mark.parametrize("names", [("train",), ("train", "test"), ("train", "validation"), ("test",)], ids="+".join)
def test_splits_and_samples_are_those_of_a_file_with_the_same_rows(
    given: Callable[..., Given], tmp_path: Path, names: tuple[str, ...], settings: Any
) -> None:
    splits = {name: tuple(evolve(example, id=f"{name}-{at}") for at, example in enumerate(TRAIN)) for name in names}

    def load(task: Task) -> TaskData | str:
        try:
            return load_task(task)
        except DataError as problem:
            return str(problem).partition(": ")[2]

    mine, theirs = load(given(with_splits(**splits), **settings)), load(LocalDataset(path=write(tmp_path / "data", **splits), **settings))
    if isinstance(mine, str) or isinstance(theirs, str):
        assert mine == theirs
        assert "train_share" in settings
        assert "train" in names
    else:
        assert dict(mine.splits) == dict(theirs.splits)
        assert mine.fingerprint == theirs.fingerprint
        assert mine.counts == theirs.counts
        assert mine.warnings == theirs.warnings


def test_generators_and_lists_are_read_once(given: Callable[..., Given]) -> None:
    rows = {split: [Example(one.id, list(one.texts), np.int64(one.label)) for one in own] for split, own in DATA.splits.items()}  # type: ignore[arg-type]
    lazy = TaskData("given", ["text"], ["bad", "good"], {split: (one for one in own) for split, own in rows.items()})  # type: ignore[arg-type]
    expected = load_task(given(DATA))
    cache, task = InputCache(), given(lazy)
    recipe = Recipe(name="mine", stages={})
    assert [cache.task(recipe, task), cache.task(recipe, task)] == [expected, expected]
    with pytest.raises(DataError, match="no split has examples"):
        load_task(task)


def test_a_list_that_the_author_changes_later_does_not_change_the_task(given: Callable[..., Given]) -> None:
    names = ["bad", "good"]
    data = load_task(given(evolve(DATA, label_names=names)))
    names.reverse()
    assert data.label_names == ("bad", "good")


def test_empty_texts_are_dropped_and_counted_and_repeats_are_warned_about(given: Callable[..., Given]) -> None:
    texts = [" ", "film 1", *(f"film {number % 3}" for number in range(2, 8))]
    data = load_task(
        given(with_splits(train=tuple(evolve(one, texts=(text,)) for one, text in zip(TRAIN, texts, strict=True)), dev=DEV, test=TEST))
    )
    assert data.dropped == {"empty": 1}
    assert [example.id for example in data.splits["train"]] == [f"train-{number}" for number in range(1, 8)]
    assert data.counts == {"repeated texts in train": 4, "texts with contradictory labels": 3}
    assert any(warning.startswith("1 of 8 rows of train (12.5 %) dropped: their text is empty") for warning in data.warnings)


def test_a_challenge_set_may_have_one_class(given: Callable[..., Given]) -> None:
    data = load_challenge_set(given(with_splits(test=TRAIN[::2])))
    assert {split: len(own) for split, own in data.splits.items()} == {"train": 0, "dev": 0, "test": 4}


def test_built_in_tasks_are_as_assembled() -> None:
    for task in (DemoTask(rows=20, dev_rows=4, test_rows=6, train_rows=7), DemoPairsOOD(test_rows=8, train_share=0.5)):
        assert load_task(task) == task.load()
        assert load_challenge_set(task) == task.load_challenge()


def test_a_task_derived_from_a_built_in_one_is_assembled_again() -> None:
    @frozen
    class Doubled(DemoTask):
        def load(self) -> TaskData:
            data = super().load()
            more = tuple(evolve(example, id=f"again-{example.id}") for example in data.splits["train"])
            return evolve(data, splits={**data.splits, "train": (*data.splits["train"], *more)})

    settings: Any = {"rows": 20, "dev_rows": 4, "test_rows": 6}
    plain, doubled, limited = DemoTask(**settings).load(), load_task(Doubled(**settings)), load_task(Doubled(**settings, train_rows=15))
    assert (len(doubled.splits["train"]), len(limited.splits["train"])) == (40, 15)
    assert doubled.counts["repeated texts in train"] == 20
    assert doubled.fingerprint == fingerprint_of(doubled) != plain.fingerprint
    assert len(set(doubled.warnings)) == len(doubled.warnings)


@pytest.mark.parametrize("load", [load_task, load_challenge_set])
def test_a_derived_task_is_not_divided_twice(load: Callable[[Task], TaskData]) -> None:
    @frozen
    class Shouted(DemoPairsOOD):
        def _load(self, *, challenge: bool) -> TaskData:
            data = super()._load(challenge=challenge)
            splits = {
                split: tuple(evolve(one, texts=(one.texts[0].upper(), one.texts[1])) for one in own) for split, own in data.splits.items()
            }
            return evolve(data, splits=splits)

    plain, shouted = load(DemoPairsOOD(test_rows=8, train_share=0.5)), load(Shouted(test_rows=8, train_share=0.5))
    assert {split: [one.id for one in own] for split, own in shouted.splits.items()} == {
        split: [one.id for one in own] for split, own in plain.splits.items()
    }
    assert shouted.fingerprint == fingerprint_of(shouted) != plain.fingerprint


def test_the_label_is_the_name_of_the_data(given: Callable[..., Given]) -> None:
    assert load_task(given(evolve(DATA, name="another"))).name == "given"


def test_the_train_rows_of_a_recipe_apply_to_every_task_in_a_run_and_in_its_plan(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    recipe = make_recipe("train_rows=10", "finetune.epochs=1", without=("search", "draw", "retrain", "evaluate", "attack"))
    own = {"finetune": evolve(recipe.stages["finetune"], task=Moods(rows=30))}  # type: ignore[call-arg]
    recipe = evolve(recipe, tasks=(Moods(),), stages={**own, "again": recipe.stages["finetune"]})
    inputs = load_run_inputs(recipe)
    assert [len(data.splits["train"]) for data in (*inputs.data.values(), *inputs.own.values())] == [10, 10]
    run.run(recipe, tmp_path)
    *_, summary = plan.describe(recipe, tmp_path)
    assert "2 of 2 stages in the lab" in summary


def test_flipped_labels_are_other_work(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    recipe = make_recipe(without=("search", "draw", "retrain", "evaluate", "attack"))
    names = {run.directory_name(evolve(recipe, tasks=(Moods(flipped=flipped),)), tmp_path) for flipped in (False, True)}
    assert len(names) == 2
