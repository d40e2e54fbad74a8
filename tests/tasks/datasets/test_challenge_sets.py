"""Challenge sets: labels meet by name, and training examples are mixed in under them."""

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
        pytest.param(NLI, ["entailment", "non-entailment"], [], ((1,), (0, 2)), id="hans under mnli"),
        pytest.param(NLI, ["non-entailment", "entailment"], [], ((0, 2), (1,)), id="the denial first"),
        pytest.param(NLI, ["Entailment", "NOT_Entailment"], [], ((1,), (0, 2)), id="case aside"),
        pytest.param(NLI, ["entailment", "not-entailment"], [], ((1,), (0, 2)), id="not-X"),
        pytest.param(NLI, ["entailment", "non_entailment"], [], ((1,), (0, 2)), id="non_X"),
        pytest.param(["entailment", "not_entailment"], ["non-entailment", "entailment"], [], ((1,), (0,)), id="two denials of one"),
        pytest.param(NLI, ["contradiction", "entailment", "non-entailment"], [], ((0,), (1,), (2,)), id="what others took is not meant"),
        pytest.param(NLI, NLI, [], ((0,), (1,), (2,)), id="the same"),
        pytest.param(NLI, ["neutral", "contradiction"], [], ((2,), (0,)), id="a label of the task that means nothing"),
        pytest.param(["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"], ["REFUTES", "SUPPORTS"], [], ((1,), (0,)), id="symmetric under fever"),
        pytest.param(QQP, ["not_paraphrase", "paraphrase"], ["duplicate=paraphrase"], ((0,), (1,)), id="one pair, and the denial"),
        pytest.param(QQP, ["no", "yes"], ["duplicate=yes", "not_duplicate=no"], ((0,), (1,)), id="pairs"),
        pytest.param(NLI, ["no", "yes"], ["neutral=no", "contradiction=no", "entailment=yes"], ((0, 2), (1,)), id="two for one"),
        pytest.param(["a", "b"], ["a", "b"], ["a=b", "b=a"], ((1,), (0,)), id="pairs go before names"),
        pytest.param(NLI, ["entailment", "other"], ["neutral=other"], ((1,), (2,)), id="a pair beside names"),
        pytest.param(NLI, ["entailment", "non-entailment"], ["neutral=non-entailment"], ((1,), (2,)), id="a pair goes before the denial"),
        pytest.param(NLI, ["entailment", "non-entailment"], ["x=elsewhere"], ((1,), (0, 2)), id="a pair for another set"),
        pytest.param(["us", "US"], ["US", "us"], [], ((1,), (0,)), id="case, where it tells two labels apart"),
        pytest.param(["a=b", "c"], ["b=a", "d"], ["a=b=b=a", "c=d"], ((0,), (1,)), id="equals signs in names"),
        pytest.param(NLI, ["entailment"], [], ((1,),), id="a single class"),
        pytest.param(["a", "b"], ["a", "b"], ["a=a", "a=a"], ((0,), (1,)), id="a pair said twice"),
    ],
)
def test_labels_of_a_set_are_read_by_name(
    task: Sequence[str], ood: Sequence[str], pairs: Sequence[str], expected: tuple[tuple[int, ...], ...]
) -> None:
    assert map_labels("set", task, ood, pairs) == expected


@pytest.mark.parametrize(
    ("task", "ood", "pairs", "message"),
    [
        pytest.param(QQP, ["0", "1"], [], "`not_duplicate`, `duplicate` and those of the set `0`, `1`; say which is", id="by position"),
        pytest.param(["0", "1"], ["LABEL_0", "LABEL_1"], [], "--ood-map TASK_LABEL=OOD_LABEL", id="nor by number"),
        pytest.param(["a", "b"], ["a", "b", "c"], [], "no label of the task means `c`", id="a class that the task lacks"),
        pytest.param(NLI, ["yes", "non-yes"], [], "means `yes`, `non-yes`", id="a denial of what has no meaning"),
        pytest.param(["a", "b"], ["a", "b", "non-a"], [], "means `non-a`", id="a denial for which nothing is left"),
        pytest.param(NLI, ["entailment", "nonentailment"], [], "means `nonentailment`", id="no mark in between"),
        pytest.param(NLI, ["entailment", "no-entailment"], [], "means `no-entailment`", id="another word"),
        pytest.param(QQP, ["yes", "no"], ["duplicat=yes"], "no label `duplicat`; did you mean `duplicate`?", id="not of the task"),
        pytest.param(QQP, ["yes", "no"], ["duplicate"], "write TASK_LABEL=OOD_LABEL", id="not a pair"),
        pytest.param(QQP, ["yes", "no"], ["duplicate=yes", "duplicate=no"], "`duplicate` is mapped to `yes` of set already", id="torn"),
        pytest.param(QQP, ["yes", "no"], ["duplicate=yes"], "no label of the task means `no`", id="half a map"),
    ],
)
def test_labels_that_do_not_fit_are_refused(task: Sequence[str], ood: Sequence[str], pairs: Sequence[str], message: str) -> None:
    with pytest.raises(UsageError) as problem:
        map_labels("set", task, ood, pairs)
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)


label_names = st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=6, unique=True)


@given(label_names, label_names)
def test_a_label_of_the_task_means_one_label_of_a_set_at_most(task: list[str], ood: list[str]) -> None:
    try:
        found = map_labels("set", task, ood)
    except UsageError:
        return
    meant = [index for indices in found for index in indices]
    assert len(found) == len(ood)
    assert all(found)
    assert len(meant) == len(set(meant))


@given(st.permutations(NLI), st.permutations(["entailment", "non-entailment"]))
def test_no_order_of_names_matters(task: list[str], ood: list[str]) -> None:
    found = map_labels("set", task, ood)
    read = {label: {task[index] for index in indices} for label, indices in zip(ood, found, strict=True)}
    assert read == {"entailment": {"entailment"}, "non-entailment": {"neutral", "contradiction"}}


def make(name: str, labels: Sequence[str], *, train: int = 0, share: float | None = None, columns: int = 2, **settings: object) -> TaskData:
    rows = [LabelledRow(f"{number}", (f"text {number}",) * columns, labels[number % len(labels)]) for number in range(train or 8)]
    splits = {"train": rows, "test": [LabelledRow("t", ("text",) * columns, labels[0])]} if train else {"test": rows}
    return assemble(name, ("a", "b")[:columns], splits, declared=labels, train_share=share, challenge=not train, **settings)  # type: ignore[arg-type]


def test_pairs_that_concern_no_set_are_found() -> None:
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


def test_two_way_labels_stand_for_the_classes_that_they_may_be() -> None:
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


def test_sets_with_the_same_two_way_labels_share_a_label_set() -> None:
    task = make("sick", NLI, train=30)
    sets = [make(name, labels, share=0.5) for name, labels in (("x", ["entailment", "non-entailment"]), ("y", ["neutral", "not_neutral"]))]
    assert mix(task, [*sets, evolve(sets[0], name="z")]).label_sets == ((0, 2), (0, 1))


def test_the_fingerprint_of_a_mixture_depends_on_all_that_is_mixed() -> None:
    task, hans = make("sick", NLI, train=30), make("hans", ["entailment", "non-entailment"], share=0.5)
    other = make("hans", ["entailment", "non-entailment"], share=0.25)
    prints = [task.fingerprint, *(mix(task, [one], copies=copies).fingerprint for one in (hans, other) for copies in (1, 2))]
    assert len(set(prints)) == 5
    assert mix(task, [hans]).fingerprint == prints[1]
    swapped = mix(task, [hans], pairs=["neutral=entailment", "entailment=non-entailment"])
    assert swapped.fingerprint != prints[1]


def test_mixed_examples_have_no_place_in_the_subsets_of_the_task() -> None:
    task = evolve(make("sick", NLI, train=30), subsets=("genre",))
    hans = make("hans", ["entailment", "non-entailment"], share=0.5)
    assert mix(task, [hans]).splits["train"][-1].subsets == ("",)


def test_a_set_without_training_examples_adds_nothing_beside_one_that_has_some() -> None:
    task, half = make("sick", NLI, train=30), make("hans", ["entailment", "non-entailment"], share=0.5)
    assert mix(task, [make("other", NLI), half]).splits["train"] == mix(task, [half]).splits["train"]


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        pytest.param(
            [make("hans", NLI)], "no challenge set has a training split to mix in (hans); set train_share", id="no training split"
        ),
        pytest.param([], "no challenge set has a training split to mix in (none is named (--ood)); set train_share", id="no set"),
        pytest.param([make("hans", NLI, share=0.5, columns=1)], "examples are `a` and those of sick are `a`, `b`", id="other texts"),
        pytest.param([make("hans", NLI, share=0.5)] * 2, "is taken; call the folders of challenge sets by different names", id="twice"),
    ],
)
def test_what_cannot_be_mixed_is_refused(sets: list[TaskData], message: str) -> None:
    with pytest.raises(DataError) as problem:
        mix(make("sick", NLI, train=30), sets)
    assert message in str(problem.value)
