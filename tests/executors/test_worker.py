"""Errors of the stages of a study: one line, and the traceback in debug mode."""

import pytest

from ticketlab.core.errors import LeaseLost, TicketlabError
from ticketlab.core.plugin_selection import PluginSelection
from ticketlab.executors.base import Outcome, Session, Work
from ticketlab.executors.worker import Worker, call, message_of, place


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


def lose(arguments, worker):
    raise LeaseLost("another process took it over")


def test_work_whose_lease_was_lost_may_be_started_again(tmp_path):
    worker = Worker(Session(str(tmp_path), tmp_path / "log.jsonl", 1, 1, PluginSelection()), print)
    outcome = call(Work("key", "title", f"{__name__}:lose", {}), worker)
    assert outcome == Outcome("key", error="another process took it over", lost=True, place=place())
