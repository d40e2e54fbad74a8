import json
import subprocess
import sys
from pathlib import Path

import pytest

from ticketlab.core.errors import DataError, SettingError
from ticketlab.core.settings import from_table
from ticketlab.tasks.assembly.damaged import find_damage
from ticketlab.tasks.base import Example
from ticketlab.tasks.datasets.local import LocalDataset

SHARED = Path(__file__).parents[4] / "shared" / "data"


TEST_ONLY = "is used as the test split; there is no training split, so no model can be trained on this data"


def jsonl(folder: Path, **splits: list[dict[str, object]]) -> Path:
    for split, rows in splits.items():
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def rows(*labels: object) -> list[dict[str, object]]:
    return [{"text": f"text {number}", "label": label} for number, label in enumerate(labels)]


def test_a_csv_of_reviews_and_stars_needs_no_settings(tmp_path):
    (tmp_path / "shop.csv").write_text("review,stars\n" + "".join(f"review {n},{n % 5 + 1}\n" for n in range(50)))
    data = LocalDataset(path=str(tmp_path / "shop.csv")).load()
    assert (data.name, data.columns, data.label_names) == ("shop", ("review",), ("1", "2", "3", "4", "5"))
    assert {split: len(examples) for split, examples in data.splits.items()} == {"train": 40, "dev": 5, "test": 5}


@pytest.mark.parametrize(
    ("labels", "names", "unlabelled"),
    [
        ([1, 2, 3] * 4, ("1", "2", "3"), 0),
        ([5, 0, 2] * 4, ("0", "2", "5"), 0),
        ([10, 9] * 6, ("9", "10"), 0),
        ([1, 0, None, ""] * 6, ("0", "1"), 12),
        ([1.0, 0.0, float("nan")] * 4, ("0", "1"), 4),
        ([True, False] * 4, ("false", "true"), 0),
        (["no", "yes"] * 4, ("no", "yes"), 0),
    ],
    ids=["from one", "gaps", "numeric order", "unlabelled in the middle", "nan", "booleans", "names"],
)
def test_labels_are_identified_by_name(tmp_path, labels, names, unlabelled):
    data = LocalDataset(path=str(jsonl(tmp_path, train=rows(*labels)))).load()
    assert data.label_names == names
    assert data.dropped.get("unlabelled", 0) == unlabelled
    for examples in data.splits.values():
        for example in examples:
            value = labels[int(example.id.removeprefix("train-"))]
            assert data.label_names[example.label] == str(value).lower().removesuffix(".0")


def test_rows_without_text_are_dropped_and_counted(tmp_path):
    found = [
        *rows(*[0, 1] * 6),
        {"text": None, "label": 0},
        {"label": 1},
        {"text": "", "label": 0},
        {"text": " \u200b\ufeff\n", "label": 1},
    ]
    data = LocalDataset(path=str(jsonl(tmp_path, train=found))).load()
    assert data.dropped == {"missing text": 2, "empty": 2}
    assert sum(len(examples) for examples in data.splits.values()) == 12


@pytest.mark.parametrize(
    ("splits", "notices", "warnings"),
    [
        ({"train": [*rows(*[0, 1] * 49), *rows(None)]}, ["1 of 99 rows (1.0 %) dropped: they have no label"], []),
        ({"train": [*rows(*[0, 1] * 50), *rows(*[""] * 20)]}, [], ["20 of 120 rows (16.7 %) dropped: they have no label"]),
        ({"train": [*rows(*[0, 1] * 5), {"label": 1}]}, [], ["1 of 11 rows (9.1 %) dropped: they have no text"]),
        (
            {"train": rows(*[0, 1] * 50), "test": [*rows(0, 1), {"text": " ", "label": 1}]},
            ["a tenth of `train.jsonl` is used as the dev split"],
            ["1 of 3 rows of test (33.3 %) dropped: their text is empty"],
        ),
        ({"dev": rows(0, 1)}, [f"`dev.jsonl` {TEST_ONLY}"], []),
        ({"test": rows(0, 1)}, [f"`test.jsonl` {TEST_ONLY}"], []),
    ],
    ids=["few", "many", "no text", "of one split", "only dev", "only test"],
)
def test_dropped_rows_and_roles_of_splits_are_reported(tmp_path, splits, notices, warnings):
    data = LocalDataset(path=str(jsonl(tmp_path, **splits))).load()
    assert list(data.notices) == notices
    assert [warning for warning in data.warnings if "dropped" in warning] == warnings


def test_dividing_a_file_whose_name_contains_a_split_is_reported(tmp_path):
    jsonl(tmp_path, my_dev=rows(*[0, 1] * 5), my_train=rows(*[0, 1] * 5))
    (notice,) = LocalDataset(path=str(tmp_path / "my_dev.jsonl")).load().notices
    assert notice.startswith("`my_dev.jsonl` is divided into train, dev and test, although its name contains `validation`; rename it to ")
    assert not LocalDataset(path=str(tmp_path / "my_train.jsonl")).load().notices


def test_the_texts_of_a_pair_keep_their_order(tmp_path):
    found = [{"hypothesis": f"h{n}", "premise": f"p{n}", "label": n % 2} for n in range(10)]
    data = LocalDataset(path=str(jsonl(tmp_path, train=found))).load()
    assert data.columns == ("premise", "hypothesis")
    assert all(example.texts == (f"p{example.id[6:]}", f"h{example.id[6:]}") for example in data.splits["train"])


def test_label_indices_do_not_depend_on_the_order_of_rows(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = LocalDataset(path=str(jsonl(tmp_path / "a", train=rows(*["x", "y"] * 5)))).load()
    second = LocalDataset(path=str(jsonl(tmp_path / "b", train=rows(*["y", "x"] * 5)))).load()
    assert first.label_names == second.label_names == ("x", "y")


def test_declared_labels_fix_the_order_and_make_minus_one_a_label(tmp_path):
    folder = str(jsonl(tmp_path, train=rows(*[1, -1] * 5)))
    data = LocalDataset(path=folder, labels=("1", "-1")).load()
    assert data.label_names == ("1", "-1")
    assert not data.dropped
    with pytest.raises(DataError, match="a task needs two classes"):
        LocalDataset(path=folder, drop_labels=("-1",)).load()


def test_the_user_decides_whether_minus_one_is_a_class(tmp_path):
    folder = str(jsonl(tmp_path, train=rows(*[-1, 0, 1] * 20)))
    with pytest.raises(DataError, match=r"20 rows labelled `-1` .*; --drop-label -1 drops these rows, and --labels, given for every"):
        LocalDataset(path=folder).load()
    with pytest.raises(DataError, match=r"--set ood.local.drop_labels=-1 drops"):
        LocalDataset(path=folder).load_challenge()
    dropped = LocalDataset(path=folder, drop_labels=("-1",)).load()
    assert (dropped.label_names, dropped.dropped) == (("0", "1"), {"labelled `-1`": 20})
    assert LocalDataset(path=folder, labels=("-1", "0", "1")).load().label_names == ("-1", "0", "1")
    assert LocalDataset(path=folder, labels=("0", "1")).load().dropped == {"unlabelled": 20}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"drop_labels": ("postive",)}, "drop_labels: no row is labelled `postive`; did you mean `positive`?"),
        ({"drop_labels": ("-1",)}, "drop_labels: no row is labelled `-1`"),
        ({"drop_labels": ("mixed",), "labels": ("positive", "mixed", "negative")}, "drop_labels: `mixed` is also declared as a label"),
        ({"drop_labels": ("mixed", "negative")}, "a task needs two classes"),
    ],
)
def test_invalid_labels_to_drop_are_rejected(tmp_path, settings, message):
    with pytest.raises(DataError) as caught:
        LocalDataset(path=str(jsonl(tmp_path, train=rows(*["positive", "mixed", "negative"] * 10))), **settings).load()
    assert message in str(caught.value)


def test_a_few_unlabelled_rows_are_dropped_and_reported(tmp_path):
    data = LocalDataset(
        path=str(jsonl(tmp_path, train=rows(*["yes", "no"] * 100, "-", "-"), test=rows(*[-1] * 7), validation=rows("yes", "no")))
    ).load()
    assert data.dropped == {"unlabelled": 2}
    assert data.notices[0] == "the test split (7 rows) has no labels and is ignored"
    assert data.notices[1].startswith("2 rows labelled `-` treated as unlabelled; --labels")
    assert data.notices[2] == "2 of 202 rows of train (1.0 %) dropped: they have no label"
    assert LocalDataset(path=str(tmp_path), drop_labels=("-1", "-")).load().dropped == {"labelled `-`": 2}


@pytest.mark.parametrize("value", [-1, "-1", [-1], ["-1"], -1.0], ids=repr)
def test_numbers_in_a_table_of_settings_become_label_names(value):
    assert from_table(LocalDataset, {"drop_labels": value}).drop_labels == ("-1",)


@pytest.mark.parametrize("test", [[{"text": "x"}], [{"text": "x", "label": -1}], []], ids=["no column", "all -1", "no file"])
def test_an_unlabelled_test_split_is_ignored(tmp_path, test):
    splits = {"train": rows(*[0, 1] * 10), "validation": rows(0, 1), **({"test": test} if test else {})}
    data = LocalDataset(path=str(jsonl(tmp_path, **splits))).load()
    assert [len(data.splits[split]) for split in ("train", "dev", "test")] == [18, 2, 2]
    assert {example.id for example in data.splits["test"]} == {"validation-0", "validation-1"}
    assert not data.dropped


@pytest.mark.parametrize(
    ("splits", "settings", "message"),
    [
        ({"train": rows(*"ab" * 5), "validation": rows("a", "c")}, {}, "the label `c` is in test but never in train, which has `a`, `b`"),
        ({"train": rows(*"ab" * 5), "test": rows("a", "B.")}, {}, "if it is another spelling of `b`, use one spelling in all files"),
        ({"train": rows(*"aa" * 5)}, {}, "all training rows are labelled `a`; a task needs two classes"),
        ({"train": rows(*[-1] * 5)}, {}, "no usable rows are left for the train split, 5 unlabelled"),
        ({"validation": rows(*"ab"), "test": rows(*"ab")}, {}, "there is no training split, only test and validation"),
        ({"train": rows(*"ab" * 5), "validation": [{"txt": "x", "label": "a"}]}, {}, "no column `text`, which another split has"),
        ({"train": rows(*"ab" * 5)}, {"label_column": "lable"}, "there is no column `lable`; did you mean `label`?"),
        ({"train": rows(*"ab" * 5)}, {"labels": ("a", "c")}, "the label `b` is not one of the declared labels"),
        ({"train": rows(*"ab" * 5)}, {"labels": ("a", "b", "a")}, "declared twice"),
        ({"train": [*rows(*"ab" * 5), {"text": ["x"], "label": "a"}]}, {}, "row 11: a text must be a string, not a list"),
        (
            {"train": [*rows(*"ab" * 5), {"text": "x", "label": {"name": "a"}}]},
            {},
            "row 11: a label must be a name or a number, not an object (of `name`)",
        ),
        (
            {"train": [{"data": {"text": "x", "label": "a"}}] * 9},
            {},
            "`data` contains an object (of `text`, `label`): write its fields into separate columns",
        ),
        ({"train": [{"text": "x", "split": "train"}, {"text": "y", "split": "test"}] * 9}, {}, "column `split` ("),
    ],
)
def test_rows_that_do_not_form_a_task_are_rejected_with_one_line(tmp_path, splits, settings, message):
    with pytest.raises(DataError) as caught:
        LocalDataset(path=str(jsonl(tmp_path, **splits)), **settings).load()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_train_rows_samples_after_dev_is_held_out(tmp_path):
    folder = str(jsonl(tmp_path, train=rows(*[0, 0, 0, 1] * 50), validation=rows(0, 1)))
    whole, half = LocalDataset(path=folder).load(), LocalDataset(path=folder, train_rows=90).load()
    assert (half.splits["dev"], half.splits["test"]) == (whole.splits["dev"], whole.splits["test"])
    assert set(half.splits["train"]) < set(whole.splits["train"])
    assert (len(half.splits["train"]), sum(example.label for example in half.splits["train"])) in {(90, 22), (90, 23)}
    assert half.fingerprint != whole.fingerprint


def test_the_fingerprint_depends_on_the_content_and_not_on_the_location(tmp_path):
    for name in ("here", "there", "other"):
        (tmp_path / name).mkdir()
    here = LocalDataset(path=str(jsonl(tmp_path / "here", train=rows(*[0, 1] * 10)))).load()
    there = LocalDataset(path=str(jsonl(tmp_path / "there", train=rows(*[0, 1] * 10)))).load()
    other = LocalDataset(path=str(jsonl(tmp_path / "other", train=rows(*[0, 1] * 9, 1, 1)))).load()
    assert here.fingerprint == there.fingerprint != other.fingerprint


def test_lone_surrogates_are_replaced(tmp_path):
    folder = jsonl(tmp_path, train=[{"text": f"{n} \ud83d", "label": n % 2} for n in range(10)])
    assert all(example.texts[0].endswith("?") for example in LocalDataset(path=str(folder)).load().splits["train"])


def test_settings_are_read_from_a_table_and_a_string_is_a_list_of_names():
    task = from_table(LocalDataset, {"path": "x", "text_columns": "premise, hypothesis", "labels": ["b", "a"]})
    assert (task.text_columns, task.labels) == (("premise", "hypothesis"), ("b", "a"))
    with pytest.raises(SettingError):
        from_table(LocalDataset, {"text_columns": 3})


@pytest.mark.parametrize(
    ("folder", "columns", "names", "sizes"),
    [
        ("sst2", ("sentence",), ("negative", "positive"), (6228, 692, 872)),
        ("ag_news", ("text",), ("business", "sci/tech", "sports", "world"), (5040, 560, 1000)),
        ("sick", ("premise", "hypothesis"), ("contradiction", "entailment", "neutral"), (3995, 444, 495)),
        ("hans", ("premise", "hypothesis"), ("entailment", "non-entailment"), (0, 0, 6000)),
        ("mrpc", ("sentence1", "sentence2"), ("equivalent", "not_equivalent"), (3668, 408, 1725)),
        ("fever_symmetric", ("claim", "evidence"), ("REFUTES", "SUPPORTS"), (0, 0, 708)),
    ],
)
def test_real_data_sets_load_without_settings(folder, columns, names, sizes):
    if not SHARED.is_dir():
        pytest.skip(f"needs the data sets in {SHARED}")
    data = LocalDataset(path=str(SHARED / folder)).load()
    assert (data.name, data.columns, data.label_names) == (folder, columns, names)
    assert tuple(len(data.splits[split]) for split in ("train", "dev", "test")) == sizes
    assert not data.dropped


def test_a_data_set_without_labels_is_reported_as_such():
    if not SHARED.is_dir():
        pytest.skip(f"needs the data sets in {SHARED}")
    with pytest.raises(DataError, match="no label column found; name it with --label-column"):
        LocalDataset(path=str(SHARED / "wikitext2")).load()


def test_importing_the_tasks_imports_no_heavy_libraries():
    heavy = "torch", "datasets", "pandas", "pyarrow", "numpy", "sklearn", "transformers"
    modules = "ticketlab.tasks.datasets.lookup, ticketlab.tasks.datasets.hub, ticketlab.tasks.demo.reviews"
    code = f"import {modules}, sys; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("texts", "warning", "notice"),
    [
        (["nan", "None", "nan", "a film"], "3 of 4 texts in `text` (75.0 %) are `nan`, `None`: a missing value written as text?", ""),
        (["#N/A", *"abc"], "1 of 4 texts in `text` (25.0 %) is `#N/A`: a missing", ""),
        (["N/A", *map(str, range(99))], "", "1 of 100 texts in `text` (1.0 %) is `N/A`: a missing value"),
        (["caf\ufffd", "tr\ufffds b\ufffdn", *"ab"], "2 of 4 texts in `text` (50.0 %) contain the character U+FFFD", ""),
        (
            ["caf\u00c3\u00a9", "d\u00e9j\u00e0 vu", "it\u00e2\u20ac\u2122s"],
            "2 of 3 texts in `text` (66.7 %) seem to be UTF-8 decoded as",
            "",
        ),
        (["caf\u00e9", "N\u00c3O", "\u00abIRM\u00c3\u00bb", "none of it", "?", "unknown"], "", ""),
    ],
    ids=["missing", "spreadsheet error", "a few", "replaced", "decoded wrongly", "undamaged"],
)
def test_damaged_texts_are_reported(texts: list[str], warning: str, notice: str) -> None:
    notices, warnings = find_damage([Example(str(n), (text,), 0) for n, text in enumerate(texts)], ("text",))
    assert [found[: len(warning)] for found in warnings] == [warning] * bool(warning)
    assert [found[: len(notice)] for found in notices] == [notice] * bool(notice)
