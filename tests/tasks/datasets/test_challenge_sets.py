"""Challenge sets: labels are mapped by name, and training examples are mixed into a task."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from ticketlab.core.errors import DataError, UsageError
from ticketlab.tasks.assembly.assemble import assemble
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.datasets.challenge_sets import check_pairs, map_labels, mix, unused_pairs
from ticketlab.tasks.reading.rows import LabelledRow

NLI = ["contradiction", "entailment", "neutral"]
QQP = ["not_duplicate", "duplicate"]


@pytest.mark.parametrize(
    ("task", "ood", "pairs", "expected"),
    [
        pytest.param(NLI, ["entailment", "non-entailment"], [], ((1,), (0, 2)), id="hans to mnli"),
        pytest.param(NLI, ["non-entailment", "entailment"], [], ((0, 2), (1,)), id="the negation first"),
        pytest.param(NLI, ["Entailment", "NOT_Entailment"], [], ((1,), (0, 2)), id="ignoring case"),
        pytest.param(NLI, ["entailment", "not-entailment"], [], ((1,), (0, 2)), id="not-X"),
        pytest.param(NLI, ["entailment", "non_entailment"], [], ((1,), (0, 2)), id="non_X"),
        pytest.param(["entailment", "not_entailment"], ["non-entailment", "entailment"], [], ((1,), (0,)), id="two negations of one label"),
        pytest.param(
            NLI, ["contradiction", "entailment", "non-entailment"], [], ((0,), (1,), (2,)), id="labels already mapped are not used again"
        ),
        pytest.param(NLI, NLI, [], ((0,), (1,), (2,)), id="identical labels"),
        pytest.param(NLI, ["neutral", "contradiction"], [], ((2,), (0,)), id="a label of the task without a counterpart"),
        pytest.param(["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"], ["REFUTES", "SUPPORTS"], [], ((1,), (0,)), id="symmetric to fever"),
        pytest.param(QQP, ["not_paraphrase", "paraphrase"], ["duplicate=paraphrase"], ((0,), (1,)), id="a pair and a negation"),
        pytest.param(QQP, ["no", "yes"], ["duplicate=yes", "not_duplicate=no"], ((0,), (1,)), id="pairs"),
        pytest.param(NLI, ["no", "yes"], ["neutral=no", "contradiction=no", "entailment=yes"], ((0, 2), (1,)), id="two labels to one"),
        pytest.param(["a", "b"], ["a", "b"], ["a=b", "b=a"], ((1,), (0,)), id="pairs take precedence over names"),
        pytest.param(NLI, ["entailment", "other"], ["neutral=other"], ((1,), (2,)), id="a pair and names"),
        pytest.param(
            NLI, ["entailment", "non-entailment"], ["neutral=non-entailment"], ((1,), (2,)), id="a pair takes precedence over the negation"
        ),
        pytest.param(NLI, ["entailment", "non-entailment"], ["x=elsewhere"], ((1,), (0, 2)), id="a pair for another set"),
        pytest.param(["us", "US"], ["US", "us"], [], ((1,), (0,)), id="names that differ in case only"),
        pytest.param(["a=b", "c"], ["b=a", "d"], ["a=b=b=a", "c=d"], ((0,), (1,)), id="equals signs in names"),
        pytest.param(NLI, ["entailment"], [], ((1,),), id="a single class"),
        pytest.param(["a", "b"], ["a", "b"], ["a=a", "a=a"], ((0,), (1,)), id="a repeated pair"),
    ],
)
def test_labels_of_a_set_are_mapped_by_name(
    task: Sequence[str], ood: Sequence[str], pairs: Sequence[str], expected: tuple[tuple[int, ...], ...]
) -> None:
    assert map_labels("set", task, ood, pairs) == expected


@pytest.mark.parametrize(
    ("task", "ood", "pairs", "message"),
    [
        pytest.param(QQP, ["0", "1"], [], "`not_duplicate`, `duplicate` and those of the set `0`, `1`; map them with", id="by position"),
        pytest.param(["0", "1"], ["LABEL_0", "LABEL_1"], [], "--ood-map TASK_LABEL=OOD_LABEL", id="by number"),
        pytest.param(["a", "b"], ["a", "b", "c"], [], "no label of the task maps to `c`", id="a class that the task does not have"),
        pytest.param(NLI, ["yes", "non-yes"], [], "maps to `yes`, `non-yes`", id="a negation of an unmapped label"),
        pytest.param(["a", "b"], ["a", "b", "non-a"], [], "maps to `non-a`", id="a negation with no labels left"),
        pytest.param(NLI, ["entailment", "nonentailment"], [], "maps to `nonentailment`", id="no separator"),
        pytest.param(NLI, ["entailment", "no-entailment"], [], "maps to `no-entailment`", id="another prefix"),
        pytest.param(QQP, ["yes", "no"], ["duplicat=yes"], "no label `duplicat`; did you mean `duplicate`?", id="not a label of the task"),
        pytest.param(QQP, ["yes", "no"], ["duplicate"], "write TASK_LABEL=OOD_LABEL", id="not a pair"),
        pytest.param(
            QQP,
            ["yes", "no"],
            ["duplicate=yes", "duplicate=no"],
            "`duplicate` is already mapped to `yes` of set",
            id="two pairs for one label",
        ),
        pytest.param(QQP, ["yes", "no"], ["duplicate=yes"], "no label of the task maps to `no`", id="an incomplete map"),
    ],
)
def test_labels_that_cannot_be_mapped_are_rejected(task: Sequence[str], ood: Sequence[str], pairs: Sequence[str], message: str) -> None:
    with pytest.raises(UsageError) as problem:
        map_labels("set", task, ood, pairs)
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)


label_names = st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=6, unique=True)


@given(label_names, label_names)
def test_a_label_of_the_task_maps_to_at_most_one_label_of_a_set(task: list[str], ood: list[str]) -> None:
    try:
        found = map_labels("set", task, ood)
    except UsageError:
        return
    mapped = [index for indices in found for index in indices]
    assert len(found) == len(ood)
    assert all(found)
    assert len(mapped) == len(set(mapped))


@given(st.permutations(NLI), st.permutations(["entailment", "non-entailment"]))
def test_the_order_of_names_does_not_matter(task: list[str], ood: list[str]) -> None:
    found = map_labels("set", task, ood)
    read = {label: {task[index] for index in indices} for label, indices in zip(ood, found, strict=True)}
    assert read == {"entailment": {"entailment"}, "non-entailment": {"neutral", "contradiction"}}


def make(name: str, labels: Sequence[str], *, train: int = 0, share: float | None = None, columns: int = 2, **settings: object) -> TaskData:
    rows = [LabelledRow(f"{number}", (f"text {number}",) * columns, labels[number % len(labels)]) for number in range(train or 8)]
    splits = {"train": rows, "test": [LabelledRow("t", ("text",) * columns, labels[0])]} if train else {"test": rows}
    return assemble(name, ("a", "b")[:columns], splits, declared=labels, train_share=share, challenge=not train, **settings)  # type: ignore[arg-type]


def test_pairs_that_apply_to_no_set_are_found() -> None:
    sets = [make("hans", ["entailment", "non-entailment"]), make("paws", ["no", "yes"])]
    pairs = ["neutral=non-entailment", "duplicate=yes", "duplicate=yse", "word"]
    assert unused_pairs(pairs, [data.label_names for data in sets]) == ("duplicate=yse", "word")
    check_pairs(pairs[:2], sets)
    for wrong, message in (
        ("duplicate=yse", "no challenge set (hans, paws) has a label `yse`; did you mean `yes`?"),
        ("word", "write TASK_LABEL=OOD_LABEL"),
    ):
        with pytest.raises(UsageError) as problem:
            check_pairs([*pairs[:2], wrong], sets)
        assert message in str(problem.value)
    with pytest.raises(UsageError, match="there is no challenge set"):
        check_pairs(["a=b"], [])


def test_a_label_with_several_counterparts_stands_for_any_of_them() -> None:
    task = make("sick", NLI, train=30)
    hans = make("hans", ["entailment", "non-entailment"], share=0.5)
    mixed = mix(task, [hans], copies=2)
    own, added = mixed.splits["train"][: len(task.splits["train"])], mixed.splits["train"][len(task.splits["train"]) :]
    assert own == task.splits["train"]
    assert mixed.label_sets == ((0, 2),)
    assert [(example.id, example.label) for example in added] == [
        (f"hans/{example.id}{suffix}", 1 if example.label == 0 else 3) for suffix in ("", "#2") for example in hans.splits["train"]
    ]
    assert (mixed.splits["dev"], mixed.splits["test"]) == (task.splits["dev"], task.splits["test"])
    assert {example.label for split in ("dev", "test") for example in mixed.splits[split]} <= {0, 1, 2}


def test_sets_with_the_same_mapping_share_a_label_set() -> None:
    task = make("sick", NLI, train=30)
    sets = [make(name, labels, share=0.5) for name, labels in (("x", ["entailment", "non-entailment"]), ("y", ["neutral", "not_neutral"]))]
    assert mix(task, [*sets, evolve(sets[0], name="z")]).label_sets == ((0, 2), (0, 1))


def test_the_fingerprint_depends_on_everything_that_is_mixed_in() -> None:
    task, hans = make("sick", NLI, train=30), make("hans", ["entailment", "non-entailment"], share=0.5)
    other = make("hans", ["entailment", "non-entailment"], share=0.25)
    fingerprints = [task.fingerprint, *(mix(task, [added], copies=copies).fingerprint for added in (hans, other) for copies in (1, 2))]
    assert len(set(fingerprints)) == 5
    assert mix(task, [hans]).fingerprint == fingerprints[1]
    swapped = mix(task, [hans], pairs=["neutral=entailment", "entailment=non-entailment"])
    assert swapped.fingerprint != fingerprints[1]


def test_mixed_in_examples_are_in_no_subset_of_the_task() -> None:
    task = evolve(make("sick", NLI, train=30), subsets=("genre",))
    hans = make("hans", ["entailment", "non-entailment"], share=0.5)
    assert mix(task, [hans]).splits["train"][-1].subsets == ("",)


def test_a_set_without_training_examples_adds_nothing() -> None:
    task, half = make("sick", NLI, train=30), make("hans", ["entailment", "non-entailment"], share=0.5)
    assert mix(task, [make("other", NLI), half]).splits["train"] == mix(task, [half]).splits["train"]


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        pytest.param(
            [make("hans", NLI)], "no challenge set has a training split to mix in (hans); set train_share", id="no training split"
        ),
        pytest.param([], "no challenge set has a training split to mix in (none is given with --ood); set train_share", id="no set"),
        pytest.param(
            [make("hans", NLI, share=0.5, columns=1)], "its text columns are `a`, but those of sick are `a`, `b`", id="other texts"
        ),
        pytest.param(
            [make("hans", NLI, share=0.5)] * 2, "occurs twice; give the folders of the challenge sets different names", id="twice"
        ),
    ],
)
def test_sets_that_cannot_be_mixed_in_are_rejected(sets: list[TaskData], message: str) -> None:
    with pytest.raises(DataError) as problem:
        mix(make("sick", NLI, train=30), sets)
    assert message in str(problem.value)
