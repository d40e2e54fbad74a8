"""Labels of a model are matched with those of a task by name, never by position."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticketlab.core.errors import UsageError
from ticketlab.tasks.label_map import labels_of_outputs, match_labels


@pytest.mark.parametrize(
    ("model", "task", "pairs", "order"),
    [
        pytest.param(["neg", "pos"], ["neg", "pos"], [], [0, 1], id="identical"),
        pytest.param(["pos", "neg"], ["neg", "pos"], [], [1, 0], id="another order"),
        pytest.param(["c", "a", "b"], ["a", "b", "c"], [], [1, 2, 0], id="a cycle"),
        pytest.param(["POSITIVE", "Negative"], ["negative", "positive"], [], [1, 0], id="ignoring case"),
        pytest.param(["STRASSE", "x"], ["x", "straße"], [], [1, 0], id="ignoring case in German"),
        pytest.param(["us", "US"], ["US", "us"], [], [1, 0], id="names that differ in case only"),
        pytest.param(["LABEL_0", "LABEL_1"], ["neg", "pos"], ["LABEL_0=pos", "LABEL_1=neg"], [1, 0], id="pairs"),
        pytest.param(["bad", "pos"], ["neg", "pos"], ["bad=neg"], [0, 1], id="a pair for one of them"),
        pytest.param(["neg", "pos"], ["neg", "pos"], ["neg=pos", "pos=neg"], [1, 0], id="pairs that swap"),
        pytest.param(["a=b", "c"], ["x", "c"], ["a=b=x"], [0, 1], id="an equals sign in a name"),
        pytest.param(["bad", "pos"], ["neg", "pos"], ["bad=neg", "bad=neg"], [0, 1], id="a repeated pair"),
        pytest.param(["LABEL_0", "LABEL_1"], ["LABEL_1", "LABEL_0"], [], [1, 0], id="a task with such label names"),
    ],
)
def test_labels_are_matched(model: Sequence[str], task: Sequence[str], pairs: Sequence[str], order: list[int]) -> None:
    assert match_labels(model, task, pairs) == order


@pytest.mark.parametrize(
    ("model", "task", "pairs", "message"),
    [
        pytest.param(["LABEL_0", "LABEL_1"], ["neg", "pos"], [], "--label-map LABEL_0=NAME, once per label", id="labels without names"),
        pytest.param(["LABEL_0", "LABEL_1"], ["0", "1"], [], "LABEL_0, LABEL_1 and the task's 0, 1", id="numbers"),
        pytest.param(["neg", "pos"], ["no", "yes"], [], "neg, pos and the task's no, yes", id="other names"),
        pytest.param(
            ["a", "b", "c"],
            ["a", "b"],
            [],
            "and the task 2 (a, b): if the task has only some of the labels, declare all of them: --labels a",
            id="one too many",
        ),
        pytest.param(
            ["a", "b"],
            ["a", "b", "c"],
            [],
            "the model has 2 labels (a, b) and the task 3 (a, b, c): evaluate it on a task with its own",
            id="one too few",
        ),
        pytest.param(["pos", "POS"], ["neg", "pos"], [], "two labels of the model stand for", id="labels that differ in case only"),
        pytest.param(
            ["neg", "pos"],
            ["neg", "pos"],
            ["neg=pos"],
            "two labels of the model stand for `pos`: `neg` (mapped)",
            id="two to one",
        ),
        pytest.param(["bad", "pos"], ["neg", "pos"], ["bad=neg", "bad=pos"], "`bad` is already mapped to `neg`", id="one to two"),
        pytest.param(["neg", "pos"], ["neg", "pos"], ["neg"], "MODEL_LABEL=TASK_LABEL", id="not a pair"),
        pytest.param(["neg", "pos"], ["neg", "pos"], ["nege=pos"], "did you mean `neg`?", id="not a label of the model"),
        pytest.param(["neg", "pos"], ["neg", "pos"], ["neg=poss"], "did you mean `pos`?", id="not a label of the task"),
    ],
)
def test_labels_that_cannot_be_matched_are_rejected(model: Sequence[str], task: Sequence[str], pairs: Sequence[str], message: str) -> None:
    with pytest.raises(UsageError) as problem:
        match_labels(model, task, pairs)
    assert message in str(problem.value)


@given(
    st.lists(st.text(min_size=1), min_size=2, max_size=6, unique=True).flatmap(
        lambda names: st.tuples(st.just(names), st.permutations(names))
    )
)
def test_each_label_is_matched_with_its_output(names: tuple[list[str], list[str]]) -> None:
    task, model = names
    assert [model[output] for output in match_labels(model, task)] == task


@pytest.mark.parametrize(
    ("model", "task", "pairs", "expected"),
    [
        (["pos", "neg"], ["neg", "pos"], [], ["pos", "neg"]),
        (["Pos", "NEG"], ["neg", "neutral", "pos"], [], ["pos", "neg"]),
        (["LABEL_0", "LABEL_1"], ["neg", "neutral", "pos"], ["LABEL_0=neg", "LABEL_1=pos"], ["neg", "pos"]),
    ],
)
def test_the_task_may_have_more_labels_than_the_model(
    model: Sequence[str], task: Sequence[str], pairs: Sequence[str], expected: Sequence[str]
) -> None:
    assert labels_of_outputs(model, task, pairs) == expected


@pytest.mark.parametrize(("model", "task"), [(["a", "b", "c"], ["a", "b"]), (["a", "b"], ["b", "c", "d"]), (["LABEL_0"], ["0", "1"])])
def test_outputs_without_a_label_of_the_task_are_rejected(model: Sequence[str], task: Sequence[str]) -> None:
    with pytest.raises(UsageError):
        labels_of_outputs(model, task)
