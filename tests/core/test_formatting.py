from __future__ import annotations

import pytest

from ticketlab.core.errors import did_you_mean
from ticketlab.core.formatting import counted, printable


@pytest.mark.parametrize(
    ("number", "words", "expected"),
    [
        (0, ("example",), "0 examples"),
        (1, ("example",), "1 example"),
        (2, ("example",), "2 examples"),
        (1, ("example was", "examples were"), "1 example was"),
        (3, ("example was", "examples were"), "3 examples were"),
    ],
)
def test_a_noun_agrees_with_its_number(number, words, expected):
    assert counted(number, *words) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("eine Größe, 文字, 🎫", "eine Größe, 文字, 🎫", id="any script"),
        pytest.param("a\x1b[31mb\x07", r"a\x1b[31mb\x07", id="colours and bells"),
        pytest.param("a\x9b31m", r"a\x9b31m", id="8-bit controls"),
        pytest.param("pos\u202esop", r"pos\u202esop", id="turned around"),
        pytest.param("one\ntwo\tthree\r", r"one\ntwo\tthree\r", id="line breaks"),
        pytest.param("\ud800", r"\ud800", id="half of a pair"),
        pytest.param("go\u200dod", r"go\u200dod", id="a joiner that joins nothing"),
        pytest.param("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", id="Persian"),
        pytest.param(5, "5", id="a number"),
    ],
)
def test_external_text_cannot_control_the_terminal(text, expected):
    assert printable(text) == expected


def test_line_breaks_are_kept_with_lines():
    assert printable("one\ntw\x1bo", lines=True) == "one\ntw\\x1bo"


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("epochs", ["csv", "task"], "; available: `csv`, `task`"),
        ("--Sparcity", ["--sparsity", "--stop"], "; did you mean `--sparsity`?"),
        ("hard", ["hard-concrete", "magnitude"], "; did you mean `hard-concrete`?"),
        ("ma", ["magnitude", "random"], "; available: `magnitude`, `random`"),
        ("x" * 1_000_000, ["magnitude"], "; available: `magnitude`"),
        ("x", [f"name{number:03}" for number in range(50)], "`name039` and 10 more"),
        ("x", [], ""),
    ],
    ids=["far", "case and dashes", "a beginning", "too short", "long", "many", "none"],
)
def test_only_a_similar_name_is_suggested(name, known, expected):
    assert did_you_mean(name, known).endswith(expected)
