import json
import random

import pytest
import torch

from ticketlab.bias_models.probabilities import read, write
from ticketlab.core.errors import DataError
from ticketlab.tasks.base import Example

NAMES = ("entailment", "neutral", "contradiction")
EXAMPLES = [Example(f"train-{number}", ("a", "b"), 0) for number in range(4)]
ROWS = [[0.7, 0.2, 0.1], [0.1, 0.1 + 0.2, 0.6], [0.0, 1.0, 0.0], [1 / 3, 1 / 3, 1 / 3]]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "bias.jsonl"
    write(path, EXAMPLES, ROWS, NAMES)
    return path


def put(folder, lines, name="user.jsonl"):
    path = folder / name
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
    return path


def row(id, *values, names=NAMES):
    return {"id": id, **dict(zip(names, values, strict=True))}


def test_written_probabilities_are_read_as_log_probabilities(file):
    found = read(file, EXAMPLES, NAMES)
    assert found.dtype == torch.float32
    assert found[0].tolist() == pytest.approx([-0.356675, -1.609438, -2.302585], abs=1e-6)  # ln .7, ln .2, ln .1
    assert found[2].tolist() == pytest.approx([-13.815511, 0, -13.815511], abs=1e-5)  # the floor is 1e-6


def test_floats_are_read_back_exactly(file):
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [[row[name] for name in NAMES] for row in rows] == ROWS
    assert list(rows[0]) == ["id", *NAMES]


def test_rows_are_matched_by_id_in_any_order_of_rows_and_columns(file, tmp_path):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    random.Random(1).shuffle(lines)
    mixed = put(tmp_path, [dict(reversed(line.items())) for line in lines])
    assert torch.equal(read(mixed, EXAMPLES, NAMES), read(file, EXAMPLES, NAMES))
    assert torch.equal(read(mixed, EXAMPLES[::-1], NAMES[::-1]), read(file, EXAMPLES, NAMES).flip(0, 1))


def test_additional_rows_and_columns_are_ignored(file, tmp_path):
    lines = [{**json.loads(line), "premise": "a"} for line in file.read_text().splitlines()]
    more = put(tmp_path, [row("dev-1", 0, 0, 0), *lines])
    assert torch.equal(read(more, EXAMPLES, NAMES), read(file, EXAMPLES, NAMES))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "json"])
def test_a_users_table_is_read(tmp_path, suffix):
    path = tmp_path / f"user.{suffix}"
    rows = [row(7, 0.7, 0.2, 0.1), row(8, 0.25, 0.25, 0.5)]
    if suffix == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif suffix == "json":
        path.write_text(json.dumps(rows))
    else:
        mark = "," if suffix == "csv" else "\t"
        path.write_text("\n".join(mark.join(map(str, cells)) for cells in (rows[0], *(each.values() for each in rows))) + "\n")
    found = read(path, [Example("8", ("a",), 0), Example("7", ("a",), 0)], NAMES)
    assert found.exp()[0].tolist() == pytest.approx([0.25, 0.25, 0.5])
    assert found.exp()[1].tolist() == pytest.approx([0.7, 0.2, 0.1])


def test_rows_whose_sum_is_nearly_1_are_normalised(tmp_path):
    path = put(tmp_path, [row("train-0", 0.7003, 0.2003, 0.1003)])
    assert read(path, EXAMPLES[:1], NAMES).exp().sum().item() == pytest.approx(1, abs=1e-6)


GOOD = [row(f"train-{number}", 0.5, 0.25, 0.25) for number in range(4)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        pytest.param(GOOD[2:], r"2 of 4 ids are not in the file; the first is `train-0`", id="missing"),
        pytest.param(
            [row("x", 1, 0, 0)],
            r"none of the 4 ids is in the file; .* like `train-0`, .* like `x`",
            id="none",
        ),
        pytest.param([*GOOD, GOOD[1], GOOD[1]], r"2 of 6 rows have the id of another row; the first is `train-1`", id="twice"),
        pytest.param([{**GOOD[0], "id": None}, *GOOD[1:]], r"row 1: the `id` must be a text or a number, not None", id="no id"),
        pytest.param([{"entailment": 1}], r"there is no column `id`.*matches rows", id="no column of ids"),
        pytest.param(
            [row(f"train-{number}", 0.5, 0.25, 0.25, names=("entailment", "Neutral", "contradiction")) for number in range(4)],
            r"no column `neutral`; did you mean `Neutral`\?.*`entailment`, `neutral`, `contradiction`",
            id="another name",
        ),
        pytest.param([{"id": "train-0", "entailment": 1}], r"no column `neutral`; every label", id="a label missing"),
        pytest.param(
            [*GOOD[:3], {"id": "train-3", "entailment": 1, "neutral": 0}], r"`contradiction` of `train-3` is None", id="a cell missing"
        ),
        pytest.param([*GOOD[:3], row("train-3", 1, "no", 0)], r"`neutral` of `train-3` is 'no', which is not a number", id="no number"),
        pytest.param([*GOOD[:3], row("train-3", True, 0, 0)], r"`entailment` of `train-3` is True, which is not", id="true"),
        pytest.param([*GOOD[:3], '{"id": "train-3", "entailment": NaN, "neutral": 0, "contradiction": 1}'], r"nan, which is not", id="nan"),
        pytest.param(
            [*GOOD[:3], row("train-3", 1.5, -0.5, 0)], r"`neutral` of `train-3` is -0\.5, and a probability is never", id="negative"
        ),
        pytest.param(
            [*GOOD[:2], row("train-2", 0.5, 0.5, 0.25), row("train-3", 0, 0, 0)],
            r"2 of 4 ids do not add up to 1; the first is `train-2`, which adds up to 1\.25",
            id="sum",
        ),
    ],
)
def test_an_invalid_file_is_an_error_that_names_the_problem(tmp_path, lines, message):
    with pytest.raises(DataError, match=message) as problem:
        read(put(tmp_path, lines), EXAMPLES, NAMES)
    assert "user.jsonl" in str(problem.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [("no.jsonl", "there is no such file"), ("bias.pt", "a pickle, which can run code"), ("bias.x", "this kind of file is not supported")],
)
def test_an_unreadable_file_is_named(tmp_path, name, message):
    for other in ("bias.pt", "bias.x"):
        (tmp_path / other).write_bytes(b"x")
    with pytest.raises(DataError, match=message):
        read(tmp_path / name, EXAMPLES, NAMES)


def test_a_label_called_id_is_refused(tmp_path):
    with pytest.raises(DataError, match="a label is called `id`"):
        write(tmp_path / "bias.jsonl", EXAMPLES, ROWS, ("id", "b", "c"))
    assert list(tmp_path.iterdir()) == []
