"""The progress bar on a terminal."""

from __future__ import annotations

import io

import pytest

from ticketlab.core import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_terminal(monkeypatch):
    """Return a function that a test calls to get a terminal. Before the test, pytest's output capturing would replace it."""

    def begin() -> Terminal:
        made = Terminal()
        for name, value in (("TERM", "xterm"), ("COLUMNS", "200"), ("NO_COLOR", "1")):
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("sys.stderr", made)
        return made

    return begin


def test_the_bar_shows_steps_and_their_note(on_terminal):
    terminal = on_terminal()
    with progress.bar("attack", 5, done=2) as bar:
        bar.advance(note="1 fooled")
    assert "3/5" in terminal.getvalue()
    assert "1 fooled" in terminal.getvalue()


def test_the_count_between_steps_is_shown_relative_to_its_start(on_terminal):
    terminal, queries = on_terminal(), [1000]
    with progress.bar("attack", 5, count=lambda: queries[0], of="queries"):
        queries[0] += 2345
    assert "2,345 queries" in terminal.getvalue()
    assert "0/5" in terminal.getvalue()


def test_nothing_is_counted_without_a_terminal(capsys):
    def count() -> int:
        raise AssertionError("it is not shown")

    with progress.bar("attack", 5, count=count, of="queries") as bar:
        bar.advance()
    assert capsys.readouterr().err == ""


def test_names_cannot_control_the_terminal(on_terminal):
    terminal = on_terminal()
    with progress.bar("[bold]x\x1b[2J", 5) as bar:
        bar.advance(note="y\x07")
    assert r"[bold]x\x1b[2J" in terminal.getvalue()
    assert r"y\x07" in terminal.getvalue()
    progress.warn("label a\nb\x1b[2J")
    assert terminal.getvalue().endswith("warning: label a\\nb\\x1b[2J\n")


def test_details_are_left_out_while_a_block_runs(capsys):
    with progress.without_details():
        progress.detail("of one stage")
        progress.say("of all")
    progress.detail("of one stage")
    assert capsys.readouterr().err == "of all\nof one stage\n"


def test_warnings_and_notices_about_inputs_are_not_repeated_in_a_study(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.warnings_once():
        for _ in range(2):
            progress.say("a stage")
            progress.notice("3 texts were cut off")
            progress.warn("one class")
    progress.notice("3 texts were cut off")
    assert capsys.readouterr().err.splitlines() == [
        *("a stage", "3 texts were cut off", "warning: one class", "a stage", "3 texts were cut off"),
    ]
