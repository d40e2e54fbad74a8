"""Labs at URLs: what is in the store, what each machine has of it, and what survives machines, mirrors and stores that fail."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fsspec.registry import known_implementations
from support.small_recipe import without_cost
from support.stores import KEY, OTHER, RESULT, compute, fail, lab_at, machine, names_in

from ticketlab.core import files
from ticketlab.core.errors import Damaged, LeaseLost, ResourceError, TicketlabError, UsageError
from ticketlab.lab import integrity, mirror, stage_copies, store, store_lease
from ticketlab.lab.lab import Lab
from ticketlab.lab.open_lab import lab_folder, open_lab
from ticketlab.lab.store import Store
from ticketlab.lab.stored_lab import StoredLab
from ticketlab.notebook.disk_usage import measure
from ticketlab.notebook.removal import remove_runs, remove_stages, unneeded_stages
from ticketlab.runs.run import run


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"file://{tmp_path}/store/lab" if request.param == "file" else f"memory://{tmp_path.name}/lab"


@pytest.fixture
def here(url: str, tmp_path: Path) -> StoredLab:
    return lab_at(url, tmp_path / "here")


@pytest.fixture
def there(url: str, tmp_path: Path) -> StoredLab:
    return lab_at(url, tmp_path / "there")


def test_a_run_in_a_store_is_that_in_a_directory_and_other_machines_find_it(url: str, make_recipe: Any, tmp_path: Path) -> None:
    recipe = make_recipe("finetune.epochs=0.5", without=("search", "draw", "retrain", "attack", "evaluate"))
    expected = run(recipe, tmp_path / "directory")
    with machine(tmp_path / "here"):
        done = run(recipe, url)
    assert without_cost(done.results) == without_cost(expected.results)
    with machine(tmp_path / "there"):
        lab = lab_folder(url)
        assert files.read_json(lab / "runs" / done.directory.name / "results.json") == done.results
        assert not list(lab.glob("stages/*/*"))
        again = run(recipe, url)
        assert again.results == done.results
        assert not list(lab.glob("stages/*/*/model"))
        assert measure(lab).kinds.keys() >= {"models"}
    assert '"event": "start"' not in (again.directory / "log.jsonl").read_text().rpartition('"event": "store"')[2]
    shutil.rmtree(tmp_path / "here")
    with machine(tmp_path / "here"):
        assert run(recipe, url).results == done.results


def test_the_files_of_a_stage_are_fetched_when_they_are_read(here: StoredLab, there: StoredLab) -> None:
    compute(here)
    assert there.has(KEY)
    assert not there.has(OTHER)
    assert there.result(KEY) == here.result(KEY) == RESULT
    assert there.holds(KEY, "model")
    assert not there.holds(KEY, "mod")
    weights = there.stage(KEY) / "model" / "weights"
    assert not weights.exists()
    integrity.check(weights)
    assert weights.read_text() == "weights"
    assert there.traffic()["bytes_read"] > 0


def test_a_damaged_file_in_the_store_is_refused(here: StoredLab, there: StoredLab) -> None:
    compute(here)
    here.store.write(f"stages/ab/{KEY}/model/weights", b"another")
    assert there.result(KEY) == RESULT
    with pytest.raises(Damaged, match=f"weights is damaged: remove {here.place}/stages/ab/{KEY} and "):
        there.fetch(KEY)
    assert not (there.stage(KEY) / "model" / "weights").exists()


@pytest.mark.parametrize("name", ["../../../../outside.txt", "/outside.txt", "model/../../x", ""])
def test_a_result_in_the_store_names_no_file_outside_of_its_stage(here: StoredLab, there: StoredLab, name: str) -> None:
    compute(here)
    result = json.loads(here.store.read(f"stages/ab/{KEY}/result.json"))
    result["sealed"]["files"][name] = [1, "0" * 64]
    here.store.write(f"stages/ab/{KEY}/result.json", json.dumps(result).encode())
    there.mirror.fetch_result(KEY)
    with pytest.raises(Damaged, match="names a file outside of its folder"):
        there.mirror.fetch_stage(KEY)


def test_a_password_is_not_in_the_name_of_the_mirror() -> None:
    assert "secret" not in mirror.folder_of("sftp://ada:secret@host/lab").name
    assert mirror.folder_of("sftp://ada:secret@host/lab") != mirror.folder_of("sftp://eve:secret@host/lab")


def test_another_machine_resumes_an_interrupted_stage(here: StoredLab, there: StoredLab) -> None:
    def interrupt() -> None:
        with here.lock(KEY, "a stage") as folder:
            (folder / "checkpoint.safetensors").write_text("step 3")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert names_in(here) == ["checkpoint.safetensors"]
    with there.lock(KEY, "a stage") as folder:
        assert (folder / "checkpoint.safetensors").read_text() == "step 3"
        (folder / "model").write_text("weights")
        there.finish(KEY, RESULT)
    assert names_in(here) == ["model", "result.json"]
    (here.stage(KEY) / "checkpoint.safetensors").unlink()
    assert here.result(KEY) == RESULT


def test_a_machine_resumes_its_own_stage_from_what_it_has(here: StoredLab) -> None:
    for step in ("step 3", "step 4"):
        with here.lock(KEY, "a stage") as folder:
            assert (folder / "checkpoint.safetensors").exists() == (step == "step 4")
            (folder / "checkpoint.safetensors").write_text(step)
        here.store.write(f"stages/ab/{KEY}/checkpoint.safetensors", b"an earlier copy")
    with here.lock(KEY, "a stage") as folder:
        assert (folder / "checkpoint.safetensors").read_text() == "step 4"


def test_a_machine_that_died_while_it_fetched_a_copy_fetches_it_again(
    here: StoredLab, there: StoredLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    with here.lock(KEY, "a stage") as folder:
        for name in ("best.safetensors", "checkpoint.safetensors", "scores@2"):
            (folder / name).write_text(name)
    get = Store.get
    fetched: list[str] = []

    def get_two(self: Store, name: str, target: Path) -> bool:
        nonlocal fetched
        if len(fetched) == 2:
            fail()
        fetched += [target.name] if target.name != "result.json" else []
        return get(self, name, target)

    monkeypatch.setattr(Store, "get", get_two)
    with pytest.raises(OSError, match="the network is down"), there.lock(KEY, "a stage"):
        pass
    assert fetched == ["scores@2", "best.safetensors"]
    monkeypatch.setattr(Store, "get", get)
    with there.lock(KEY, "a stage") as folder:
        assert (folder / "checkpoint.safetensors").read_text() == "checkpoint.safetensors"


def test_a_copy_in_progress_does_not_replace_what_a_finished_stage_has_put(
    here: StoredLab, there: StoredLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Store.put
    copying = threading.Event()

    def put_slowly(self: Store, source: Path, name: str) -> None:
        if threading.current_thread().name.startswith("copies "):
            copying.set()
            time.sleep(0.3)
        put(self, source, name)

    monkeypatch.setattr(stage_copies, "COPY_SECONDS", 0.01)
    monkeypatch.setattr(Store, "put", put_slowly)
    with here.lock(KEY, "a stage") as folder:
        files.write_text(folder / "records", "some")
        files.write_text(folder / "checkpoint.safetensors", "step 3")
        assert copying.wait(10)
        files.write_text(folder / "records", "all")
        here.finish(KEY, RESULT)
    assert names_in(here) == ["records", "result.json"]
    there.fetch(KEY)
    assert (there.stage(KEY) / "records").read_text() == "all"


@pytest.mark.parametrize("finished_elsewhere", [False, True])
def test_a_result_that_could_not_be_put_is_kept_and_put_later(
    here: StoredLab, there: StoredLab, finished_elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "WAITS", ())
    with monkeypatch.context() as patch:
        patch.setattr(store.Store, "create", fail_for_results())
        with pytest.raises(TicketlabError, match=r"result.json cannot be accessed \(the network is down\); what is finished is not lost"):
            compute(here, content="weights")
    assert here.result(KEY) is there.result(KEY) is None
    if finished_elsewhere:
        compute_again(there, "others")
    with here.lock(KEY, "a stage"):
        assert here.result(KEY) == RESULT
    here.fetch(KEY)
    expected = "others" if finished_elsewhere else "weights"
    assert (here.stage(KEY) / "model" / "weights").read_text() == expected
    there.fetch(KEY)
    assert (there.stage(KEY) / "model" / "weights").read_text() == expected


def fail_for_results() -> Any:
    """Return a method that creates files in a store except results."""
    create = store.Store.create

    def create_other_files(self: store.Store, name: str, content: bytes) -> bool:
        if name.endswith("result.json"):
            self._call(name, fail)
        return create(self, name, content)

    return create_other_files


def compute_again(lab: StoredLab, content: str) -> None:
    with lab.lock(KEY, "a stage") as folder:
        (folder / "model" / "weights").write_text(content)
        lab.finish(KEY, RESULT)


def test_a_store_that_fails_for_a_while_is_asked_again(here: StoredLab, there: StoredLab, monkeypatch: pytest.MonkeyPatch) -> None:
    compute(here)
    failures = iter([True, True, False, True, False])
    fs = type(here.store.fs)
    cat = fs.cat_file

    def sometimes(self: Any, *arguments: Any, **more: Any) -> Any:
        if next(failures, False):
            raise TimeoutError("no answer")
        return cat(self, *arguments, **more)

    monkeypatch.setattr(store, "WAITS", (0.01, 0.01))
    monkeypatch.setattr(fs, "cat_file", sometimes)
    assert here.store.read(f"stages/ab/{KEY}/model/weights") == b"weights"
    monkeypatch.setattr(fs, "cat_file", fail)
    with pytest.raises(TicketlabError, match=r"cannot be accessed \(the network is down\)"):
        here.store.read(f"stages/ab/{KEY}/model/weights")
    del there


def test_a_process_that_lost_its_lease_puts_nothing(here: StoredLab, there: StoredLab) -> None:
    with here.lock(KEY, "a stage") as folder:
        (folder / "model").write_text("weights")
        here.store.write(f"leases/stages/ab/{KEY}/00000002", b"{}")  # another process has found the lease free
        with pytest.raises(LeaseLost, match="a stage: this process was stopped, or could not reach"):
            here.finish(KEY, RESULT)
    assert there.result(KEY) is None
    assert names_in(here) == []
    assert sorted(here.store.entries("leases")) == [f"leases/stages/ab/{KEY}/0000000{number}" for number in (1, 2)]


@pytest.mark.parametrize("content", [b"theirs", None])
def test_a_process_that_was_stopped_after_its_last_check_replaces_no_result(
    here: StoredLab, there: StoredLab, content: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Store.create
    name = f"stages/ab/{KEY}/result.json"

    def create_after_another(self: Store, path: str, own: bytes) -> bool:
        if path == name:
            self.write(path, content or own)
        return create(self, path, own)

    monkeypatch.setattr(Store, "create", create_after_another)
    with pytest.raises(LeaseLost, match="another process took over") if content else contextlib.nullcontext():
        compute(here)
    if content:
        assert here.store.read(name) == content
    else:
        assert there.result(KEY) == RESULT


def test_a_stage_that_lacked_a_checkpoint_is_replaced_by_its_holder_and_never_half(
    here: StoredLab, there: StoredLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute(here)
    put = Store.put
    seen: list[list[str]] = []

    def look_and_put(self: Store, source: Path, name: str) -> None:
        seen.append([other for other in names_in(here) if other == "result.json"])
        put(self, source, name)

    monkeypatch.setattr(Store, "put", look_and_put)
    compute_again(here, "with a checkpoint")
    assert seen == [[]]
    there.fetch(KEY)
    assert (there.stage(KEY) / "model" / "weights").read_text() == "with a checkpoint"


def test_a_stage_that_another_machine_removed_meanwhile_is_not_finished(here: StoredLab, there: StoredLab) -> None:
    compute(here)
    assert there.has(KEY)
    assert there.result(KEY) == RESULT
    here.remove(here.stage(KEY))
    assert there.has(KEY)
    with pytest.raises(TicketlabError, match=f"{KEY} was removed by another machine: run the same command again"):
        there.fetch(KEY)
    assert there.result(KEY) is None
    there.look_again()
    assert not there.has(KEY)


def test_a_listing_finds_that_a_stage_was_removed(here: StoredLab, there: StoredLab) -> None:
    compute(here)
    compute(here, OTHER)
    assert there.result(KEY) == there.result(OTHER) == RESULT
    here.remove(here.stage(KEY))
    there.look_again()
    assert (there.has(KEY), there.has(OTHER)) == (False, True)
    assert there.result(KEY) is None
    with there.lock(KEY, "a stage") as folder:
        assert not (folder / "result.json").exists()


def test_processes_that_make_a_mirror_at_a_time_agree_on_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(mirror.CACHE, str(tmp_path / "mirrors"))
    url = f"file://{tmp_path}/lab"
    names: list[str] = []
    second = threading.Thread(target=lambda: names.append(mirror.make_mirror(url).name))
    write_json = files.write_json

    def start_another_first(path: Path, value: Any) -> None:
        if threading.current_thread() is not second:
            second.start()
            second.join(0.2)
        write_json(path, value)

    monkeypatch.setattr(files, "write_json", start_another_first)
    names.append(mirror.make_mirror(url).name)
    second.join()
    assert names[0] == names[1]
    assert [path.name for path in mirror.folder_of(url).iterdir()] == [mirror.MARKER]


def test_what_one_machine_removes_is_removed_on_all(url: str, make_recipe: Any, tmp_path: Path) -> None:
    recipe = make_recipe("finetune.epochs=0.1", without=("search", "draw", "retrain", "attack", "evaluate"))
    with machine(tmp_path / "here"):
        done = run(recipe, url)
    with machine(tmp_path / "there"):
        lab = lab_folder(url)
        assert unneeded_stages(lab) == []
        remove_runs([lab / "runs" / done.directory.name])
        (unneeded,) = unneeded_stages(lab)
        assert unneeded.bytes > 10_000
        assert [stage.key for stage in remove_stages(lab, [unneeded.key])] == [unneeded.key]
    with machine(tmp_path / "here"):
        lab = open_lab(lab_folder(url))
        assert not list((lab.root / "runs").glob("*"))
        assert names_in(lab) == names_in(lab, "runs") == []
        assert StoredLab(lab.root, mirror=lab.mirror).result(unneeded.key) is None
        assert not (lab.stage(unneeded.key) / "result.json").exists()


def test_a_study_written_on_two_machines_has_what_both_wrote(here: StoredLab, there: StoredLab) -> None:
    for lab, name in ((here, "one"), (there, "two")):
        folder = lab.root / "studies" / "s"
        with lab.updating(folder, without=["log.jsonl"]):
            found = files.read_json(folder / "study.json") if (folder / "study.json").exists() else []
            files.write_json(folder / "study.json", [*found, name])
            (folder / "log.jsonl").write_text("")
    here.pull()
    assert files.read_json(here.root / "studies" / "s" / "study.json") == ["one", "two"]
    assert names_in(here, "studies") == ["study.json"]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("s4://bucket/lab", r"--lab s4://bucket/lab: .*s4"),
        ("s3://", "the URL of a lab names a folder, such as s3://bucket/lab"),
        ("missing://bucket/lab", 'the protocol `missing` needs a package: `pip install "missing-fs"`'),
    ],
)
def test_a_url_that_cannot_be_opened_is_refused(place: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(store.PACKAGES, "missing", "missing-fs")
    monkeypatch.setitem(known_implementations, "missing", {"class": "missing_fs.FileSystem", "err": "install it"})
    with machine(tmp_path), pytest.raises(UsageError, match=message):
        open_lab(place)
    assert not os.listdir(tmp_path)  # noqa: PTH208


def test_a_store_without_exclusive_creation_is_refused_before_anything_is_computed(
    here: StoredLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_lease, "_exclusive", {here.store: False})
    with pytest.raises(ResourceError, match="does not create a file exclusively"), here.lock(KEY, "a stage"):
        pass


def test_the_mirror_of_a_lab_is_opened_as_the_lab_at_its_url(here: StoredLab, url: str) -> None:
    assert open_lab(here.root) is here
    assert (here.place, open_lab(here.root.parent).place) == (url, str(here.root.parent))
    assert type(open_lab(here.root.parent)) is Lab
