from collections import Counter

import pytest

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.labels import is_unlabelled, label_name, resolve_label_names, sort_labels
from ticketlab.tasks.reading.missing_labels import ambiguous_label_warnings, check_unlabelled_markers


@pytest.mark.parametrize(
    ("value", "name"),
    [(2, "2"), (2.0, "2"), (0.5, "0.5"), (True, "true"), (" neg ", "neg"), (None, ""), (float("nan"), ""), (-1, "-1")],
    ids=repr,
)
def test_a_label_value_has_one_name(value, name):
    assert label_name(value) == name


@pytest.mark.parametrize("name", ["", "-", "-1", "null", "NaN"])
def test_conventional_markers_mean_unlabelled(name):
    assert is_unlabelled(name)


@pytest.mark.parametrize(
    ("names", "order"),
    [(["10", "9", "1"], ("1", "9", "10")), (["b", "10", "9"], ("10", "9", "b")), (["yes", "no", "yes"], ("no", "yes"))],
    ids=["numbers by value", "mixed as text", "distinct"],
)
def test_label_names_are_sorted(names, order):
    assert sort_labels(names) == order


def test_a_declared_order_is_kept_and_other_labels_are_rejected():
    assert resolve_label_names("x.csv", ["no", "yes"], ("yes", "no", "maybe")) == ("yes", "no", "maybe")
    with pytest.raises(DataError, match=r"x\.csv: the label `yess` is not one of the declared labels; did you mean `yes`"):
        resolve_label_names("x.csv", ["no", "yess"], ("yes", "no"))


@pytest.mark.parametrize(
    ("declared", "trains", "message"),
    [
        ((), True, "all training rows are labelled `1`; a task needs two classes [(].*[)]$"),
        (("0", "1"), True, "a task needs two classes .*; rows to test on, in a file named test.csv or a split named test, may have one"),
        ((), False, "all rows are labelled `1`; give the names of all labels with --labels"),
    ],
    ids=["trained on", "trained on, declared", "tested on"],
)
def test_a_single_class_is_rejected(declared, trains, message):
    with pytest.raises(DataError, match=message):
        resolve_label_names("x.csv", ["1", "1"], declared, trains=trains)


@pytest.mark.parametrize(
    ("declared", "challenge", "names"), [(("0", "1"), False, ("0", "1")), ((), True, ("1",))], ids=["declared", "challenge set"]
)
def test_rows_to_test_on_may_have_a_single_class(declared, challenge, names):
    assert resolve_label_names("x.csv", ["1", "1"], declared, trains=False, challenge=challenge) == names
    with pytest.raises(DataError, match="no row has a label"):
        resolve_label_names("x.csv", [], declared, trains=False, challenge=challenge)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"-1": 33, "0": 33, "1": 34}, "33 rows labelled `-1` (other labels are `0`, `1`; up to 33.0 % of a split)"),
        ({"-1": 1, "-2": 1, "0": 500, "1": 500}, "1 row labelled `-1` (other labels are `-2`, `0`, `1`; up to 0.1 % of a split)"),
        ({"+": 99, "-": 1}, "1 row labelled `-` (other labels are `+`; up to 1.0 %"),
        ({"yes": 5, "no": 5, "null": 5}, "5 rows labelled `null`"),
        ({"entailment": 98, "-": 2}, None),
        ({"0": 990, "1": 990, "-1": 20}, None),
        ({"pos": 5, "neg": 5, "": 90, "nan": 9}, None),
        ({"-1": 50}, None),
        ({"pos": 30, "neg": 30, "-1": 40}, None),
    ],
    ids=[
        "sentiment",
        "five points",
        "plus and minus",
        "null",
        "snli",
        "a few unlabelled",
        "missing",
        "no other label",
        "other labels are names",
    ],
)
def test_a_marker_that_may_be_a_class_is_rejected(labels: dict[str, int], message: str | None) -> None:
    counts = {"train": Counter(labels)}
    if message is None:
        assert len(check_unlabelled_markers("x.csv", counts, "--labels", "--drop-label ")) == ("-" in labels or "-1" in labels)
    else:
        with pytest.raises(DataError) as caught:
            check_unlabelled_markers("x.csv", counts, "--labels", "--drop-label ")
        assert f"x.csv: {message}" in str(caught.value)
        assert "--drop-label -" in str(caught.value) or "--drop-label null" in str(caught.value)
        assert "--labels" in str(caught.value)


@pytest.mark.parametrize("name", ["?", "n/a", "N/A", "unknown", "None", "Not available", "#NV", "#WERT!"])
def test_a_name_that_may_mean_unlabelled_is_a_class_with_a_warning(name: str) -> None:
    (warning,) = ambiguous_label_warnings(
        {"train": Counter({"yes": 6, name: 2}), "test": Counter({"no": 1, name: 1, "": 9})}, "--drop-label "
    )
    assert warning.startswith(f"3 of 10 rows (30.0 %) labelled `{name}`, treated as a class; if it means unlabelled, --drop-label ")
    assert not ambiguous_label_warnings({"train": Counter({"yes": 6, "-": 2, "nothing": 1})}, "--drop-label ")
