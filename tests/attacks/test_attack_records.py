from __future__ import annotations

import json

import pytest

from ticketlab.attacks.records import Record, RecordFile, read
from ticketlab.errors import UsageError


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


def test_records_come_back_as_they_were(path):
    header, rows = read(path)
    assert header["config"] == "abc"
    assert header["attack"] == "deepwordbug"
    assert rows == ROWS
    assert list(RecordFile(path, "abc")) == ROWS


def test_records_hold_no_times(path):
    names = json.loads(path.read_bytes().decode("utf-8", "surrogatepass").split("\n")[1]).keys()
    assert not [name for name in names if "second" in name or "time" in name]


@pytest.mark.parametrize("lost", [1, 5, 60])
def test_a_half_written_last_line_is_removed_and_written_again(path, lost):
    whole = path.read_bytes()
    path.write_bytes(whole[:-lost])
    file = RecordFile(path, "abc")
    assert "2" in file
    assert "3" not in file
    file.add(ROWS[3])
    assert path.read_bytes() == whole


@pytest.mark.parametrize("kept", [0, 1, 9, 30])
def test_a_half_written_header_is_written_again(path, kept):
    whole = path.read_bytes()
    path.write_bytes(whole[:kept])
    file = RecordFile(path, "abc", attack="deepwordbug")
    assert len(file) == 0
    assert whole.startswith(path.read_bytes())


def test_records_of_another_configuration_are_refused_and_left_alone(path):
    path.write_bytes(path.read_bytes()[:-3])
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"another configuration \(abc, now xyz\)"):
        RecordFile(path, "xyz")
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"text,label\ngood,1\n", b"no line end", b"[1, 2]\n", b'{"config": "abc"}\n', b"\xff\xfe\x00"])
def test_another_kind_of_file_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="not a file of attack records"):
        RecordFile(path, "abc")
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "line", ["nonsense", '{"id": "9"}', '{"id": "9", "status": "failed", "original": [], "label": "x", "colour": 1}', "3"]
)
def test_a_broken_line_in_the_middle_is_named(path, line):
    lines = path.read_bytes().decode("utf-8", "surrogatepass").split("\n")
    lines[2] = line
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    with pytest.raises(UsageError, match="line 3: not a record"):
        RecordFile(path, "abc")


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        read(tmp_path / "records.jsonl")


def test_without_a_path_records_stay_in_memory():
    file = RecordFile(None, "abc")
    file.add(ROWS[0])
    assert file["0"] == ROWS[0]
    assert len(file) == 1
