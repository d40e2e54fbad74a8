"""Parquet and arrow files: conversion of types, metadata, and damaged files."""

from __future__ import annotations

import datetime
import decimal
import json

import pyarrow
import pytest
from pyarrow import feather, parquet

from ticketlab.core.errors import DataError
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.reading.tables import read_table

TEXTS = ["a", "b", "c", "d"]


def put(tmp_path, columns, metadata=None):
    table = pyarrow.table(columns)
    parquet.write_table(
        table.replace_schema_metadata({b"huggingface": metadata}) if metadata is not None else table, tmp_path / "a.parquet"
    )
    return [tmp_path / "a.parquet"]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pyarrow.array([b"x", "ü".encode(), None, b"x"]), ["x", "ü", None, "x"]),
        (pyarrow.array([b"x", b"y", None, b"x"], pyarrow.large_binary()), ["x", "y", None, "x"]),
        (pyarrow.array(["x", "y", None, "x"]).dictionary_encode(), ["x", "y", None, "x"]),
        (pyarrow.array([b"x", b"y", None, b"x"]).dictionary_encode(), ["x", "y", None, "x"]),
        (pyarrow.array([decimal.Decimal("1.00"), decimal.Decimal("2.50"), None, decimal.Decimal("1.00")]), [1, 2.5, None, 1]),
        (pyarrow.array([datetime.date(2020, 1, 2)] * 3 + [None]), ["2020-01-02"] * 3 + [None]),
        (pyarrow.array([1, None], pyarrow.timestamp("ns")), ["1970-01-01 00:00:00.000000001", None]),
        (pyarrow.array([1, 2, None, 3], pyarrow.duration("s")), ["1", "2", None, "3"]),
        (pyarrow.array([0.5, 1.0, None, 2.0], pyarrow.float16()), [0.5, 1.0, None, 2.0]),
        (pyarrow.array([2**64 - 1, 1, None, 3], pyarrow.uint64()), [2**64 - 1, 1, None, 3]),
        (pyarrow.array([{"en": "x"}, None, None, None]), [{"en": "x"}, None, None, None]),
        (pyarrow.nulls(4), [None] * 4),
    ],
    ids=["bytes", "many bytes", "categories", "byte categories", "decimals", "dates", "nanos", "durations", "halves", "big", "structs",
         "nulls"],
)  # fmt: skip
def test_values_are_converted_to_types_of_json(tmp_path, column, values):
    assert [row["x"] for row in read_table(put(tmp_path, {"x": column})).rows] == values


def test_bytes_that_are_not_text_are_rejected_as_texts(tmp_path):
    image = [bytes([200, n]) for n in range(4)]
    put(tmp_path, {"text": TEXTS, "image": image, "label": ["x", "y"] * 2})
    assert LocalDataset(path=str(tmp_path / "a.parquet")).load_challenge().columns == ("text",)
    put(tmp_path, {"text": image, "label": ["x", "y"] * 2})
    with pytest.raises(DataError, match="row 1: a text must be a string, not bytes"):
        LocalDataset(path=str(tmp_path / "a.parquet")).load_challenge()


@pytest.mark.parametrize(
    "metadata",
    [b"{", b"\xff", b"[]", b"[" * 100_000, b'{"info": 3}', b'{"info": {"features": {"label": {"names": 5}}}}',
     b'{"info": {"features": {"label": {"names": [1, 2]}}}}'],
    ids=["not json", "not text", "a list", "deep", "a number", "names are a number", "names are numbers"],
)  # fmt: skip
def test_damaged_metadata_is_ignored_with_a_notice(tmp_path, metadata):
    table = read_table(put(tmp_path, {"text": TEXTS, "label": [0, 1, 0, 1]}, metadata))
    assert [row["label"] for row in table.rows] == [0, 1, 0, 1]
    assert ["metadata of the datasets library is damaged: its label names are not used" in notice for notice in table.notices] == [True]


def test_a_label_number_without_a_name_is_rejected(tmp_path):
    metadata = json.dumps({"info": {"features": {"label": {"names": ["no", "yes"], "_type": "ClassLabel"}}}}).encode()
    assert [row["label"] for row in read_table(put(tmp_path, {"text": TEXTS, "label": [0, 1, -1, None]}, metadata)).rows] == [
        "no",
        "yes",
        -1,
        None,
    ]
    with pytest.raises(DataError, match=r"a\.parquet row 3: `label` is 2, but the file has 2 label names"):
        read_table(put(tmp_path, {"text": TEXTS, "label": [0, 1, 2, 1]}, metadata))


def test_an_index_with_repeated_values_is_ignored(tmp_path):
    table = read_table(put(tmp_path, {"text": TEXTS, "__index_level_0__": [0, 1, 0, 1]}))
    assert (table.columns, len(table.notices)) == (("text",), 1)
    assert read_table(put(tmp_path, {"text": TEXTS, "__index_level_0__": [0, 1, 2, 3]})).columns == ("text", "__index_level_0__")


def test_feather_and_both_arrow_formats_are_read(tmp_path):
    table = pyarrow.table({"text": TEXTS, "label": [0, 1, 0, 1]})
    feather.write_feather(table, tmp_path / "a.feather")
    for name, opened in (("file.arrow", pyarrow.ipc.new_file), ("stream.arrow", pyarrow.ipc.new_stream)):
        with opened(tmp_path / name, table.schema) as writer:
            writer.write_table(table)
    for name in ("a.feather", "file.arrow", "stream.arrow"):
        assert list(read_table([tmp_path / name]).rows) == table.to_pylist()


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
def test_a_truncated_file_is_reported_in_one_line(tmp_path, name):
    table = pyarrow.table({"text": TEXTS * 500, "label": [0, 1] * 1000})
    {"a.parquet": parquet.write_table, "a.arrow": feather.write_feather, "a.feather": feather.write_feather}[name](table, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    for size in (0, 3, 8, len(content) // 2, len(content) - 1):
        (tmp_path / name).write_bytes(content[:size])
        with pytest.raises(DataError, match=f"{name}: not an? (parquet|arrow) file") as caught:
            read_table([tmp_path / name])
        assert "\n" not in str(caught.value)


def test_a_file_without_rows_and_a_column_without_values(tmp_path):
    with pytest.raises(DataError, match="there are no rows below the column names"):
        read_table(put(tmp_path, {"text": pyarrow.array([], pyarrow.string())}))
    put(tmp_path, {"text": pyarrow.nulls(4), "label": [0, 1, 0, 1]})
    with pytest.raises(DataError, match="4 missing text"):
        LocalDataset(path=str(tmp_path / "a.parquet")).load()
