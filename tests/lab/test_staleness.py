"""When a lease is stale: by the observer's own clock, and only if nothing changed while it looked."""

from __future__ import annotations

import pytest

from ticketlab.lab import staleness
from ticketlab.lab.staleness import Observations


def test_a_lease_is_stale_when_one_state_was_seen_for_longer_than_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    observations, now = Observations(), 100.0
    monkeypatch.setattr(staleness.time, "monotonic", lambda: now)

    def look(state: str, seconds: float) -> bool:
        nonlocal now
        now = seconds
        return observations.is_stale("a", state, 60, seconds)

    assert [look("1", 100), look("1", 160), look("1", 161)] == [False, False, True]
    assert [look("2", 162), look("2", 222), look("2", 223)] == [False, False, True]
    observations.forget("a")
    assert not look("2", 400)


def test_time_for_which_the_observer_was_stopped_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    observations = Observations()
    monkeypatch.setattr(staleness.time, "monotonic", lambda: 1000.0)  # it was stopped after it had looked
    assert not observations.is_stale("a", "1", 60, looked=100)
    assert not observations.is_stale("a", "1", 60, looked=1050)
    assert observations.is_stale("a", "1", 60, looked=1061)
