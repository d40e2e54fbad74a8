"""Leases in stores: one holder at a time, free again when it is released, has died or is stale."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import attrs
import pytest
from support.stores import lab_at

from ticketlab.core.errors import LeaseLost
from ticketlab.lab import store_lease
from ticketlab.lab.holder import SECONDS, Holder
from ticketlab.lab.lease_wait import Waits
from ticketlab.lab.store import Store


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    url = f"file://{tmp_path}/store/lab" if request.param == "file" else f"memory://{tmp_path.name}/lab"
    return lab_at(url, tmp_path / "mirrors").store


def held_elsewhere(store: Store, number: int = 1, **more: object) -> None:
    """Write the lease of a process of another machine."""
    holder = attrs.evolve(Holder.here({"of": "another"}), machine="another", host="far", **more)
    store.write(f"leases/a/{number:08}", store_lease._content(holder, 0))


def test_a_lease_has_one_holder_until_it_is_released(store: Store) -> None:
    held = store_lease.try_acquire(store, "a", {"of": "first"})
    assert held is not None
    assert store_lease.try_acquire(store, "a", {}) is None
    found = store_lease.held_by(store, "a")
    assert found is not None
    assert found.about == {"of": "first"}
    held.release()
    assert store_lease.held_by(store, "a") is None
    again = store_lease.try_acquire(store, "a", {})
    assert again is not None
    assert (again.number, again.before) == (2, {"of": "first"})
    assert sorted(store.entries("leases")) == ["leases/a/00000002"]
    again.release(forget=True)
    assert store.entries("leases") == {}


def test_many_threads_hold_a_lease_one_after_the_other(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_lease, "WAITS", Waits(first=0.01, longest=5.0))
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        held = store_lease.acquire(store, "a", {})
        assert held is not None
        inside.append(number)
        most.append(len(inside))
        time.sleep(0.01)
        inside.remove(number)
        held.release()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 8


def test_the_lease_of_another_machine_is_free_when_it_has_not_changed_for_its_stale_time(store: Store) -> None:
    held_elsewhere(store, stale=0.3)
    seen: list[str] = []
    started = time.monotonic()
    held = store_lease.acquire(store, "a", {}, waiting=lambda holder: seen.append(holder.host))
    assert held is not None
    assert time.monotonic() - started > 0.3
    assert (held.number, seen, held.before) == (2, ["far"], {"of": "another"})
    held.release()


def test_a_lease_that_is_renewed_stays_held(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECONDS, "0.6")
    held = store_lease.try_acquire(store, "a", {})
    assert held is not None
    contents = set()
    for _ in range(8):
        assert store_lease.held_by(store, "a") is not None
        contents.add(store.read("leases/a/00000001"))
        time.sleep(0.15)
    assert len(contents) > 3
    held.check()
    held.release()


def test_the_lease_of_a_process_of_this_machine_is_free_when_it_has_ended(store: Store) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    store.write("leases/a/00000001", store_lease._content(attrs.evolve(Holder.here({}), pid=ended.pid, started="before"), 0))
    assert store_lease.held_by(store, "a") is None


def test_a_process_that_finds_a_later_lease_has_lost_its_own(store: Store) -> None:
    held = store_lease.try_acquire(store, "a", {}, title="a stage")
    assert held is not None
    held_elsewhere(store, 2)
    with pytest.raises(LeaseLost, match="a stage: this process was stopped"):
        held.check()
    held.release()
    assert store_lease.held_by(store, "a") is not None


def test_a_number_that_others_have_used_and_removed_is_not_used_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    create = Store.create

    def create_late(self: Store, name: str, content: bytes) -> bool:
        monkeypatch.setattr(Store, "create", create)
        for _ in range(2):
            other = store_lease.try_acquire(store, "a", {"of": "others"})
            assert other is not None
            other.release()
        held_elsewhere(store, 3)
        store.remove([f"leases/a/0000000{number}" for number in (1, 2)])
        return create(self, name, content)

    store_lease.check_exclusive(store)
    monkeypatch.setattr(Store, "create", create_late)
    assert store_lease.try_acquire(store, "a", {}) is None
    assert sorted(store.entries("leases")) == ["leases/a/00000003"]


def test_registrations_of_machines_that_died_long_ago_have_no_holder(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    held = store_lease.try_acquire(store, "active/one", {"run": "r"})
    assert held is not None
    store.write("leases/active/two/00000001", store_lease._content(attrs.evolve(Holder.here({}), machine="another", stale=0.01), 0))
    store.write("leases/active/three/00000001", store_lease._content(attrs.evolve(Holder.here({}), machine="another"), 0))
    time.sleep(0.2)
    assert set(store_lease.holders_in(store, "active")) == {"active/one", "active/three"}
    held.release()
