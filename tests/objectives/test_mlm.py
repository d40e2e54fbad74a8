import json

import pytest

from ticketlab.core.errors import DataError, UsageError
from ticketlab.core.settings import build_component
from ticketlab.objectives.base import TrainingContext
from ticketlab.objectives.mlm import MaskedLM
from ticketlab.tasks.datasets.plain_text import read_paragraphs


def texts(examples) -> list[str]:
    return [example.texts[0] for example in examples]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "old mac"])
@pytest.mark.parametrize("suffix", ["txt", "csv", "jsonl", "json", "tsv"])
def test_a_paragraph_is_a_line_or_a_row(tmp_path, suffix, end):
    paragraphs = [f"paragraph number {index}" for index in range(30)]
    lines = {
        "txt": paragraphs,
        "csv": ["text", *paragraphs],
        "tsv": ["id\ttext", *(f"{index}\t{text}" for index, text in enumerate(paragraphs))],
        "jsonl": [json.dumps({"text": text}) for text in paragraphs],
        "json": [json.dumps([{"text": text, "label": 1} for text in paragraphs])],
    }[suffix]
    path = tmp_path / f"words.{suffix}"
    path.write_bytes(end.join(lines).encode())
    found = read_paragraphs(str(path))
    assert sorted(texts(found.train) + texts(found.dev)) == sorted(paragraphs)
    assert len(found.dev) == 3
    assert read_paragraphs(str(path)) == found, "the same tenth each time"


def test_a_validation_file_is_the_development_text_and_a_test_file_is_ignored(tmp_path):
    for split in ("train", "validation", "test"):
        (tmp_path / f"{split}.txt").write_text("\n".join(f"{split} {index}" for index in range(20)))
    found = read_paragraphs(str(tmp_path))
    assert texts(found.train) == [f"train {index}" for index in range(20)]
    assert texts(found.dev) == [f"validation {index}" for index in range(20)]


def test_empty_paragraphs_are_counted(text_file, paragraphs):
    found = read_paragraphs(str(text_file))
    assert found.dropped["empty"] == len(paragraphs) - 1
    assert len(found.train) + len(found.dev) == len(paragraphs)


@pytest.mark.parametrize(
    ("settings", "counts", "dropped", "notice"),
    [
        ({}, (20, 10), {"test split": 5}, "column `split` (`train` 20, `dev` 10, `test` 5) divides the rows; --set STAGE.objective.split_"),
        ({"split_column": None}, (31, 4), {}, "does not divide the rows, because split_column is none"),
    ],
    ids=["found", "none"],
)
def test_rows_marked_as_test_are_not_trained_on(tmp_path, settings, counts, dropped, notice):
    rows = [f"words of number {number},{'train' if number < 20 else 'dev' if number < 30 else 'test'}" for number in range(35)]
    (tmp_path / "all.csv").write_text("\n".join(["text,split", *rows]))
    found = read_paragraphs(str(tmp_path / "all.csv"), **settings)
    assert (len(found.train), len(found.dev)) == counts
    assert found.dropped == dropped
    assert notice in found.notices[0]


ROWS = "\n".join(f"first {index},second {index}" for index in range(20))


@pytest.mark.parametrize(
    ("name", "content", "settings", "message"),
    [
        ("w.csv", f"one,two\n{ROWS}", {}, r"w\.csv: the text could be `one` or `two`; name it with STAGE\.objective\.text_column"),
        ("w.csv", f"one,two\n{ROWS}", {"text_column": "tow"}, r"objective\.text_column: there is no column `tow`; did you mean `two`"),
        ("w.csv", f"one,two\n{ROWS}", {"text_column": "x"}, r"the columns are .*one.*two"),
        ("w.csv", "n\n1\n2\n3", {}, r"no text column found"),
        ("w.txt", "\n \n\n", {}, r"w\.txt: there are too few paragraphs in `text` \(0 for training"),
        ("w.txt", "only one", {}, r"too few paragraphs"),
        (
            "w.csv",
            "text,split\n" + "a b,test\n" * 9,
            {},
            r"no row belongs to the split train; use --set STAGE\.objective\.split_column=",
        ),
        ("w.pdf", "x", {}, r"it is a document; put texts"),
        ("test.txt", "x\ny", {}, r"there is no training text; name a file train"),
        ("w.txt", "short\n" * 40, {}, r"too few paragraphs in `text` \(40 for training and 0 for evaluation, 0 empty, 1 different\)"),
        ("w.txt", "".join(f"{'面' * n} " * 9 + "\n" for n in range(1, 41)), {}, r"no token of the development text is in the vocabulary"),
        ("w.txt", "".join(f"short {n}\n" for n in range(40)), {}, r"none of 36 paragraphs has 8 tokens or more; lower objective\.shortest"),
    ],
    ids=[
        "two readings",
        "wrong column",
        "far column",
        "numbers",
        "empty",
        "one",
        "all of test",
        "pdf",
        "test only",
        "all the same",
        "unknown tokens",
        "all short",
    ],
)
def test_unusable_text_is_one_clear_error(tiny, tmp_path, name, content, settings, message):
    path = tmp_path / name
    path.write_text(content)
    objective = MaskedLM(text=str(path), **settings)
    with pytest.raises(DataError, match=message):
        start_as_a_run_does(objective, tiny["bert"])


def start_as_a_run_does(objective, model) -> None:
    objective.external_inputs()
    objective.start_session(training_context(model))


def training_context(model) -> TrainingContext:
    return TrainingContext(str(model), None, None, 32, "fp32", 0)  # type: ignore[arg-type]  # neither task nor loss


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"objective\.text: masked language modelling needs text: a \.txt file"),
        ("./nowhere.txt", r"nowhere\.txt: there is no such file or folder"),
        ("no-such-set", r"there is no file or folder no-such-set: cannot read no-such-set from the hub: .*pass a local text"),
    ],
    ids=["none", "missing", "hub"],
)
def test_missing_text_is_one_clear_error(text, message):
    with pytest.raises(DataError, match=message):
        MaskedLM(text=text).external_inputs()


def test_rows_and_development_rows_are_limited_by_the_hash_of_their_ids(tiny, text_file):
    few = MaskedLM(text=str(text_file), rows=10, dev_rows=4, shortest=1).start_session(training_context(tiny["bert"]))
    more = MaskedLM(text=str(text_file), rows=20, dev_rows=4, shortest=1).start_session(training_context(tiny["bert"]))
    assert {tuple(row) for row in few.rows.input_ids} < {tuple(row) for row in more.rows.input_ids}
    assert few.evaluate() == more.evaluate()
    assert few.facts()["dropped"] == {"empty": 95, "short": 0}


def test_an_objective_is_named_and_set_as_any_component(text_file):
    built = build_component("objective", {"name": "mlm", "text": str(text_file), "mask_ratio": "1/5"}, "search.objective")
    assert isinstance(built, MaskedLM)
    assert built.mask_ratio == 0.2


def test_a_tokenizer_without_a_mask_token_is_refused(tiny, tmp_path, text_file):
    from ticketlab.backbone.loading import load_classifier
    from ticketlab.backbone.saving import save

    model, tokenizer = load_classifier(str(tiny["bert"]), ("a", "b"), 0)
    tokenizer.mask_token = None
    save(model, tokenizer, tmp_path / "model")
    with pytest.raises(UsageError, match="no mask token"):
        MaskedLM(text=str(text_file)).start_session(training_context(tmp_path / "model"))
