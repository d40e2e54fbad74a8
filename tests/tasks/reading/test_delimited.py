"""Csv and tsv files written by spreadsheets and scripts."""

from __future__ import annotations

import pytest

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.tables import read_table

ROWS = [{"text": "a b", "label": "1"}, {"text": "c, d", "label": "2"}]


def put(tmp_path, name, content):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [file]


@pytest.mark.parametrize(
    ("name", "content", "notice"),
    [
        ("a.csv", "sep=;\r\ntext;label\r\na b;1\r\nc, d;2\r\n", None),
        ("a.csv", '"text";"label"\n"a b";"1"\n"c, d";"2"\n', None),
        ("a.csv", "text|label\na b|1\nc, d|2\n", "its fields are separated by `|`"),
        ("a.csv", "text\tlabel\na b\t1\nc, d\t2\n", "its fields are separated by tabs"),
        ("a.tsv", 'text,label\na b,1\n"c, d",2\n', "its fields are separated by commas"),
        ("a.txt", 'text,label\na b,1\n"c, d",2\n', "its fields are separated by commas"),
        ("a.txt", "text\tlabel\na b\t1\nc, d\t2\n".encode("utf-16"), None),
        ("a.csv", 'text,label\na b,1\n"c, d",2\n'.encode("utf-16"), None),
        ("a.csv", 'text,label\ra b,1\r"c, d",2\r', None),
        ("a.csv", 'text,label,,\na b,1,,\n"c, d",2,,\n,,,\n,,,\n', None),
        ("a.csv", 'text,label\na b,1,\n"c, d",2,\n', None),
        ("a.csv", 'text,label\na b,1\n   \n"c, d",2\n', None),
        ("a.csv", '\r\n  \r\ntext,label\r\na b,1\r\n"c, d",2\r\n', None),
        ("a.csv", 'text,label\na b,1\ntext,label\n"c, d",2\n', "line 3 repeats the column names"),
        ("a.csv", 'text,label\na b,1\nText, LABEL\n"c, d",2\n', "line 3 repeats the column names"),
        ("a.csv", ',text,label\n0,a b,1\n0,"c, d",2\n', "the column `Unnamed: 0`, an index with repeated values, is ignored"),
        ("a.csv", 'text,label\na b,1\n"c, d\n",2\n', None),
        ("a.csv", 'text, label\n"a b", 1\n "c, d", "2"\n', None),
        ("a.csv", 'text,label\na b,1\n\ufefftext,label\n"c, d",2\n', "line 3 repeats the column names"),
    ],
    ids=[
        "sep line", "quoted names", "pipes", "tabs in csv", "commas in tsv", "commas in txt", "unicode text", "utf-16", "old mac",
        "trailing columns and rows", "additional fields", "blank line", "blank lines at the beginning", "repeated header",
        "repeated header in other case", "index with repeated values", "field of two lines", "spaces before quotes",
        "repeated header after a byte-order mark",
    ],
)  # fmt: skip
def test_exports_of_spreadsheets_are_read(tmp_path, name, content, notice):
    table = read_table(put(tmp_path, name, content))
    assert table.columns == ("text", "label")
    assert [{**row, "text": row["text"].strip()} for row in table.rows] == ROWS
    assert [notice in found for found in table.notices] == ([True] if notice else [])


def test_an_unnamed_index_with_unique_values_is_kept(tmp_path):
    table = read_table(put(tmp_path, "a.csv", ",text,label\n0,a b,1\n1,c,2\n"))
    assert table.columns == ("Unnamed: 0", "text", "label")


def tsv(first: int, last: int, *, label_first: bool = False) -> str:
    """Return forty rows with a quotation mark at the start of one text and one at the end of another."""
    rows = [(f"{'“' and chr(34) if n == first else ''}text {n}{chr(34) if n == last else ''}", "no" if n % 2 else "yes") for n in range(40)]
    return "".join("\t".join(row[::-1] if label_first else row) + "\n" for row in [("text", "label"), *rows])


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
@pytest.mark.parametrize("label_first", [False, True])
def test_stray_quotation_marks_that_enclose_rows_are_rejected_with_their_lines(tmp_path, name, label_first):
    content = tsv(5, 16, label_first=label_first)
    with pytest.raises(DataError, match=rf"{name} lines 7 to 18: one row if its quotation marks are quotes, several if"):
        read_table(put(tmp_path, name, content if name == "a.tsv" else content.replace("\t", ",")))


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_rows_inside_a_quoted_field_are_rejected_although_one_line_is_not_a_row(tmp_path, name):
    lines = tsv(5, 16).split("\n")
    lines[9] = "no row in this line"
    content = "\n".join(lines)
    with pytest.raises(DataError, match="lines 7 to 18"):
        read_table(put(tmp_path, name, content if name == "a.tsv" else content.replace("\t", ",")))


def test_an_unclosed_quotation_mark_is_text_in_a_tsv_and_malformed_in_a_csv(tmp_path):
    content = tsv(5, -1)
    table = read_table(put(tmp_path, "a.tsv", content))
    assert [row["text"] for row in table.rows] == [('"' if n == 5 else "") + f"text {n}" for n in range(40)]
    assert ["quotation marks are read as part of the text" in notice for notice in table.notices] == [True]
    with pytest.raises(DataError, match=r"a\.csv line 7: malformed: .* \(a quotation mark inside a quoted field must be doubled\)"):
        read_table(put(tmp_path, "a.csv", content.replace("\t", ",")))


def test_fields_of_several_lines_are_read_if_their_lines_are_not_rows(tmp_path):
    content = 'text\tlabel\n"one ""two""\nthree\nfour"\t1\nfive\t2\n'
    table = read_table(put(tmp_path, "a.tsv", content))
    assert [row["text"] for row in table.rows] == ['one "two"\nthree\nfour', "five"]
    assert ["some quoted fields span several lines" in notice for notice in table.notices] == [True]
    prose = '"Dear all,\nwell, so\nbye, then",yes\n'  # as many commas in a line as in a row
    table = read_table(put(tmp_path, "a.csv", tsv(-1, -1).replace("\t", ",") + prose))
    assert (len(table.rows), table.rows[40]["text"]) == (41, "Dear all,\nwell, so\nbye, then")


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ('"say \\"hi\\", then"', 'say "hi", then'),
        (r'"say \"hi\" in C:\temp\new, \o/ then\n"', r'say "hi" in C:\temp\new, \o/ then\n'),
        (r'"say \"hi\" on \\server\x\\"', r'say "hi" on \server\x' + "\\"),
        (r"say \"hi\"\, then: \o/", r'say "hi", then: \o/'),
    ],
    ids=["quotation marks", "other backslashes", "escaped backslashes", "without quotation marks around it"],
)
def test_a_backslash_before_a_quotation_mark_is_an_escape_if_nothing_else_fits(tmp_path, field, text):
    table = read_table(put(tmp_path, "a.csv", f'text,label\n{field},1\n"say \\"no\\", then",2\n'))
    assert [dict(row) for row in table.rows] == [{"text": text, "label": "1"}, {"text": 'say "no", then', "label": "2"}]
    assert "a backslash before a quotation mark is read as an escape" in table.notices[0]


@pytest.mark.parametrize(
    ("content", "names_are"),
    [
        ("great film,pos\ndull film,neg\nfine film,pos\nbad film,neg\n", False),
        ("3,Wall Street\n1,Iraq\n2,Football\n3,Stocks\n", False),
        ("17,great,0.71\n18,dull,0.25\n", False),
        ("0,1\ngreat,5\ndull,3\n", True),
        ("text,0,1\na,1,0\nb,0,1\nc,0,1\nd,1,0\n", True),
        ("id,1,2\na,1,0\nb,0,1\nc,0,1\nd,1,0\n", True),
        ("comment_text,toxic\nyou fool,toxic\nthanks,ok\ngo,toxic\nsee,ok\nme,ok\n", True),
        ("text_a,spam\nx,spam\ny,ham\nz,ham\nw,spam\n", True),
        ("sentiment,phrase\nsentiment,a\npos,b\npos,c\nneg,d\nneg,e\n", True),
    ],
    ids=[
        "class",
        "number of a class",
        "numbers",
        "pandas numbers",
        "one column per class",
        "bias probabilities",
        "name of a text column",
        "name with a suffix",
        "name of a label column",
    ],
)
def test_a_first_line_of_data_is_distinguished_from_column_names(tmp_path, content, names_are):
    if names_are:
        assert read_table(put(tmp_path, "a.csv", content)).columns == tuple(content.split("\n")[0].split(","))
        return
    with pytest.raises(DataError, match=r"a\.csv line 1: it seems to be data, not column names \(`.*add a first line with names"):
        read_table(put(tmp_path, "a.csv", content))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"text,label\ncaf\xe9,1\n", r"line 2: not UTF-8; .*iconv -f WINDOWS-1252"),
        ("a.csv", "text,label\na,1\n".encode("utf-16-le"), "seems to be UTF-16 without a byte-order mark"),
        ("a.csv", b"\xff\xfet\x00e", "it has the byte-order mark of UTF-16 but is not UTF-16"),
        ("a.csv", "text,label\na\0b,1\n", "line 2: a NUL byte"),
        ("a.csv", "text;label,x\na;1,2\nb;2,3\n", None),
        ("a.csv", "text;label|x\na;1|2\nb;2|3\n", "the delimiter could be semicolons or `|`"),
        ("a.csv", '"text,label"\n"a,1"\n"b,2"\n', "each line as a whole is in quotation marks"),
        ("a.csv", ",,\na,b,c\n", "line 1: the line is empty, but must name the columns"),
        ("a.csv", "<!DOCTYPE html>\n<html>", "the content is a web page"),
        ("a.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
        ("a.csv", '{"text": "a", "label": 1}\n', r"the content is JSON; rename it to end in \.jsonl"),
        ("a.csv", b"PAR1....", r"a parquet file; rename it to end in \.parquet"),
        ("a.csv", b"PK\x03\x04..", "a zip archive or a spreadsheet"),
        ("a.tsv", b"\x80\x04\x95..", "a pickle, which can run code and is never read"),
        ("a.txt", "__label__pos great\n__label__neg dull\n", "the format of fastText"),
        ("a.txt", "Well, a line\nOf prose, here\n", "lines of text without columns; a task needs"),
    ],
)
def test_unreadable_files_are_reported_in_one_line_with_advice(tmp_path, name, content, message):
    if message is None:
        assert read_table(put(tmp_path, name, content)).columns == ("text;label", "x")  # commas are preferred in a csv file
        return
    with pytest.raises(DataError, match=message) as caught:
        read_table(put(tmp_path, name, content))
    assert str(tmp_path / name) in str(caught.value)
    assert "\n" not in str(caught.value)
