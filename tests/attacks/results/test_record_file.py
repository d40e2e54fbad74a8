from __future__ import annotations

import json
import os
import random

import pytest

from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.results import record_header
from ticketlab.attacks.results.record import Record
from ticketlab.attacks.results.record_file import RecordFile, first_of_each, is_records, message_of, read, statuses
from ticketlab.core.errors import UsageError
from ticketlab.resources.resources import Resources
from ticketlab.tasks.demo.reviews import DemoTask


def record(number: int, **changes) -> Record:
    return Record(
        **{"id": str(number), "status": "failed", "original": ["ein “Film”\n<b>\u2028\U0001f600"], "label": "positive", **changes}
    )


ROWS = [
    record(0, queries=3, confidence_before=0.1 + 0.2),
    record(1, status="error", message="ValueError: x"),
    record(2, original=["premise", "hypothesis"], perturbed=["premise", "changed"], words_changed=1, words_total=2, truncated=True),
    record(3, original=["lone surrogate \ud800"]),
]


@pytest.fixture
def path(tmp_path):
    file = RecordFile(tmp_path / "deep" / "records.jsonl", "abc", attack="deepwordbug")
    for row in ROWS:
        file.add(row)
    return file.path


def test_records_are_read_back_unchanged(path):
    header, rows = read(path)
    assert header["config"] == "abc"
    assert header["attack"] == "deepwordbug"
    assert rows == ROWS
    assert list(RecordFile(path, "abc")) == ROWS


def test_records_hold_no_times(path):
    names = json.loads(path.read_bytes().split(b"\n")[1]).keys()
    assert not [name for name in names if "second" in name or "time" in name]


@pytest.mark.parametrize("lost", [1, 5, 60])
def test_a_partial_last_line_is_removed_and_rewritten(path, lost):
    whole = path.read_bytes()
    path.write_bytes(whole[:-lost])
    file = RecordFile(path, "abc")
    assert "2" in file
    assert "3" not in file
    file.add(ROWS[3])
    assert path.read_bytes() == whole


@pytest.mark.parametrize("kept", [0, 1, 9, 30])
def test_a_partial_header_is_rewritten(path, kept):
    whole = path.read_bytes()
    path.write_bytes(whole[:kept])
    file = RecordFile(path, "abc", attack="deepwordbug")
    assert len(file) == 0
    assert whole.startswith(path.read_bytes())


def test_records_of_another_configuration_are_refused_and_not_changed(path):
    path.write_bytes(path.read_bytes()[:-3])
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"another configuration \(abc, now xyz\)"):
        RecordFile(path, "xyz")
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"text,label\ngood,1\n", b"no line end", b"[1, 2]\n", b'{"config": "abc"}\n', b"\xff\xfe\x00"])
def test_another_kind_of_file_is_refused_and_not_changed(tmp_path, content):
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="not a file of attack records"):
        RecordFile(path, "abc")
    assert path.read_bytes() == content


GOOD = '{"id": "9", "status": "failed", "original": ["a"], "label": "x"}'


IMPOSSIBLE = [
    *((name, value) for name in ("queries", "words_total", "words_unseen", "words_tried") for value in (-5, 1.5, "true", "NaN")),
    *(
        (name, value)
        for name in ("confidence_before", "confidence_after", "similarity")
        for value in (-1.5, 1.1, "NaN", "Infinity", "1e999")
    ),
    ("words_changed", 1),
    ("words_total", '3, "words_changed": 4'),
    ("words_total", '3, "words_unseen": 4'),
    ("words_total", '3, "words_tried": 4'),
    ("words_total", '3, "words_tried": 3, "words_replaceable": 4'),
    ("words_total", '3, "words_tried": 3, "words_replaceable": 2, "words_allowed": 3'),
    ("words_total", '3, "words_replaceable": 3'),
]


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"",
        b"3",
        b'{"id": "9"}',
        GOOD.replace("}", ', "colour": 1}').encode(),
        GOOD.replace("failed", "held").encode(),
        GOOD.replace('"9"', "9").encode(),
        GOOD.replace('["a"]', '"a"').encode(),
        GOOD.replace('["a"]', "[1]").encode(),
        GOOD.replace('["a"]', "null").encode(),
        GOOD.replace("}", ', "queries": "3"}').encode(),
        GOOD.replace("}", ', "confidence_before": "high"}').encode(),
        *(GOOD.replace("}", f', "{name}": {value}}}').encode() for name, value in IMPOSSIBLE),
        GOOD.replace("failed", "success").encode(),
        GOOD.encode()[:20] + b"\x00\x00\xff" + GOOD.encode()[20:],
        GOOD.encode()[:30] + GOOD.encode(),
        b"[" * 100_000,
    ],
    ids=lambda line: line[:70].decode("ascii", "replace"),
)
@pytest.mark.parametrize("opened", [lambda path: RecordFile(path, "abc"), read], ids=["to go on", "to read"])
def test_a_damaged_line_is_named_and_the_file_not_changed(path, line, opened):
    lines = path.read_bytes().split(b"\n")
    lines[2] = line
    path.write_bytes(b"\n".join(lines))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="line 3: damaged, not a record") as problem:
        opened(path)
    assert "\n" not in str(problem.value)
    assert len(str(problem.value)) < 400
    assert path.read_bytes() == before


def test_an_invalid_value_is_named(path):
    content = path.read_bytes().replace(b'"queries": 3', b'"queries": -5')
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"line 2: damaged.*`queries` must be a whole number, 0 or more, not -5.*; delete the line"):
        read(path)


def test_records_of_the_first_version_are_read_with_unknown_counts(path):
    words = [f'"words_{name}"' for name in ("unseen", "tried", "replaceable", "allowed")]
    lines = path.read_text(encoding="utf-8").replace("ticketlab-attack-records/2", "ticketlab-attack-records/1").split("\n")
    old = [
        line if number == 0 else ", ".join(part for part in line.split(", ") if part.split(":")[0] not in words)
        for number, line in enumerate(lines)
    ]
    path.write_text("\n".join(old), encoding="utf-8")
    assert "words_tried" not in path.read_text(encoding="utf-8")
    assert read(path)[1] == ROWS
    assert list(RecordFile(path, "abc")) == ROWS
    assert {row.words_tried for row in ROWS} == {None}


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        read(tmp_path / "records.jsonl")


def test_without_a_path_records_stay_in_memory():
    file = RecordFile(None, "abc")
    file.add(ROWS[0])
    assert file["0"] == ROWS[0]
    assert len(file) == 1


def test_a_file_is_utf_8_whatever_the_texts_are(path):
    path.read_bytes().decode()  # the lone surrogate is escaped
    assert read(path)[1][3].original == ("lone surrogate \ud800",)


def test_files_do_not_depend_on_the_order_of_work(tmp_path):
    order = [row.id for row in ROWS]
    contents = set()
    for number in range(6):
        file = RecordFile(tmp_path / f"{number}.jsonl", "abc", attack="deepwordbug")
        for row in random.Random(number).sample(ROWS, len(ROWS)):
            file.add(row)
        file.finish(order)
        assert list(file) == ROWS
        assert read(file.path)[1] == ROWS
        contents.add(file.path.read_bytes())
    assert len(contents) == 1


@pytest.mark.system
def test_a_finished_file_after_kills_equals_that_of_an_undisturbed_run(path):
    RecordFile(path, "abc").finish([row.id for row in ROWS])
    whole = path.read_bytes()
    for kept in range(1, len(whole), 7):
        path.write_bytes(whole[:kept])
        file = RecordFile(path, "abc", attack="deepwordbug")
        for row in reversed(ROWS):
            if row.id not in file:
                file.add(row)
        file.finish([row.id for row in ROWS])
        assert path.read_bytes() == whole, kept


def test_finishing_requires_every_record_and_keeps_all(path):
    before = path.read_bytes()
    with pytest.raises(KeyError):
        RecordFile(path, "abc").finish(["0", "7"])
    assert path.read_bytes() == before
    RecordFile(path, "abc").finish(["3", "1"])
    assert [row.id for row in read(path)[1]] == ["3", "1", "0", "2"]


def test_finishing_twice_writes_once(path):
    order = [row.id for row in reversed(ROWS)]
    RecordFile(path, "abc").finish(order)
    first = path.stat().st_ino
    RecordFile(path, "abc").finish(order)
    assert path.stat().st_ino == first
    RecordFile(None, "abc").finish([])


def test_a_failure_while_finishing_does_not_change_the_file(path, monkeypatch):
    before = path.read_bytes()

    def fail(_):
        raise OSError("the device is gone")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="the device is gone"):
        RecordFile(path, "abc").finish([row.id for row in reversed(ROWS)])
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_confidence_that_is_not_finite_is_null():
    assert json.loads(record(4, confidence_before=float("nan")).to_json())["confidence_before"] is None


def test_error_messages_are_the_same_in_every_process():
    class Odd:
        pass

    message = message_of(ValueError(f"line\n  of {Odd()!r}"))
    assert message == f"ValueError: line of <{__name__}.{Odd.__qualname__} object at 0x...>"
    assert len(message_of(ValueError("x" * 9000))) == 500
    assert message_of(ValueError("label 0x1f")) == "ValueError: label 0x1f"


def test_files_of_records_are_recognised(path, tmp_path):
    assert is_records(path)
    (tmp_path / "other.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    assert not is_records(tmp_path / "other.jsonl")


def test_the_header_describes_the_attack():
    data = DemoTask(rows=48, dev_rows=12, test_rows=24).load()
    where = {"split": "train", "size": 8, "seed": 3}
    facts = record_header.facts(
        DeepWordBug(query_budget=9), Resources(), data, model="finetune", **where, max_length=64, precision="fp32", timeout=2.0
    )
    assert facts["attack"] == "deepwordbug"
    assert facts["settings"] == {"query_budget": 9, "max_edit_distance": 30}
    assert facts["resources"] == {}
    assert (facts["model"], facts["max_length"], facts["precision"], facts["timeout"]) == ("finetune", 64, "fp32", 2.0)
    assert (facts["task"], facts["columns"], facts["labels"]) == (data.name, list(data.columns), list(data.label_names))
    assert facts["sample"] == where
    assert "textattack" in facts


def test_the_last_record_of_a_repeated_example_counts(tmp_path):
    path = tmp_path / "records.jsonl"
    file = RecordFile(path, "c")
    for status in ("failed", "success"):
        file._append(Record(id="1", status=status, original=["x"], perturbed=["y"], label="a").to_json())
    assert [record.status for record in read(path)[1]] == ["success"]


def test_statuses_are_those_of_the_records(path):
    odd = record(4, id='a "quoted" \\ \n\u2028 ü', status="skipped")
    file = RecordFile(path, "abc")
    file.add(odd)
    assert statuses(path) == {row.id: row.status for row in [*ROWS, odd]} == {row.id: row.status for row in read(path)[1]}


def test_the_first_records_of_each_status_are_whole(path):
    header, rows = first_of_each(path, {"error": 1, "failed": 2, "success": 3})
    assert header["attack"] == "deepwordbug"
    assert rows == [ROWS[1], ROWS[0], ROWS[2]]


@pytest.mark.parametrize("reader", [statuses, lambda path: first_of_each(path, {"failed": 1})], ids=["statuses", "first_of_each"])
def test_a_line_that_is_not_a_record_is_refused(path, reader):
    path.write_text(path.read_text().replace('"status": "error"', '"state": "error"'))
    with pytest.raises(UsageError, match="damaged"):
        reader(path)
