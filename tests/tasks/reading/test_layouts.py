"""Folder layouts of the datasets library, the hub and users, and paths that are not readable files."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import shutil
from pathlib import Path

import datasets
import pyarrow
import pytest

from ticketlab.core.errors import DataError, UsageError
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.reading import content, files, tables

FEATURES = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])})
CSV = "text,label\n" + "".join(f"text {n},{('no', 'yes')[n % 2]}\n" for n in range(20))


def dataset(size: int = 20, *, labelled: bool = True) -> datasets.Dataset:
    labels = [n % 2 if labelled else -1 for n in range(size)]
    return datasets.Dataset.from_dict({"text": [f"text {n}" for n in range(size)], "label": labels}, features=FEATURES)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders written by ``save_to_disk`` of a Dataset and of a DatasetDict."""
    datasets.disable_progress_bars()
    folder = tmp_path_factory.mktemp("saved")
    dataset().save_to_disk(folder / "one", num_shards=3)
    parts = {"train": dataset(20), "validation": dataset(6), "test": dataset(4, labelled=False), "unsupervised": dataset(4, labelled=False)}
    datasets.DatasetDict(parts).save_to_disk(folder / "splits")
    datasets.DatasetDict({"train_sft": dataset(20), "test_sft": dataset(4)}).save_to_disk(folder / "words")
    return folder


def put(folder: Path, **content: str) -> None:
    """Write files; two underscores in a name separate folders."""
    for name, text in content.items():
        file = folder / (name.replace("__", "/").replace("_DOT_", ".") if "_DOT_" in name else f"{name.replace('__', '/')}.csv")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def sizes(place: Path) -> tuple[int, ...]:
    return tuple(len(examples) for examples in LocalDataset(path=str(place)).load().splits.values())


def test_a_saved_dataset_is_read_from_all_its_parts_with_its_label_names(saved: Path) -> None:
    data = LocalDataset(path=str(saved / "one")).load()
    assert (data.name, data.label_names, sizes(saved / "one")) == ("one", ("no", "yes"), (16, 2, 2))
    for example in data.examples("all"):
        number = int(example.id.removeprefix("train-"))
        assert (example.texts, example.label) == ((f"text {number}",), number % 2)


def test_a_saved_dataset_dict_keeps_its_splits(saved: Path) -> None:
    data = LocalDataset(path=str(saved / "splits")).load()
    assert sizes(saved / "splits") == (18, 2, 6)  # the test split is unlabelled, so validation is used for it
    assert "not read, because their names contain no split: unsupervised" in data.notices
    assert sizes(saved / "splits" / "validation") == (0, 0, 6)
    words = LocalDataset(path=str(saved / "words")).load()
    assert len(words.splits["test"]) == 4
    assert words.notices == (
        "splits identified by words in their names: train_sft as train, test_sft as test",
        "a tenth of `train_sft/data-00000-of-00001.arrow` is used as the dev split",
    )


def test_real_saved_datasets_are_read(real_data: Path) -> None:
    for name, expected in (("hf_dict", {"train", "test"}), ("hf_single", {"train"})):
        found = files.find_files(real_data / "trials" / name)
        assert set(found.splits) == expected
        assert all(table.columns == ("text", "label") for table in tables.read_splits(found).tables.values())


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("state.json", "{", "malformed"),
        ("state.json", "[" * 100_000, "malformed"),
        ("state.json", "[]", "must be a JSON object, not list"),
        ("state.json", "{}", "`_data_files` must be a list of files"),
        ("state.json", '{"_data_files": [{"filename": "../one/data-00000-of-00003.arrow"}]}', "`_data_files` must be a list of files"),
        ("state.json", '{"_data_files": [{"filename": "gone.arrow"}]}', "gone.arrow is missing, although state.json lists it"),
        (
            "state.json",
            '{"_data_files": [{"filename": "data-00000-of-00003.arrow"}], "_indices_data_files": [1]}',
            "an old version of datasets",
        ),
        ("dataset_dict.json", '{"splits": [".."]}', "`splits` must be a list of names"),
        ("dataset_dict.json", '{"splits": ["train"]}', "cannot be read: No such file"),
    ],
)
def test_a_damaged_saved_dataset_is_reported_in_one_line(saved: Path, tmp_path: Path, file: str, text: str, message: str) -> None:
    shutil.copytree(saved / "one", tmp_path / "copy")
    (tmp_path / "copy" / file).write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        LocalDataset(path=str(tmp_path / "copy")).load()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"train__a": CSV, "train__b": CSV, "test__a": CSV}, (36, 4, 20)),
        ({"data__train": CSV, "data__test": CSV, "README_DOT_md": "---\nlicense: mit\n---\n"}, (18, 2, 20)),
        ({"v1__files__train": CSV}, (16, 2, 2)),
        ({"snapshots__abc__train": CSV, "snapshots__old__train": "x", "refs__main_DOT_": "abc"}, (16, 2, 2)),
        ({"reviews_train": CSV, "reviews_test": CSV}, (18, 2, 20)),
        ({"nli_1.0_train": CSV, "nli_1.0_dev_matched": CSV, "nli_1.0_dev_mismatched": CSV}, (18, 2, 20)),
        (
            {"a1": CSV, "a2": CSV, "b": CSV,
             "README_DOT_md": "---\nconfigs:\n- config_name: x\n  data_files:\n  - {split: train, path: 'a*.csv'}\n"
             "  - split: test\n    path: [b.csv]\n---\n"},
            (36, 4, 20),
        ),
        ({"train-00000-of-00002": CSV, "train-00001-of-00002": CSV, "dataset_infos_DOT_json": "{}"}, (32, 4, 4)),
        ({"data-00000-of-00002": CSV, "data-00001-of-00002": CSV}, (32, 4, 4)),
        ({"data-1-of-2": CSV, "data-2-of-2": CSV}, (32, 4, 4)),
    ],
    ids=[
        "folders of splits", "clone", "nested", "cache of the hub", "words", "matched", "card", "parts", "parts without split",
        "parts numbered from 1",
    ],
)  # fmt: skip
def test_layouts(tmp_path: Path, content: dict[str, str], expected: tuple[int, ...]) -> None:
    put(tmp_path, **content)
    for file in tmp_path.rglob("*."):
        file.rename(file.with_name(file.name.rstrip(".")))
    assert sizes(tmp_path) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"train-00000-of-00003": CSV, "train-00002-of-00003": CSV}, "1 of the 3 parts of `train` is missing, the first is number 1; copy"),
        ({"train__data-1-of-4": CSV, "train__data-4-of-4": CSV}, "/train: 2 of the 4 parts of `data` are missing, the first is number 2;"),
        ({"data__data-00001-of-00002": CSV}, "/data: 1 of the 2 parts of `data` is missing, the first is number 0;"),
        ({"train-00000-of-00001": CSV, "train-00000-of-00002": CSV}, "some parts of `train` are of 1 and 2 parts; keep the files of one"),
        ({"sst2__train": CSV, "cola__train": CSV}, "folders, none of them named after a split: cola, sst2; pass one of them"),
        (
            {"sst2__train": CSV, "cola__train": CSV,
             "README_DOT_md": "---\nconfigs:\n- {config_name: sst2, data_files: a}\n- {config_name: cola, data_files: b}\n---\n"},
            r"several configurations \(sst2, cola\); pass the folder of one",
        ),
        (
            {"a": CSV, "b": CSV, "README_DOT_md": "---\nconfigs:\n- {config_name: x, data_files: ../c.csv}\n---\n"},
            "it lists ../c.csv, but no file in this folder matches",
        ),
        ({"train__pos__1_DOT_txt": "x", "train__neg__1_DOT_txt": "y"}, r"each is a class with a text per file, as in aclImdb, write a csv"),
        ({"train__a": CSV, "train__b_DOT_jsonl": "{}"}, "files of several kinds in this folder"),
        ({"train__a": CSV, "train__b": CSV.replace("label", "stars")}, "b.csv: its columns are text, stars, but those of .* text, label"),
        ({"notes": CSV, "my_test": CSV}, "cannot identify the splits of my_test.csv, notes.csv"),
        ({"book_DOT_xlsx": "x"}, r"file in this folder; book\.xlsx is a spreadsheet; save the sheet as csv"),
    ],
    ids=[
        "lost part", "lost parts", "lost part without split", "two divisions", "several", "configurations", "outside", "aclImdb",
        "two kinds", "other columns", "one word", "spreadsheet",
    ],
)  # fmt: skip
def test_ambiguous_layouts_are_reported_in_one_line(tmp_path: Path, content: dict[str, str], message: str) -> None:
    put(tmp_path, **content)
    with pytest.raises(DataError, match=message) as caught:
        LocalDataset(path=str(tmp_path)).load()
    assert "\n" not in str(caught.value)


def test_the_cache_of_the_datasets_library_is_read(tmp_path: Path) -> None:
    for split, size in (("train", 20), ("validation", 6)):
        table = dataset(size).data.table.replace_schema_metadata(None)
        with pyarrow.ipc.new_stream(tmp_path / f"imdb-{split}.arrow", table.schema) as writer:
            writer.write_table(table)
    (tmp_path / "cache-0123abcd.arrow").write_bytes(b"x")
    (tmp_path / "dataset_info.json").write_text(json.dumps({"features": FEATURES.to_dict()}))
    assert sizes(tmp_path) == (18, 2, 6)
    assert LocalDataset(path=str(tmp_path)).load().label_names == ("no", "yes")


PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": lambda data: pyarrow.compress(data, "zstd", asbytes=True)}


@pytest.mark.parametrize("suffix", PACK)
def test_compressed_files_are_read(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / f"reviews.csv{suffix}"
    packed = PACK[suffix](CSV.encode() * 50)
    file.write_bytes(PACK[suffix](CSV.encode()))
    assert (sizes(file), LocalDataset(path=str(file)).label) == ((16, 2, 2), "reviews")
    file.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match=rf"reviews\.csv{suffix}: not a valid {suffix} file"):
        sizes(file)
    monkeypatch.setattr(content, "MAX_DECOMPRESSED_BYTES", 1000)
    monkeypatch.setattr(content, "_CHUNK", 100)
    file.write_bytes(packed)
    with pytest.raises(DataError, match="decompresses to more than"):
        sizes(file)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.xls", "it is a spreadsheet; save the sheet as csv"),
        ("a.pkl", "it is a pickle, which can run code and is never read"),
        ("a.sqlite", "it is a database; export the table as csv"),
        ("a.tar.gz", "it is an archive; unpack it"),
        ("a.gz", "its name does not say what it contains; give it a name like"),
        ("loader.py", "it is a script, which is not run"),
        ("a", "this kind of file is not supported; convert it to one of .csv"),
        ("pipe.csv", "a pipe, not a file; write the data into a file first"),
        ("loop.csv", "cannot be read: Too many levels of symbolic links"),
        ("dangling.csv", r"a link to .*gone\.csv, which does not exist"),
        ("folder.csv", "there is no .csv, .* file in this folder"),
        ("long" * 100, "cannot be read: File name too long"),
        ("a\0b.csv", "a path cannot contain a NUL character"),
        ("a.xls/b.csv", "there is no such file or folder"),
        ("*.csv", "there is no such file or folder; patterns are not expanded: pass the folder"),
    ],
)
def test_paths_that_cannot_be_read_are_described(tmp_path: Path, name: str, message: str) -> None:
    for other in ("a.xls", "a.pkl", "a.sqlite", "a.tar.gz", "a.gz", "loader.py", "a"):
        (tmp_path / other).write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "dangling.csv").symlink_to("gone.csv")
    (tmp_path / "folder.csv").mkdir()
    task = LocalDataset(path=str(tmp_path / name))
    for read in (task.load, task.check_files_exist):
        with pytest.raises(UsageError, match=message):
            read()


def test_a_file_that_is_unreadable_missing_or_changing_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, a=CSV)
    task = LocalDataset(path=str(tmp_path / "a.csv"))
    task.check_files_exist()
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        with pytest.raises(DataError, match=r"a\.csv: cannot be read: permission denied"):
            task.check_files_exist()
    found = files.find_files(tmp_path / "a.csv")
    with monkeypatch.context() as patch:
        states = iter([os.stat(tmp_path / "a.csv"), os.stat(tmp_path)])  # noqa: PTH116
        patch.setattr(content.os, "fstat", lambda _: next(states))
        with pytest.raises(DataError, match="the file changed while it was being read"):
            tables.read_splits(found)
    (tmp_path / "a.csv").unlink()
    with pytest.raises(DataError, match=r"a\.csv: cannot be read: No such file"):
        tables.read_splits(found)


def test_a_path_may_start_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    put(tmp_path, reviews=CSV)
    LocalDataset(path="~/reviews.csv").check_files_exist()
    assert len(LocalDataset(path="~/reviews.csv").load().examples("all")) == 20
    with pytest.raises(DataError, match=r"~nobody-here/x\.csv: there is no such file or folder"):
        LocalDataset(path="~nobody-here/x.csv").load()
