from __future__ import annotations

import pytest

from ticketlab.core.errors import UsageError
from ticketlab.scaffold.names import derive_names


@pytest.mark.parametrize(
    ("given", "component", "class_name"),
    [
        ("movement", "movement", "Movement"),
        ("ticketlab-movement", "movement", "Movement"),
        ("ticketlab_movement", "movement", "Movement"),
        ("Movement Pruning", "movement-pruning", "MovementPruning"),
        ("movement_pruning", "movement-pruning", "MovementPruning"),
        ("ticketlab-movement-pruning", "movement-pruning", "MovementPruning"),
        ("InfoBERT", "infobert", "InfoBERT"),
        ("  l0  ", "l0", "L0"),
    ],
)
def test_all_names_follow_from_one(given: str, component: str, class_name: str) -> None:
    names = derive_names(given)
    assert (names.component, names.class_name) == (component, class_name)
    assert names.package == f"ticketlab-{component}"
    assert names.module == f"ticketlab_{component.replace('-', '_')}"


INVALID = ("", " ", "-", "2bit", "a/b", "../a", "wanda++", "mövement", "a\x1bb", "ticketlab", "ticketlab-", "a.b", "a:b")


@pytest.mark.parametrize("given", INVALID)
def test_other_names_are_refused(given: str) -> None:
    with pytest.raises(UsageError, match="is not a name for a plugin: name the method"):
        derive_names(given)


def test_a_name_is_not_too_long() -> None:
    derive_names("a" * 26)
    with pytest.raises(UsageError, match="a name has at most 26 characters, and this one has 27"):
        derive_names("a" * 27)


@pytest.mark.parametrize("given", ["test", "Test Time", "ticketlab-testing"])
def test_names_of_classes_that_pytest_collects_are_refused(given: str) -> None:
    with pytest.raises(UsageError, match=r"pytest takes a class `Test\w*` for tests; choose a name that does not begin with `test`"):
        derive_names(given)


@pytest.mark.parametrize(("given", "word"), [("lambda", "lambda"), ("True", "True"), ("none", "None"), ("ticketlab-global", "global")])
def test_keywords_of_python_are_refused(given: str, word: str) -> None:
    with pytest.raises(UsageError, match=f"`{word}` is a keyword of Python"):
        derive_names(given)
