from __future__ import annotations

from ticketlab.core.recent import Recent


def test_the_entries_that_were_used_last_are_kept():
    recent: Recent[str, int] = Recent(2)
    recent.use({"a": 1, "b": 2})
    recent.use({"a": 1})
    recent.use({"c": 3})
    assert [recent.get(key) for key in "abc"] == [1, None, 3]
