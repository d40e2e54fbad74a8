"""``--run-seed`` and ``--run-task`` select a ticket, scores or records of a run with several."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fake_lab import fake_run, fake_stage, key

from ticketlab.cli.attack.find_records import record_files
from ticketlab.cli.ticket.find_ticket import scores_file, ticket_file
from ticketlab.core.errors import UsageError


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of two seeds; the draws differ, and the search on text is shared by both."""

    def stages(seed: int) -> dict[str, dict[str, str]]:
        keys = {"search": key("s"), "draw": key(f"d{seed}"), "attack": key(f"a{seed}")}
        return {name: {"kind": name, "key": own} for name, own in keys.items()}

    for seed in (0, 1):
        fake_stage(tmp_path, f"a{seed}", {"records/pwws.jsonl": 5})
    folder = fake_run(tmp_path, "mine", {"sst2": {0: stages(0), 1: stages(1)}})
    (folder / "tickets").mkdir()
    for seed in (0, 1):
        (folder / "tickets" / f"sst2-draw-seed{seed}.safetensors").touch()
    return folder


def test_a_seed_selects_one_of_several(run: Path) -> None:
    lab = run.parent.parent
    assert ticket_file(run, lab, None, 1) == run / "tickets" / "sst2-draw-seed1.safetensors"
    assert ticket_file(run, lab, "sst2", 0) == run / "tickets" / "sst2-draw-seed0.safetensors"
    assert scores_file(run, lab, None, 1) == scores_file(run, lab) == lab / "stages" / key("s")[:2] / key("s") / "scores.safetensors"
    assert [file.parts[-3] for file in record_files(run, lab, None, 1)] == [key("a1")]
    assert len(record_files(run, lab)) == 2


def test_a_run_with_several_tickets_says_how_to_choose(run: Path) -> None:
    with pytest.raises(UsageError, match="a run with 2 tickets; choose one with --run-seed and --run-task, or name it: "):
        ticket_file(run, run.parent.parent)


def test_what_the_run_does_not_have_is_an_error(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"mine: the run has no draw stage of seed 2; available: `sst2, seed 0`, `sst2, seed 1`$"):
        ticket_file(run, run.parent.parent, None, 2)
    with pytest.raises(UsageError, match=r"^--run-seed 1: selects from a run, and \S+ is not a run; remove the option$"):
        ticket_file(tmp_path, run.parent.parent, None, 1)
