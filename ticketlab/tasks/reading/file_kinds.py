"""What a file is by its name: a kind that is read, compressed or not, or one that is not, with what to do about it."""

from __future__ import annotations

from pathlib import PurePath

from attrs import frozen

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".arrow")
"""What to name in messages and help; :data:`_KINDS` has their other spellings too."""
TEXT_SUFFIXES = (*SUFFIXES, ".txt")
"""Of text without labels."""
PACKED = (".gz", ".bz2", ".xz", ".zst")
"""Of compressed files, after the suffix of what is in them: ``train.csv.gz``."""
_KINDS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".jsonlines": "json",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".txt": "txt",
}
_FOREIGN = {
    ("a spreadsheet", "save the sheet as csv (UTF-8)"): ".xlsx .xls .xlsm .xlsb .ods .numbers",
    ("a pickle, which can run code and is never read", "write the data as csv, jsonl or parquet where it was made"): (
        ".pkl .pickle .pt .pth .bin .joblib .ckpt .dill"
    ),
    ("an array", "write texts and labels as csv or jsonl"): ".npy .npz .safetensors",
    ("a database", "export the table as csv"): ".sqlite .sqlite3 .db .duckdb .mdb .accdb",
    ("the file of another program", "export it as csv or parquet"): ".h5 .hdf5 .mat .rds .rda .rdata .dta .sav .sas7bdat",
    ("a table in a format that is not read", "convert it to parquet"): ".orc .avro .tfrecord .tfrecords .msgpack",
    ("an archive", "unpack it and pass the file or folder in it"): ".zip .tar .tgz .tbz .txz .7z .rar",
    ("markup", "write texts and labels as csv or jsonl"): ".xml .html .htm .yaml .yml",
    ("a document", "put texts and labels into a csv whose first line names the columns"): ".pdf .doc .docx .rtf .odt .md",
    ("a script, which is not run", "pass the data that it makes, as csv, jsonl or parquet"): ".py .ipynb .r",
    ("compressed, and its name does not say what is in it", "name it like reviews.csv.gz"): " ".join(PACKED),
}
_ADVICE = {suffix: advice for advice, suffixes in _FOREIGN.items() for suffix in suffixes.split()}


@frozen
class Name:
    """A file's name in its parts: ``Train.CSV.gz`` is ``Train``, ``.csv`` and ``.gz``."""

    stem: str
    suffix: str
    packed: str

    @property
    def kind(self) -> str:
        """``csv``, ``tsv``, ``json``, ``parquet``, ``arrow`` or ``txt``; empty for what is not read."""
        return _KINDS.get(self.suffix, "")


def parts(path: PurePath) -> Name:
    """Return the parts of a file's name."""
    name = PurePath(path.name)
    packed = name.suffix.lower() if name.suffix.lower() in PACKED else ""
    if packed and PurePath(name.stem).suffix:
        name = PurePath(name.stem)
    return Name(name.stem, name.suffix.lower(), packed)


def is_read(path: PurePath, *, prose: bool) -> bool:
    """Say whether a file of this name is read: one of lines of text only for ``prose``."""
    kind = parts(path).kind
    return bool(kind) and (prose or kind != "txt")


def is_known(path: PurePath) -> bool:
    """Say whether a name has the suffix of a kind of file, read or not: what has one is meant as a path."""
    suffix = parts(path).suffix
    return suffix in _KINDS or suffix in _ADVICE


def advice(path: PurePath) -> str:
    """Return what a file that is not read is, and what to do; empty where its name does not tell."""
    what, todo = _ADVICE.get(parts(path).suffix, ("", ""))
    return f"{what}; {todo}" if what else ""
