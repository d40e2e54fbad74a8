"""Levels of factors: lists, ranges, factors of several keys, labels."""

from pathlib import Path

import numpy as np
import pytest

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.core.errors import UsageError
from ticketlab.core.settings import to_table
from ticketlab.studies.levels import label_of, numeric, parse_vary, plain_value
from ticketlab.tasks.datasets.local import LocalDataset


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("pruner=hard-concrete,magnitude", ["hard-concrete", "magnitude"]),
        ("sparsity=0.1:0.9:0.1", ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"]),
        ("sparsity=0.1:0.35:0.1", ["0.1", "0.2", "0.3"]),
        ("sparsity=0.9:0.1:-0.4", ["0.9", "0.5", "0.1"]),
        ("sparsity=0,0.5:0.7:0.1", ["0", "0.5", "0.6", "0.7"]),
        ("heads=1/6,1/3", ["1/6", "1/3"]),
        ("heads+neurons=1/6+0.3,1/3+0.4", ["1/6+0.3", "1/3+0.4"]),
        ("task=glue:sst2,org/name:config", ["glue:sst2", "org/name:config"]),
        ('attack=["textfooler", "pwws"],["deepwordbug"]', ["textfooler+pwws", "deepwordbug"]),
        ("search.epochs=5:100:5", [str(epochs) for epochs in range(5, 101, 5)]),
        ("train_rows=1e2:3e2:1e2", ["100", "200", "300"]),
    ],
)
def test_values_become_levels(text, labels):
    factor = parse_vary(text)
    assert [level.label for level in factor.levels] == labels
    assert factor.name == text.partition("=")[0]


def test_a_factor_of_two_keys_sets_both():
    factor = parse_vary("heads+neurons=1/6+0.3,1/3+0.4")
    assert factor.keys == ["heads", "neurons"]
    assert {level.label: level for level in factor.levels}["1/3+0.4"].settings == {"heads": "1/3", "neurons": "0.4"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sparsity", "write KEY=VALUE"),
        ("=1", "write KEY=VALUE"),
        ("sparsity=", "write KEY=VALUE"),
        ("sparsity=,", "there is no value"),
        ("sparsity=0.1:0.9", "0.1:0.9 has no step; write FROM:TO:STEP"),
        ("sparsity=0.1:0.9:0", "does not end, because its step is 0"),
        ("sparsity=0.1:0.9:-0.1", "is empty, because its step goes the wrong way; write 0.1:0.9:0.1"),
        ("sparsity=0.9:0.1:0.1", "is empty, because its step goes the wrong way; write 0.9:0.1:-0.1"),
        ("sparsity=0:1:1e-9", "has more than 10,000 values"),
        ("sparsity=0.1,0.1", "given twice"),
        ("sparsity=0.1,0.5,0.10", "the levels `0.1` and `0.10` are the same"),
        ("heads+neurons=0.5+0.1,1/2+1e-1", "the levels `0.5\\+0.1` and `1/2\\+1e-1` are the same"),
        ("heads+neurons=1/6,1/3", "needs 2 values"),
        ("heads+neurons=1/6+0.3,1/3", "needs 2 values joined with \\+, unlike `1/3`"),
    ],
)
def test_a_wrong_value_is_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_vary(text)


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (0.1, "0.1"), (1e-4, "0.0001"), (1.0000001e-3, "0.0010000001"),
        (3, "3"), (True, "true"), ("1/6", "1/6"), (["a", "b"], "a+b"), ([], "none"),
        ({"name": "freelb", "steps": 2}, "freelb(steps=2)"), ({"name": "local", "path": "x/y"}, "x/y"),
        (LocalDataset(path="reviews.csv"), "reviews"),
    ],
)  # fmt: skip
def test_labels_are_short(value, label):
    assert label_of(value) == label


@pytest.mark.parametrize(
    ("label", "value"), [("0.5", 0.5), ("1/6", 1 / 6), ("1e-4", 1e-4), ("1/0", None), ("freelb", None), ("inf", None), ("nan", None)]
)
def test_labels_that_are_numbers_have_a_value(label, value):
    assert numeric(label) == value


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, "none"), (Path("a/b"), "a/b"), ((1, 2.5), [1, 2.5]), (FreeLB(steps=2), {"name": "freelb", **to_table(FreeLB(steps=2))}),
        ({"name": "pgd", "max_norm": None}, {"name": "pgd", "max_norm": "none"}), (np.int64(3), 3), (True, True),
    ],
)  # fmt: skip
def test_values_are_kept_as_toml_can_hold_them(value, plain):
    found = plain_value(value, "vary.x")
    assert found == plain
    assert type(found) is type(plain)
