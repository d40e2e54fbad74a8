from pathlib import Path

import pytest

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading import files
from ticketlab.tasks.reading.tables import read_table


def write(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


ROWS = [{"text": "a, b", "label": "1"}, {"text": 'say "hi"', "label": "2"}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'text,label\n"a, b",1\n"say ""hi""",2\n'),
        ("crlf.csv", 'text,label\r\n"a, b",1\r\n\r\n"say ""hi""",2\r\n'),
        ("bom.csv", '\ufefftext,label\n"a, b",1\n"say ""hi""",2\n'),
        ("marks.csv", '\ufeff\ufeff"text","label"\n"a, b",1\n"say ""hi""",2\n'),
        ("marks.jsonl", '\ufeff{"text": "a, b", "label": "1"}\n\ufeff{"text": "say \\"hi\\"", "label": "2"}\n'),
        ("semicolon.csv", 'text;label\na, b;1\n"say ""hi""";2\n'),
        ("quoted.tsv", 'text\tlabel\na, b\t1\n"say ""hi"""\t2\n'),
        ("plain.tsv", 'text\tlabel\na, b\t1\nsay "hi"\t2\n'),
        ("a.jsonl", '{"text": "a, b", "label": "1"}\n\n{"text": "say \\"hi\\"", "label": "2"}\n'),
        ("lines.json", '{"text": "a, b", "label": "1"}\n{"text": "say \\"hi\\"", "label": "2"}'),
        ("array.json", '[{"text": "a, b", "label": "1"},\n {"text": "say \\"hi\\"", "label": "2"}]'),
    ],
)
def test_every_kind_of_file_gives_the_same_rows(tmp_path, name, content):
    table = read_table([write(tmp_path, name, content)])
    assert table.columns == ("text", "label")
    assert list(table.rows) == ROWS


def test_quotation_marks_in_a_glue_file_are_text(tmp_path):
    table = read_table([write(tmp_path, "train.tsv", 'sentence\tlabel\n"Odd," he said\t1\n"it opens and never closes\t0\n')])
    assert [row["sentence"] for row in table.rows] == ['"Odd," he said', '"it opens and never closes']


@pytest.mark.parametrize(
    "text",
    ["<br />two<br />lines\nand\r\nmore", "😀👍🏽", "مرحبا بالعالم", "null", "NA", "a\u2028b", "x" * 200_000],
    ids=["html and lines", "emoji", "right to left", "null", "NA", "line separator", "very long"],
)
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_any_text_is_read_unchanged(tmp_path, kind, text):
    import pandas

    frame = pandas.DataFrame({"text": [text, "other"], "label": ["a", "b"]})
    file = tmp_path / f"data.{kind}"
    {
        "csv": lambda: frame.to_csv(file, index=False),
        "tsv": lambda: frame.to_csv(file, index=False, sep="\t"),
        "jsonl": lambda: frame.to_json(file, orient="records", lines=True),
        "parquet": lambda: frame.to_parquet(file),
    }[kind]()
    assert read_table([file]).rows[0]["text"] == text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "text,label\na,1\nb,c,2\n", "a.csv line 3: malformed: 3 fields under 2 columns"),
        ("a.csv", 'text,label\n"two\nlines",1\nb\n', "a.csv line 4: malformed: 1 field"),
        ("a.csv", 'text,label\na,1\n"never closed,1\nb,2\n', "a.csv line 3: malformed: unexpected end of data"),
        ("a.csv", "text,text\na,1\n", "a.csv line 1: two columns are named `text`"),
        ("a.csv", b"text,label\nok,1\ncaf\xe9,1\n", "a.csv line 3: not UTF-8"),
        ("a.csv", "text,label\n", "a.csv: there are no rows"),
        ("a.csv", "", "a.csv: there are no rows"),
        ("a.tsv", "text\tlabel\na\t1\tx\n", "a.tsv line 2: malformed"),
        ("a.jsonl", '{"text": "a"}\n{"text": \n', "a.jsonl line 2: malformed: expecting value at column 10"),
        ("a.jsonl", '{"text": "a"}\n3\n', "a.jsonl line 2: must be a JSON object, not int"),
        ("a.json", '[{"text": "a"},\n{"text"}]', "a.json line 2: malformed"),
        ("a.parquet", b"PAR2 nothing", "a.parquet: not a parquet file"),
    ],
)
def test_a_malformed_file_is_reported_with_its_line(tmp_path, name, content, message):
    file = write(tmp_path, name, content)
    with pytest.raises(DataError) as caught:
        read_table([file])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_label_names_of_a_parquet_file_written_by_datasets_are_used(tmp_path):
    import datasets

    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])})
    data = datasets.Dataset.from_dict({"text": ["a", "b", "c"], "label": [1, 0, -1]}, features=features)
    data.to_parquet(str(tmp_path / "train.parquet"))
    assert [row["label"] for row in read_table([tmp_path / "train.parquet"]).rows] == ["good", "bad", -1]


@pytest.mark.parametrize(
    ("names", "splits"),
    [
        (["train.csv", "dev.csv", "test.csv"], {"train", "validation", "test"}),
        (["train.csv", "valid.csv", "notes.json"], {"train", "validation"}),
        (["train-00000-of-00002.parquet", "train-00001-of-00002.parquet", "val.parquet"], {"train", "validation"}),
        (["reviews.csv", "README.md"], {"train"}),
        (["validation.jsonl"], {"validation"}),
    ],
    ids=["all", "others ignored", "shards", "one file", "validation only"],
)
def test_a_folder_has_the_splits_of_its_file_names(tmp_path, names, splits):
    for name in names:
        write(tmp_path, name, "x")
    found = files.find_files(tmp_path).splits
    assert set(found) == splits
    assert sum(len(parts) for parts in found.values()) == sum(1 for name in names if name not in {"notes.json", "README.md"})


@pytest.mark.parametrize(
    ("names", "path", "message"),
    [
        (["train.csv"], "trian.csv", "trian.csv: there is no such file or folder; did you mean `train.csv`?"),
        ([], "", "there is no .csv, .tsv, .jsonl, .json, .parquet, .arrow file in this folder"),
        (["a.csv", "b.csv"], "", "cannot identify the splits of a.csv, b.csv"),
        (["train.csv", "train.jsonl"], "", "more than one file for the train split: train.csv, train.jsonl"),
        (["dev.csv", "validation.csv"], "", "more than one file for the validation split"),
        (["a.xlsx"], "a.xlsx", "a.xlsx: it is a spreadsheet; save the sheet as csv (UTF-8)"),
    ],
    ids=["missing", "empty folder", "no split names", "two kinds", "two names", "spreadsheet"],
)
def test_problems_with_a_path_are_reported(tmp_path, names, path, message):
    for name in names:
        write(tmp_path, name, "x")
    with pytest.raises(DataError) as caught:
        files.find_files(tmp_path / path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("path", "name"), [("x/sst2", "sst2"), ("x/reviews.csv", "reviews"), ("x/sst2/train.jsonl", "sst2"), ("x/v1.0", "v1.0")]
)
def test_a_data_set_is_named_after_its_folder_or_file(path, name):
    assert files.dataset_title(Path(path)) == name
