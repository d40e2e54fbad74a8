"""Determines the kind of a file from its name: supported or not, compressed or not, and what to do if it is not supported."""

from __future__ import annotations

from pathlib import PurePath

from attrs import frozen

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".arrow")
"""Suffixes listed in messages and help; :data:`_KINDS` also has alternative spellings."""
TEXT_SUFFIXES = (*SUFFIXES, ".txt")
"""Suffixes of text without labels."""
PACKED = (".gz", ".bz2", ".xz", ".zst")
"""Suffixes of compressed files, after the suffix of the content: ``train.csv.gz``."""
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
_UNSUPPORTED = {
    ("a spreadsheet", "save the sheet as csv (UTF-8)"): ".xlsx .xls .xlsm .xlsb .ods .numbers",
    ("a pickle, which can run code and is never read", "write the data as csv, jsonl or parquet in the program that made it"): (
        ".pkl .pickle .pt .pth .bin .joblib .ckpt .dill"
    ),
    ("an array", "write texts and labels as csv or jsonl"): ".npy .npz .safetensors",
    ("a database", "export the table as csv"): ".sqlite .sqlite3 .db .duckdb .mdb .accdb",
    ("a file of another program", "export it as csv or parquet"): ".h5 .hdf5 .mat .rds .rda .rdata .dta .sav .sas7bdat",
    ("a table in an unsupported format", "convert it to parquet"): ".orc .avro .tfrecord .tfrecords .msgpack",
    ("an archive", "unpack it and pass the file or folder in it"): ".zip .tar .tgz .tbz .txz .7z .rar",
    ("markup", "write texts and labels as csv or jsonl"): ".xml .html .htm .yaml .yml",
    ("a document", "put texts and labels into a csv whose first line names the columns"): ".pdf .doc .docx .rtf .odt .md",
    ("a script, which is not run", "pass the data that it produces, as csv, jsonl or parquet"): ".py .ipynb .r",
    ("compressed, and its name does not say what it contains", "give it a name like reviews.csv.gz"): " ".join(PACKED),
}
_ADVICE = {suffix: advice for advice, suffixes in _UNSUPPORTED.items() for suffix in suffixes.split()}


@frozen
class FileName:
    """The parts of a file's name: ``Train.CSV.gz`` is ``Train``, ``.csv`` and ``.gz``."""

    stem: str
    suffix: str
    packed: str

    @property
    def kind(self) -> str:
        """``csv``, ``tsv``, ``json``, ``parquet``, ``arrow`` or ``txt``; empty if not supported."""
        return _KINDS.get(self.suffix, "")


def parse_name(path: PurePath) -> FileName:
    """Return the parts of a file's name."""
    name = PurePath(path.name)
    packed = name.suffix.lower() if name.suffix.lower() in PACKED else ""
    if packed and PurePath(name.stem).suffix:
        name = PurePath(name.stem)
    return FileName(name.stem, name.suffix.lower(), packed)


def is_supported(path: PurePath, *, prose: bool) -> bool:
    """Return whether files with this name are read; .txt files only for ``prose``."""
    kind = parse_name(path).kind
    return bool(kind) and (prose or kind != "txt")


def has_known_suffix(path: PurePath) -> bool:
    """Return whether a name has the suffix of a supported or unsupported kind of file, and so is meant as a path."""
    suffix = parse_name(path).suffix
    return suffix in _KINDS or suffix in _ADVICE


def advice_for(path: PurePath) -> str:
    """Return what an unsupported file is and what to do with it; empty if its name does not say."""
    what, todo = _ADVICE.get(parse_name(path).suffix, ("", ""))
    return f"{what}; {todo}" if what else ""
