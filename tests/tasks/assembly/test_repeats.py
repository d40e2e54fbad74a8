"""Equal texts stay on one side of every split, and repeated texts are counted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticketlab.core.errors import DataError
from ticketlab.recipes.compose import compose
from ticketlab.runs import task_checks
from ticketlab.tasks.assembly import repeats
from ticketlab.tasks.assembly.assemble import assemble
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.reading.hash_order import hash_rank
from ticketlab.tasks.reading.rows import LabelledRow
from ticketlab.tasks.reading.splits import make_splits, proportional_quotas, stratified_sample, take_training_share
from ticketlab.tasks.reading.text_equality import canonical_text, group_equal_texts, is_empty

TEXTS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), min_size=2, max_size=90)


def rows(texts: list[tuple[int, int]]) -> list[LabelledRow]:
    """Return rows for pairs of text and label numbers."""
    return [LabelledRow(f"train-{number}", (f"text {text}",), "abc"[label]) for number, (text, label) in enumerate(texts)]


def same_of(examples: list[LabelledRow]) -> dict[str, str]:
    return dict(group_equal_texts({row.id: row.texts for row in examples}).same)


@given(TEXTS, st.randoms())
def test_no_text_is_on_two_sides_of_a_split_whatever_the_order_of_rows(texts: list[tuple[int, int]], order: Any) -> None:
    examples = rows(texts)
    arranged = make_splits({"train": examples}, same_of(examples))
    assert sorted(row.id for part in arranged.values() for row in part) == sorted(row.id for row in examples)
    sides = [{row.texts for row in part} for part in arranged.values()]
    assert sum(map(len, sides)) == len(set().union(*sides))
    shuffled = examples[:]
    order.shuffle(shuffled)
    again = make_splits({"train": shuffled}, same_of(shuffled))
    assert {split: {row.id for row in part} for split, part in again.items()} == {
        split: {row.id for row in part} for split, part in arranged.items()
    }


@given(TEXTS, st.floats(0.02, 0.98))
def test_with_repeats_a_share_is_as_large_as_groups_of_equal_texts_allow(texts: list[tuple[int, int]], share: float) -> None:
    examples = rows(texts)
    taken, rest = take_training_share(examples, share, same_of(examples))
    groups = Counter(row.texts for row in examples)
    count = int(share * len(examples) + 0.5)
    largest = max(groups.values())
    assert len(taken) < count + largest
    if 0 < count < len(examples) and len(groups) > 1:
        assert taken
        assert rest
    if len({row.label for row in examples}) == 1 and len(groups) > 2 * largest:
        assert len(taken) > count - largest


@given(st.lists(st.integers(0, 2), min_size=1, max_size=80), st.integers(1, 80))
def test_without_repeats_each_class_contributes_exactly_its_quota(labels: list[int], count: int) -> None:
    examples = rows(list(enumerate(labels)))
    assert same_of(examples) == {}
    taken, _ = stratified_sample(examples, count, same_of(examples))
    found = Counter(row.label for row in taken)
    wanted = proportional_quotas(
        Counter(row.label for row in sorted(examples, key=lambda row: hash_rank(row.id))), min(count, len(examples))
    )
    assert found == Counter({label: number for label, number in wanted.items() if number})


def test_groups_of_copies_fill_the_quotas_of_their_classes() -> None:
    examples = rows([(number // 5, number // 5 % 2) for number in range(600)])
    arranged = make_splits({"train": examples}, same_of(examples))
    assert {split: Counter(row.label for row in part) for split, part in arranged.items()} == {
        "train": {"a": 240, "b": 240},
        "dev": {"a": 30, "b": 30},
        "test": {"a": 30, "b": 30},
    }


def test_many_classes_with_few_copied_texts_still_fill_a_tenth() -> None:
    examples = [LabelledRow(f"{n}", (f"text {n // 5}",), f"{n // 20}") for n in range(600)]  # 30 classes of 4 texts, each 5 times
    arranged = make_splits({"train": examples}, same_of(examples))
    assert [len(arranged[split]) for split in ("train", "dev", "test")] == [480, 60, 60]
    assert len({row.label for row in arranged["train"]}) == 30


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ("a good film", " a  good\tfilm\n", True),
        ("caf\u00e9", "cafe\u0301", True),
        ("\uff46ilm \u2460", "film 1", True),
        ("film", "\ufefffi\u200blm\u00ad", True),
        ("a\u00a0film", "a film", True),
        ("A Good FILM", "a good film", True),
        ("\u4f60\u597d", "\u4f60 \u597d", False),
        ("a good film", "a good film.", False),
        ("cafe", "caf\u00e9", True),
        ("\u0130STANBUL", "istanbul", True),
        ("ALI\u015eILMADIK", "al\u0131\u015f\u0131lmad\u0131k", True),
        ("\u092e\u093f\u0932", "\u092e\u0941\u0932", False),
        ("\u0643\u064e\u062a\u0628", "\u0643\u064f\u062a\u0628", False),
    ],
    ids=[
        *("white space", "NFC and NFD", "compatible characters", "invisible", "no-break space", "case", "Chinese", "punctuation", "accent"),
        *("Turkish capital", "Turkish dotless", "Hindi vowels", "Arabic vowels"),
    ],
)
def test_texts_that_read_the_same_are_equal(first: str, second: str, equal: bool) -> None:
    assert bool(group_equal_texts({"1": (canonical_text(first),), "2": (canonical_text(second),)}).same) is equal


def test_a_swapped_pair_is_a_different_pair() -> None:
    assert group_equal_texts({"1": ("a", "b"), "2": ("b", "a"), "3": ("A", "b")}).same == {"1": "1", "3": "1"}


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "\ufeff \u00a0", "\x00\u2060", "\u2800\u3164"])
def test_invisible_texts_are_empty(text: str) -> None:
    assert is_empty(text)


def data(**splits: list[tuple[Any, str]]) -> TaskData:
    made = {
        split: [
            LabelledRow(f"{split}-{n}", texts if isinstance(texts, tuple) else (texts,), label) for n, (texts, label) in enumerate(pairs)
        ]
        for split, pairs in splits.items()
    }
    columns = ("a", "b") if isinstance(splits["test"][0][0], tuple) else ("text",)
    return assemble("set", columns, made, challenge="train" not in splits)


FILLER = [(f"filler {n}", "ab"[n % 2]) for n in range(20)]


def test_given_splits_keep_their_rows_and_shared_texts_are_counted() -> None:
    read = data(
        train=[*FILLER, ("seen", "a"), ("Seen ", "a"), ("ambiguous", "a")],
        validation=[("ambiguous", "b"), ("v", "a"), ("w", "b")],
        test=[("SEEN", "a"), ("seen", "a"), ("v", "a"), ("new", "b")],
    )
    assert [len(read.splits[split]) for split in ("train", "dev", "test")] == [23, 3, 4]
    assert read.counts == {
        "repeated texts in train": 1,
        "repeated texts in test": 1,
        "dev texts in train": 1,
        "test texts in train": 2,
        "test texts in dev": 1,
        "texts with contradictory labels": 1,
    }
    assert [repeats.describe_count(what, number) for what, number in read.counts.items()][2:4] == [
        "1 dev text in train",
        "2 test texts in train",
    ]
    joined = "; ".join(read.warnings)
    for words in (
        "2 of 4 test texts (50.0 %) are also in train",
        "1 of 3 dev texts (33.3 %) is also in train",
        "1 of 25 different texts has contradictory labels",
    ):
        assert words in joined


def test_swapped_pairs_are_counted_separately() -> None:
    pairs = [((f"p{n}", f"h{n}"), "ab"[n % 2]) for n in range(10)]
    read = data(train=pairs, validation=[(("p", "h"), "a"), (("q", "h"), "b")], test=[(("h1", "p1"), "b"), (("p2", "h2"), "a")])
    assert read.counts == {"test texts in train": 1, "test pairs in train in the other order": 1}


def test_labels_of_texts_that_differ_in_case_are_not_contradictory() -> None:
    read = data(train=[*FILLER, ("word", "a"), ("WORD", "b")], validation=[("v", "a"), ("w", "b")], test=[("x", "a"), ("y", "b")])
    assert read.counts == {"repeated texts in train": 1}


def test_a_task_without_repeats_has_no_counts_or_warnings() -> None:
    read = data(train=FILLER, validation=[("v", "a"), ("w", "b")], test=[("x", "a"), ("y", "b")])
    assert (read.counts, read.warnings) == ({}, ())


def test_only_the_sampled_training_rows_are_counted(tmp_path: Path) -> None:
    for split, own in (("train", [*FILLER, *[("seen", "a")] * 3]), ("validation", FILLER[:2]), ("test", [("seen", "a"), ("y", "b")])):
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in own))
    whole, sample = LocalDataset(path=str(tmp_path)).load(), LocalDataset(path=str(tmp_path), train_rows=2).load()
    assert (whole.counts["dev texts in train"], whole.counts["repeated texts in train"]) == (2, 2)
    assert sample.counts.get("repeated texts in train", 0) == 2 - len({example.texts for example in sample.splits["train"]})


def test_a_challenge_set_counts_its_texts_in_the_splits_of_a_task() -> None:
    task = data(train=[*FILLER, ("seen", "a")], validation=[("v", "a"), ("w", "b")], test=[("x", "a"), ("y", "b")])
    other = data(test=[("seen", "a"), ("new", "b"), ("Filler 3", "b"), ("Y", "a")])
    counted = repeats.with_overlap_counts(other, [task], mixed=False)
    assert counted.counts == {"test texts in train of set": 2, "test texts in test of set": 1}
    assert counted.warnings == ("2 of 4 test texts (50.0 %) are in train of set", "1 of 4 test texts (25.0 %) is in test of set")
    assert counted.fingerprint == other.fingerprint


def test_mixed_in_texts_that_are_test_texts_of_the_task_are_counted() -> None:
    task = data(train=FILLER, validation=[("v", "a"), ("w", "b")], test=[("x", "a"), ("y", "b")])
    other = assemble(
        "ood",
        ("text",),
        {"train": [*rows([(n, 0) for n in range(3)]), LabelledRow("t", ("x",), "a")], "test": [LabelledRow("u", ("u",), "a")]},
        challenge=True,
    )
    for mix, counts in (("1", {"train texts in test of set": 1}), ("0", {})):
        recipe = compose("fine-tune", tasks="demo", sets=f"finetune.mix_ood={mix}")
        assert [checked.counts for checked in task_checks.with_overlap_warnings(recipe, [task], [other], {}).sets] == [counts]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([("one", "a"), ("one", "b")] * 10, "(20 rows have 1 different text, and rows with equal texts stay in one split)"),
        ([("one", "a"), ("two", "b")] * 10, "(20 rows have 2 different texts"),
        ([("one", "a"), ("two", "b"), ("three", "b")] * 10, "(30 rows have 3 different texts"),
    ],
    ids=["one text", "two texts", "three texts"],
)
def test_too_few_different_texts_are_reported_in_one_line(texts: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(DataError) as caught:
        assemble("few.csv", ("text",), {"train": [LabelledRow(f"{n}", (text,), label) for n, (text, label) in enumerate(texts)]})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("share", [None, 0.3])
def test_texts_repeated_five_times_with_random_labels_stay_in_one_split(real_data: Path, share: float | None) -> None:
    read = LocalDataset(path=str(real_data / "trials" / "dups.csv"), train_share=share).load()
    sides = [{canonical_text(example.texts[0]) for example in examples} for examples in read.splits.values()]
    assert sum(map(len, sides)) == 120
    sizes = [len(read.splits[split]) for split in ("train", "dev", "test")]
    assert sizes == ([480, 60, 60] if share is None else [160, 20, 420])
    assert sum(number for what, number in read.counts.items() if what.startswith("repeated texts")) == 480
    assert any("test texts (80.0 %) repeat another" in warning for warning in read.warnings)


def test_contradictory_labels_are_counted(real_data: Path) -> None:
    read = LocalDataset(path=str(real_data / "trials" / "conflict.csv")).load()
    assert read.counts["texts with contradictory labels"] == 100
    assert any(warning.startswith("100 of 100 different texts have contradictory labels") for warning in read.warnings)
