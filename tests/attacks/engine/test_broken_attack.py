"""An attack of a plugin: known in spawned processes, and no records of its own faults."""

from __future__ import annotations

import multiprocessing
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.misbehaving_attack import EXAMPLES, NAMES, attack, needs_textattack

from ticketlab.attacks.engine.late_pickle import LatePickle
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.core import registry
from ticketlab.core.errors import PluginError, TicketlabError
from ticketlab.core.settings import build_component

pytestmark = needs_textattack
FILE = Path(__file__).parents[2] / "third_party" / "failing.py"
FAILED = re.escape(f"attack `failing` of {FILE} failed: ValueError: the attack is broken (third_party/failing.py:") + r"\d+, in broken\)"


@pytest.fixture(autouse=True)
def _plugin(own_registry: None) -> Iterator[None]:
    with registry.using(registry.load([FILE], entry_points=False)):
        yield


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spawn worker processes, as on a GPU."""
    spawn = multiprocessing.get_context("spawn")
    monkeypatch.setattr(multiprocessing, "get_context", lambda _=None: spawn)


def failing(word: str) -> Any:
    return build_component("attack", {"name": "failing", "word": word}, "attack")


def test_the_attack_is_unpickled_when_the_plugins_of_a_process_have_been_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    how = failing("nothing")
    pickled = pickle.dumps(LatePickle(how))
    modules = {name: module for name, module in sys.modules.items() if name.startswith("ticketlab_plugin_")}
    for name in modules:
        monkeypatch.delitem(sys.modules, name)
    held: LatePickle[Any] = pickle.loads(pickled)
    with pytest.raises(ModuleNotFoundError, match="ticketlab_plugin_failing"):
        held.value()
    registry.use(registry.load_selection(registry.current().selection))
    assert held.value() == failing("nothing")


@pytest.mark.system
@pytest.mark.usefixtures("spawned")
def test_a_plugin_that_a_spawned_process_cannot_load_is_one_clear_error(victim: Any) -> None:
    how = failing("nothing")
    with registry.using(registry.load(entry_points=False)), pytest.raises(TicketlabError, match="a process of the attack failed: Module"):
        attack(victim, EXAMPLES[:2], how=how, workers=2)


def test_a_process_that_ends_before_its_first_example_is_an_error(victim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ticketlab.attacks.engine.workers.import_textattack", lambda: exec("raise SystemExit(5)"))
    with pytest.raises(TicketlabError, match="a process of the attack ended before its first example: exit code 5"):
        attack(victim, EXAMPLES[:4], workers=2)


@pytest.mark.parametrize("workers", [1, 2])
def test_examples_on_which_a_plugin_fails_have_no_records_and_are_attacked_again(victim: Any, tmp_path: Path, workers: int) -> None:
    count = sum("film" in example.texts[0] for example in EXAMPLES)
    kept = "; the records of the others are kept, and the same command attacks only the rest"
    records = RecordFile(tmp_path / "records.jsonl", "c")
    with pytest.raises(PluginError, match=rf"^{FAILED} on {count} of {len(EXAMPLES)} examples{kept}$"):
        attack(victim, how=failing("film"), records=records, workers=workers)
    again = RecordFile(tmp_path / "records.jsonl", "c")
    assert {record.id for record in again} == {example.id for example in EXAMPLES if "film" not in example.texts[0]}
    assert attack(victim, how=failing("nothing"), records=again) == attack(victim, how=failing("nothing"))


def test_an_attack_that_cannot_be_built_fails_at_once(victim: Any) -> None:
    with pytest.raises(PluginError, match=f"^{FAILED}$"):
        attack(victim, how=failing("always"))
    assert victim.rows == 0


def test_a_traceback_is_printed_once_for_each_error_in_debug_mode(
    victim: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TICKETLAB_DEBUG", "1")
    with pytest.raises(PluginError):
        attack(victim, how=failing("film"))
    assert capsys.readouterr().err.count("Traceback (most recent call last)") == 1


def test_the_most_frequent_error_of_examples_is_told_with_a_count(victim: Any) -> None:
    from ticketlab.attacks.results.caveats import caveats_of
    from ticketlab.tasks.base import Example

    unknown = [Example(f"odd-{number}", ("good film",), 7) for number in range(2)]
    found = attack(victim, [*EXAMPLES[:3], *unknown, Example("split", ("good <SPLIT> film",), 0)])
    assert caveats_of("deepwordbug", found, NAMES)[0] == (
        "3 of 6 examples ended in an error, 2 of them in: ValueError: label 7 is outside the 2 label names; 1 other message in the records"
    )


def test_an_attack_that_builds_nothing_is_one_error_and_no_record(victim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    how = failing("nothing")
    monkeypatch.setattr(type(how), "build", lambda *_: None)
    records = RecordFile(tmp_path / "records.jsonl", "c")
    with pytest.raises(PluginError, match=r"the attack `failing` built NoneType; `build` must return a textattack.Attack"):
        attack(victim, EXAMPLES[:2], how=how, records=records)
