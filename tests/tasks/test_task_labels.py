import pytest

from ticketlab.errors import DataError
from ticketlab.tasks.labels import is_unlabelled, label_name, ordered, settle


@pytest.mark.parametrize(
    ("value", "name"),
    [(2, "2"), (2.0, "2"), (0.5, "0.5"), (True, "true"), (" neg ", "neg"), (None, ""), (float("nan"), ""), (-1, "-1")],
    ids=repr,
)
def test_a_label_value_has_one_name(value, name):
    assert label_name(value) == name


@pytest.mark.parametrize("name", ["", "-", "-1", "null", "NaN"])
def test_customary_marks_mean_unlabelled(name):
    assert is_unlabelled(name)


@pytest.mark.parametrize(
    ("names", "order"),
    [(["10", "9", "1"], ("1", "9", "10")), (["b", "10", "9"], ("10", "9", "b")), (["yes", "no", "yes"], ("no", "yes"))],
    ids=["numbers by value", "mixed as text", "distinct"],
)
def test_label_names_are_sorted(names, order):
    assert ordered(names) == order


def test_a_declared_order_is_kept_and_other_labels_are_refused():
    assert settle("x.csv", ["no", "yes"], ("yes", "no", "maybe")) == ("yes", "no", "maybe")
    with pytest.raises(DataError, match=r"x\.csv: the label `yess` is not among those declared; did you mean `yes`"):
        settle("x.csv", ["no", "yess"], ("yes", "no"))


def test_a_single_class_is_refused():
    with pytest.raises(DataError, match="all training rows are labelled `1`; a task needs two classes"):
        settle("x.csv", ["1", "1"], ())
