"""Finds out what the store of a lab at a URL supports, by trying it."""

from __future__ import annotations

import os
import time
from typing import Any

from ticketlab.core.errors import TicketlabError
from ticketlab.lab.directory_facts import UNKNOWN
from ticketlab.lab.holder import stale_seconds
from ticketlab.lab.store import Store
from ticketlab.lab.store_lease import LEASES, creates_exclusively


def describe_store(store: Store) -> dict[str, Any]:
    """Return what a store supports, with the keys of :func:`ticketlab.lab.directory_facts.describe_directory`.

    Tries it with files that are removed again.
    """
    facts: dict[str, Any] = {
        **UNKNOWN,
        "place": store.url,
        "kind": "store",
        "file_system": store.protocol,
        "shared": "unknown" if store.is_directory else "no" if store.protocol == "memory" else "yes",
        "stale_seconds": stale_seconds(),
    }
    name = f"{LEASES}/probe-{os.urandom(6).hex()}"
    try:
        begun = time.time()
        store.write(name, b"old")
        ended = time.time()
        modified = next((entry.modified for path, entry in store.entries(LEASES).items() if path == name), 0.0)
        store.write(name, b"new")
        facts["atomic_replace"] = store.read(name) == b"new"
        store.remove([name])
        facts["clock_offset_seconds"] = modified - (begun + ended) / 2 if modified else None
        facts["leases"] = creates_exclusively(store)
    except TicketlabError as problem:
        return {**facts, "read_only": True, "problems": [f"nothing can be written there ({problem}): results can at most be read"]}
    problems = []
    if not facts["leases"]:
        problems.append("a file is not created exclusively, so two machines might compute one stage: results can only be read")
    if not facts["atomic_replace"]:
        problems.append("a file that was replaced is still read as before: its store must be consistent")
    return {**facts, "problems": problems}
