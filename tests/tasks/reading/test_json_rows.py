"""JSON files in the formats that occur in practice."""

from __future__ import annotations

import json

import pytest

from ticketlab.core.errors import DataError
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.reading.tables import read_table

ROWS = [{"text": f"text {n}", "label": ("no", "yes")[n % 2]} for n in range(12)]
BY_COLUMN = {name: [row[name] for row in ROWS] for name in ("text", "label")}


def put(tmp_path, content, name="a.json"):
    (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return [tmp_path / name]


@pytest.mark.parametrize(
    "content",
    [
        ROWS,
        "\n".join(json.dumps(row, indent=2) for row in ROWS),
        "\r".join(map(json.dumps, ROWS)),
        BY_COLUMN,
        {name: {str(n): value for n, value in enumerate(values)} for name, values in BY_COLUMN.items()},
        {name: {f"id {n}": value for n, value in enumerate(values)} for name, values in BY_COLUMN.items()},
        {str(n): row for n, row in enumerate(ROWS)},
        {f"id {n}": row for n, row in enumerate(ROWS)},
        {"columns": ["text", "label"], "index": list(range(12)), "data": [list(row.values()) for row in ROWS]},
        {"columns": ["text", "label"], "data": [list(row.values()) for row in ROWS]},
    ],
    ids=[
        "records",
        "printed by jq",
        "old mac",
        "lists",
        "columns",
        "columns by id",
        "index",
        "index of ids",
        "split",
        "split without index",
    ],
)
@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_every_format_of_a_table_is_read(tmp_path, content, name):
    table = read_table(put(tmp_path, content, name))
    assert (table.columns, list(table.rows), table.notices) == (("text", "label"), ROWS, ())


def test_rows_inside_an_object_are_read_with_a_notice(tmp_path):
    table = read_table(put(tmp_path, {"version": "1.0", "data": ROWS}))
    assert list(table.rows) == ROWS
    assert table.notices == ("a.json: the rows are read from `data`",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"train": ROWS, "test": ROWS}, "it contains several lists: `train`, `test`; write each to a separate file"),
        ({"text": ["a", "b"], "label": ["x"]}, "its columns differ in length: `text` 2, `label` 1"),
        ({"columns": ["a", "a"], "data": []}, "`columns` must be a list of distinct names"),
        ({"columns": ["a", "b"], "data": [[1]]}, "item 1 of `data`: must be a list of 2 values"),
        ({"a": {"b": 1}}, "rows and columns cannot be told apart"),
        ([["text", "label"]], "item 1: must be a JSON object, not list"),
        ("text,label\na,1\n", "line 1: malformed: expecting value at column 1; is it a csv file"),
        ("[" * 100_000, "line 1: malformed: lists or objects are nested too deeply"),
        ('{"text": ' + "[" * 100_000, "nested too deeply"),
        ('{"text": "a"}\n{"text": ' + "[" * 100_000, "line 2: malformed: lists or objects are nested too deeply"),
        ("3", "line 1: must be a JSON object, not int"),
        (f'{{"text": "a"}}\n{{"text": {"1" * 5000}}}', "line 2: malformed: a number of 5000 digits"),
        ('{"text": "a", "label": 0}\n{"label": 0, "label": 1}', "line 2: malformed: an object has the key `label` twice"),
        ('{"label": 0, "label": 1}\n{"text": "a", "label": 0}', "line 1: malformed: an object has the key `label` twice"),
    ],
    ids=[
        "splits",
        "lengths",
        "names",
        "values",
        "one cell",
        "lists",
        "csv",
        "deep list",
        "deep object",
        "deep line",
        "number",
        "digits",
        "a key twice",
        "first",
    ],
)
def test_files_that_are_not_tables_are_reported_in_one_line(tmp_path, content, message):
    with pytest.raises(DataError, match=message) as caught:
        read_table(put(tmp_path, content))
    assert "\n" not in str(caught.value)


def test_unrepresentable_numbers_stay_as_written(tmp_path):
    digits = "1" * 100
    line = '{"a": %s, "b": -12345678901234567890, "c": 1e999, "d": Infinity, "e": NaN, "f": 12, "g": 0.5}'
    (row,) = read_table(put(tmp_path, line % digits)).rows
    assert (row["a"], row["b"], row["c"], row["d"], row["f"], row["g"]) == (digits, "-12345678901234567890", "1e999", "Infinity", 12, 0.5)
    assert row["e"] != row["e"]


def test_integers_beyond_64_bits_can_be_labels_and_texts(tmp_path):
    first, second = 10**25, 10**25 + 1
    put(tmp_path, "".join(f'{{"text": {10**30 + n}, "label": {(first, second)[n % 2]}}}\n' for n in range(20)), "a.jsonl")
    data = LocalDataset(path=str(tmp_path / "a.jsonl"), text_columns=("text",), label_column="label").load()
    assert data.label_names == (str(first), str(second))
    assert all(text == str(10**30 + int(example.id[6:])) for example in data.splits["train"] for text in example.texts)


def test_lone_surrogates_in_labels_and_names_are_replaced(tmp_path):
    line = '{"text": "a", "la\\udc00bel": "NAME\\ud83d", "list": ["\\ud83d\\ude00\\ud83d"]}\n'
    content = "".join(line.replace("NAME", name) for name in "xy")
    table = read_table(put(tmp_path, content))
    assert table.columns == ("text", "la?bel", "list")
    assert [(row["la?bel"], row["list"]) for row in table.rows] == [("x?", ["😀?"]), ("y?", ["😀?"])]
