from __future__ import annotations

from collections.abc import Callable

import pytest

from ticketlab.core.errors import UsageError
from ticketlab.recipes.recipe import Recipe
from ticketlab.tuning.setting_type import SettingType, find_setting_type
from ticketlab.tuning.space import Choices, Range, parse_over, search_space


@pytest.fixture(scope="module")
def recipe(make_recipe: Callable[..., Recipe]) -> Recipe:
    return make_recipe(without=())


@pytest.mark.parametrize(
    ("key", "values", "expected"),
    [
        ("search.pruner.penalty", "1:1000:log", Range(1, 1000, log=True)),
        ("search.pruner.penalty", "1:1000", Range(1, 1000)),
        ("retrain.batch_size", "8:32", Range(8, 32, whole=True)),
        ("retrain.epochs", "1:3", Range(1, 3)),  # half an epoch is possible
        ("search.adversary.steps", "1:4:log", Range(1, 4, log=True, whole=True)),
        ("attack.attacks.deepwordbug.max_edit_distance", "10:30", Range(10, 30, whole=True)),
        ("sparsity", "1/6:0.5", Range(1 / 6, 0.5)),
        ("n", "5:10", Range(5, 10, whole=True)),
        ("batch-size", "5:10", Range(5, 10, whole=True)),
        ("lr", "1e-5:1e-4:log", Range(1e-5, 1e-4, log=True)),
        ("max-length", "16:32", Range(16, 32, whole=True)),
        ("pruner", "magnitude,random", Choices(("magnitude", "random"))),
        ("sparsity", "0.1:0.3:0.1", Choices(("0.1", "0.2", "0.3"))),
        ("sparsity", [0.1, 0.3], Choices((0.1, 0.3))),
    ],
)
def test_values_are_ranges_or_choices_of_the_settings_type(recipe: Recipe, key: str, values: str, expected: Range | Choices) -> None:
    assert search_space({key: values}, recipe) == {key: expected}


@pytest.mark.parametrize(
    ("key", "values", "message"),
    [
        ("search.pruner.penalti", "1:2", "no such setting; did you mean `penalty`"),
        ("serch.pruner.penalty", "1:2", "no such setting"),
        ("sparsty", "0.1:0.2", "did you mean `sparsity`"),
        ("pruner", "1:3", "not a number; list its values"),
        ("retrain.batch_size", "1.5:3", "whole number, and so must its bounds be"),
        ("search.pruner.penalty", "0:3:log", "must begin above 0, not at 0"),
        ("search.pruner.penalty", "3:1", "the lower bound 3 is not below the upper bound 1"),
        ("search.pruner.penalty", "3", "only one value"),
        ("search.pruner.penalty", "1:3:lin", "write LOW:HIGH or LOW:HIGH:log"),
    ],
)
def test_values_that_are_not_valid_are_errors(recipe: Recipe, key: str, values: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        search_space({key: values}, recipe)


def test_a_key_and_its_values_are_separated_by_the_first_equals_sign() -> None:
    assert parse_over("bias=a=b,c") == ("bias", "a=b,c")
    for text in ("sparsity", "sparsity=", "=0.1:0.2"):
        with pytest.raises(UsageError, match="write KEY=LOW:HIGH"):
            parse_over(text)


def test_settings_that_may_be_none_keep_their_type(recipe: Recipe) -> None:
    assert find_setting_type(recipe, "train-rows") is SettingType.WHOLE


@pytest.mark.parametrize(
    ("dimension", "suggested", "value"),
    [
        (Range(0.1, 1), 0.123456, 0.1235),
        (Range(0.1, 0.99996), 0.99996, 0.99996),  # rounding does not leave the range
        (Range(1, 5, whole=True), 3, 3),
        (Choices((0.1, "x")), "x", "x"),
    ],
)
def test_values_are_rounded_inside_their_range(dimension: Range | Choices, suggested: float, value: float) -> None:
    assert dimension.value(suggested) == value


def test_only_whole_ranges_and_choices_are_finite() -> None:
    assert [one.size for one in (Range(1, 5, whole=True), Choices((1, 2)), Range(1, 5))] == [5, 2, float("inf")]
