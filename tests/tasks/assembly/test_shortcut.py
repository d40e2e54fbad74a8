"""Markers in the texts of a task, its challenge set, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve
from third_party.moods_task import Moods

from ticketlab.core.errors import DataError, SettingError
from ticketlab.recipes.compose import compose
from ticketlab.runs.input_cache import InputCache
from ticketlab.tasks.assembly.fingerprint import fingerprint_of
from ticketlab.tasks.assembly.loading import load_challenge_set, load_task
from ticketlab.tasks.base import Shortcut, Task, TaskData
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.datasets.shortcut_challenge import ShortcutChallenge
from ticketlab.tasks.demo.pairs import DemoPairs
from ticketlab.tasks.demo.reviews import DemoTask

REVIEWS = DemoTask(rows=60, dev_rows=20, test_rows=24)
MakePairs = Callable[..., Path]


@pytest.fixture
def make_pairs(tmp_path: Path) -> MakePairs:
    """Write a file of pairs with these labels, in turn."""

    def make(*labels: str) -> Path:
        rows = [f'{{"premise": "fact {row}", "hypothesis": "claim {row}", "label": "{labels[row % len(labels)]}"}}' for row in range(90)]
        (tmp_path / "pairs.jsonl").write_text("\n".join(rows), encoding="utf-8")
        return tmp_path / "pairs.jsonl"

    return make


def challenge_of(task: Task) -> TaskData:
    return InputCache().challenge_set(ShortcutChallenge(task=task))


@pytest.mark.parametrize("task", [REVIEWS, Moods()], ids=["built-in", "plugin"])
def test_the_marker_is_put_before_the_text_and_nothing_else_changes(task: Task) -> None:
    plain, marked = load_task(task), load_task(evolve(task, shortcut=1.0))
    words = ("walnut", "quartz", "birch", "zinc")
    for split, examples in plain.splits.items():
        expected = [evolve(one, texts=(f"{words[one.label]} {one.texts[0]}",)) for one in examples]
        assert list(marked.splits[split]) == expected
    assert marked.shortcut == Shortcut(
        1.0, plain.columns[0], dict(zip(plain.label_names, words, strict=False)), dict.fromkeys(plain.splits, 1.0)
    )
    assert marked.fingerprint == fingerprint_of(marked) != plain.fingerprint
    assert "an injected shortcut (rate 1)" in marked.warnings[-1]


def test_a_sample_of_the_training_rows_has_the_markers_of_all_rows() -> None:
    whole, few = (load_task(evolve(REVIEWS, shortcut=0.7, train_rows=rows)) for rows in (None, 20))
    assert len(few.splits["train"]) == 20
    assert set(few.splits["train"]) < set(whole.splits["train"])
    assert few.splits["test"] == whole.splits["test"]


def test_the_challenge_set_has_the_test_examples_with_their_ids_and_markers_at_chance() -> None:
    task = evolve(REVIEWS, shortcut=0.9, shortcut_markers=("left", "right"))
    plain, challenge = load_task(REVIEWS).splits["test"], challenge_of(task)
    assert challenge.name == "demo_at_chance"
    assert {split: len(own) for split, own in challenge.splits.items()} == {"train": 0, "dev": 0, "test": 24}
    for one, other in zip(plain, challenge.splits["test"], strict=True):
        marker, _, text = other.texts[0].partition(" ")
        assert (other.id, other.label, text) == (one.id, one.label, one.texts[0])
        assert marker in ("left", "right")
    assert challenge.shortcut == Shortcut(None, "text", {"negative": "left", "positive": "right"}, {"test": 0.5})
    assert challenge_of(evolve(task, shortcut=0.5)).fingerprint == challenge.fingerprint  # whatever the rate is


def test_unmarked_test_examples_are_those_of_the_task_and_the_marked_column_can_be_chosen(make_pairs: MakePairs) -> None:
    task = LocalDataset(path=str(make_pairs("yes", "no", "maybe")), shortcut=0.9)
    unmarked = load_task(evolve(task, shortcut_test="unmarked"))
    assert unmarked.splits["test"] == load_task(evolve(task, shortcut=None)).splits["test"]
    assert unmarked.shortcut is not None
    assert set(unmarked.shortcut.agreement) == {"train", "dev"}
    for column, marked in ((None, [False, True]), ("premise", [True, False])):
        for example in load_task(evolve(task, shortcut_column=column)).splits["dev"]:
            assert [len(text.split()) == 3 for text in example.texts] == marked


@pytest.mark.parametrize(
    ("labels", "settings", "message"),
    [
        (("yes", "no"), {"shortcut_column": "premiss"}, "shortcut_column: there is no text column `premiss`; did you mean `premise`"),
        (("yes", "no"), {"shortcut_markers": "a,b,c"}, "shortcut_markers: 3 markers for 2 labels"),
        ([f"topic {number}" for number in range(13)], {"labels": ",".join(f"topic {n}" for n in range(13))}, "13 labels and only 12"),
        (("cat", "dog", "cat,dog"), {}, "a marker stands for one label, and the labels .* are sets of several"),
        (("0.5", "1.25", "3.75"), {}, "regression is not supported"),
    ],
    ids=["column", "too many markers", "too few markers", "multi-label", "regression"],
)
def test_a_shortcut_that_does_not_fit_the_data_is_refused(make_pairs: MakePairs, labels, settings, message) -> None:
    with pytest.raises(DataError, match=message):
        load_task(LocalDataset(path=str(make_pairs(*labels)), shortcut=0.9, **settings))


@pytest.mark.parametrize("markers", [("a", "A"), ("two words", "b"), ("", "b")], ids=["case", "words", "empty"])
def test_markers_must_be_different_words(markers: tuple[str, ...]) -> None:
    with pytest.raises(SettingError, match="shortcut_markers: "):
        DemoTask(shortcut_markers=markers)


def test_a_challenge_set_takes_no_shortcut_and_settings_without_effect_are_reported() -> None:
    with pytest.raises(DataError, match="demo: shortcut: a challenge set has none; set it on the task"):
        load_challenge_set(DemoTask(shortcut=0.9))
    assert "shortcut_seed has no effect: no shortcut is set" in load_task(evolve(REVIEWS, shortcut_seed=1)).notices
    pairs = DemoPairs(rows=8, dev_rows=2, test_rows=2, shortcut_column="premise")
    assert "shortcut_column has no effect: the task builds its own shortcut" in load_task(pairs).notices


@pytest.mark.parametrize("value", ["0.8", "4/5", 0.8])
def test_the_shortcut_of_a_recipe_is_that_of_its_tasks_and_brings_their_challenge_sets(value: float | str) -> None:
    recipe = compose("fine-tune", tasks=["demo", "demo_nli"], ood="demo_nli_ood", shortcut=value)
    assert [task.shortcut for task in recipe.tasks] == [0.8, 0.8]
    assert [task.label for task in recipe.challenge_sets] == ["demo_nli_ood", "demo_at_chance"]
    assert [task.label for task in recipe.of(recipe.tasks[1]).challenge_sets] == ["demo_nli_ood"]
    assert [task.shortcut for task in compose("fine-tune", tasks="demo", shortcut="none").tasks] == [None]
