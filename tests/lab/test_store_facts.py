"""What `ticketlab doctor` says about a lab at a URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ticketlab.core.errors import TicketlabError
from ticketlab.lab import store_facts
from ticketlab.lab.directory_facts import describe_facts
from ticketlab.lab.open_lab import open_lab
from ticketlab.lab.store import Store


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TICKETLAB_LAB_CACHE", str(tmp_path / "cache"))
    return f"file://{tmp_path}/store"


def test_what_a_store_supports_is_tried_and_nothing_is_left_there(url: str, tmp_path: Path) -> None:
    facts = open_lab(url).facts()
    assert (facts["kind"], facts["file_system"], facts["leases"], facts["atomic_replace"]) == ("store", "file", True, True)
    assert abs(facts["clock_offset_seconds"]) < 1
    assert facts["problems"] == []
    assert [path for path in (tmp_path / "store").rglob("*") if path.is_file()] == []
    assert describe_facts(facts)[0] == f"{url}: file, whether machines share it is unknown"


def refuse(*_: Any) -> None:
    raise TicketlabError("access is refused")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ((Store, "write", refuse), "nothing can be written there (access is refused): results can at most be read"),
        ((Store, "read", lambda self, name: b"old"), "a file that was replaced is still read as before: its store must be consistent"),
        (
            (store_facts, "creates_exclusively", lambda store: False),
            "a file is not created exclusively, so two machines might compute one stage: results can only be read",
        ),
    ],
)
def test_what_a_store_lacks_is_a_problem(change: tuple[Any, str, Any], problem: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*change)
    facts = open_lab(url).facts()
    assert facts["problems"] == [problem]
    assert describe_facts(facts)[-1] == f"problem: {problem}"
