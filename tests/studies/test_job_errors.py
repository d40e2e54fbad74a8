"""Errors of the stages of a study: one line, and the traceback in debug mode."""

import pytest

from ticketlab.core.errors import TicketlabError
from ticketlab.studies.job_errors import message_of


@pytest.mark.parametrize("debug", ["0", "1"])
@pytest.mark.parametrize(
    ("problem", "expected"), [(ValueError("two\nlines"), "ValueError: two lines"), (TicketlabError("it is missing"), "it is missing")]
)
def test_an_error_is_one_line_with_its_traceback_in_debug_mode(problem, expected, debug, monkeypatch, capsys):
    monkeypatch.setenv("TICKETLAB_DEBUG", debug)
    with pytest.raises(type(problem)) as raised:
        raise problem
    assert message_of(raised.value) == expected
    assert capsys.readouterr().err.count("Traceback (most recent call last)") == int(debug)
