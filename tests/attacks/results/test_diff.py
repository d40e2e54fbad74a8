from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticketlab.attacks.results.diff import DiffSegment, word_diff


def shown(before: str, after: str) -> list[tuple[str, str]]:
    return [(piece.kind, piece.text) for piece in word_diff(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a good film", "a good film", [("same", "a good film")]),
        ("a good film", "a goood film", [("same", "a "), ("removed", "good "), ("added", "goood "), ("same", "film")]),
        ("good film", "very good film", [("added", "very "), ("same", "good film")]),
        ("a very good film", "a good film", [("same", "a "), ("removed", "very "), ("same", "good film")]),
        ("one two", "three four", [("removed", "one "), ("added", "three "), ("removed", "two"), ("added", "four")]),
        ("", "", []),
        ("", "new", [("added", "new")]),
        ("old", "", [("removed", "old")]),
        ("a<br /><br />b", "a<br /><br />c", [("same", "a<br "), ("same", "/><br "), ("removed", "/>b"), ("added", "/>c")]),
        ("[bold]x[/bold]", "[bold]y[/bold]", [("removed", "[bold]x[/bold]"), ("added", "[bold]y[/bold]")]),
    ],
)
def test_words_are_compared(before, after, expected):
    merged = []
    for kind, text in expected:
        merged[-1:] = [(kind, merged[-1][1] + text)] if merged and merged[-1][0] == kind else [*merged[-1:], (kind, text)]
    assert shown(before, after) == merged


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared_and_reconstructed(before, after):
    found = word_diff(before, after)
    assert "".join(piece.text for piece in found if piece.kind != "added") == before
    assert "".join(piece.text for piece in found if piece.kind != "removed").split() == after.split()
    assert all(piece.text for piece in found)


@given(st.lists(st.sampled_from(["a", "b", "<br />", "\u200b", "\U0001f600", "\n\n", "\u0645\u0631"])))
def test_equal_texts_are_one_segment(words):
    text = " ".join(words)
    assert word_diff(text, text) == ([DiffSegment("same", text)] if text else [])


def test_long_texts_are_compared_quickly():
    before = " ".join(f"word{number % 50} the" for number in range(2500))
    started = time.perf_counter()
    word_diff(before, before.replace("word7 the", "word7"))
    assert time.perf_counter() - started < 10
