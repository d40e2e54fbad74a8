"""How a task of Ray sends messages, with a journal of this process in place of a cluster."""

import sys
from types import SimpleNamespace

import pytest

from ticketlab.executors.base import Message
from ticketlab.executors.messages import SHOWN
from ticketlab.executors.ray_node import _Sender


@pytest.fixture
def journal(monkeypatch):
    """A fake journal: `sent` has the kinds of all messages, and `arrived` those that the sender has waited for."""
    found = SimpleNamespace(sent=[], arrived=[])
    found.add = SimpleNamespace(remote=lambda table: found.sent.append(table["kind"]) or len(found.sent))
    ray = SimpleNamespace(get=lambda call: found.arrived.extend(found.sent[len(found.arrived) : call]), exceptions=SimpleNamespace())
    ray.exceptions.RayError = ConnectionError
    monkeypatch.setitem(sys.modules, "ray", ray)
    return found


def test_a_message_that_a_driver_decides_by_has_arrived_with_all_before_it_when_it_is_sent(journal):
    send = _Sender(journal)
    for kind in sorted(SHOWN):
        send(Message("key", "place", kind, None))
    assert journal.arrived == []
    send(Message("key", "place", "a kind of the function", None))
    assert journal.arrived == [*sorted(SHOWN), "a kind of the function"]
