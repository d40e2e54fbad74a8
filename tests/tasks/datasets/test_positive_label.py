"""The positive label: declared, never guessed, and part of the fingerprint."""

import json

import pytest

from ticketlab.core.errors import DataError
from ticketlab.core.settings import from_table
from ticketlab.tasks.datasets.local import LocalDataset


@pytest.fixture
def numbers(tmp_path):
    """A file with two labels, 0 and 1, and a file with three."""
    for name, labels in (("two", (0, 1)), ("three", (0, 1, 2))):
        rows = [json.dumps({"text": f"text {number}", "label": labels[number % len(labels)]}) for number in range(60)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("given", ["1", 1])
def test_a_positive_label_is_given_by_name_or_number(numbers, given):
    data = from_table(LocalDataset, {"path": str(numbers / "two.jsonl"), "positive_label": given}).load()
    assert (data.positive_label, data.positive_index, data.measures) == ("1", 1, ("binary_f1",))
    plain = LocalDataset(path=str(numbers / "two.jsonl")).load()
    assert (plain.positive_label, plain.positive_index, plain.measures) == (None, None, ())
    assert (
        len({data.fingerprint, plain.fingerprint, LocalDataset(path=str(numbers / "two.jsonl"), positive_label="0").load().fingerprint})
        == 3
    )


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("two", r"two\.jsonl: positive_label: there is no label `yes`; available: `0`, `1`"),
        ("three", r"positive_label: there is no label `yes`"),
    ],
)
def test_a_positive_label_that_is_not_a_label_is_rejected(numbers, file, message):
    with pytest.raises(DataError, match=message):
        LocalDataset(path=str(numbers / f"{file}.jsonl"), positive_label="yes").load()


def test_a_positive_label_of_three_labels_is_rejected_and_alternatives_are_named(numbers):
    with pytest.raises(DataError, match=r"the binary F1 needs two labels, and there are 3 \(`0`, `1`, `2`\).*macro_f1 and weighted_f1"):
        LocalDataset(path=str(numbers / "three.jsonl"), positive_label="1").load()
