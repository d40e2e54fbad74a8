"""Named data sets, read from a folder of local copies or from the hub."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import pytest

from ticketlab.core.errors import DataError
from ticketlab.tasks.datasets.hub import Mnli, Qqp, Sst2
from ticketlab.tasks.datasets.hub_challenges import Hans, PawsWiki
from ticketlab.tasks.datasets.lookup import find_task
from ticketlab.tasks.datasets.manual_download import Fever, FeverSymmetricV1, FeverSymmetricV2, PawsQqp


def unreachable(*place: Any, **settings: Any) -> None:
    raise ConnectionError("no hub here")


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TICKETLAB_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    return tmp_path


def jsonl(file: Path, rows: list[Mapping[str, Any]]) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def labelled(count: int, labels: list[Any], *, label: str = "label", **texts: str) -> list[Mapping[str, Any]]:
    """Return rows with the given columns and alternating ``labels``."""
    return [{**{name: f"{text} {n}" for name, text in texts.items()}, label: labels[n % len(labels)]} for n in range(count)]


def test_a_local_copy_takes_precedence_over_the_hub(copies: Path) -> None:
    jsonl(copies / "sst2" / "train.jsonl", labelled(40, ["positive", "negative"], sentence="s"))
    jsonl(copies / "sst2" / "validation.jsonl", labelled(6, [1, 0], sentence="v"))
    jsonl(copies / "sst2" / "test.jsonl", labelled(6, [-1], sentence="t"))
    data = Sst2().load()
    assert (data.name, data.columns, data.label_names) == ("sst2", ("sentence",), ("negative", "positive"))
    assert {split: len(found) for split, found in data.splits.items()} == {"train": 36, "dev": 4, "test": 6}
    assert [(example.id, example.label) for example in data.splits["test"][:2]] == [("validation-0", 1), ("validation-1", 0)]


def test_the_settings_of_the_task_apply_to_a_copy(copies: Path) -> None:
    jsonl(copies / "qqp.jsonl", labelled(50, [0, 1], label="is_duplicate", question1="q", question2="r"))
    assert len(Qqp(train_rows=10).load().splits["train"]) == 10


def test_a_copy_of_mnli_is_read_in_its_published_form(copies: Path) -> None:
    (copies / "mnli").mkdir()
    header = "index\tsentence1\tsentence2\tgold_label\n"
    for file, count in (("train", 20), ("dev_matched", 6), ("dev_mismatched", 9)):
        lines = [f"{n}\tp {n}\th {n}\t{('entailment', 'neutral', 'contradiction')[n % 3]}\n" for n in range(count)]
        (copies / "mnli" / f"{file}.tsv").write_text(header + "".join(lines))
    data = Mnli().load()
    assert (data.columns, data.label_names) == (("premise", "hypothesis"), ("entailment", "neutral", "contradiction"))
    assert [(example.texts, example.label) for example in data.splits["test"]] == [((f"p {n}", f"h {n}"), n % 3) for n in range(6)]


def test_hans_has_subsets_with_either_set_of_column_names(copies: Path) -> None:
    rows = labelled(8, ["non-entailment", "entailment"], label="gold_label", sentence1="p", sentence2="h")
    jsonl(copies / "hans" / "validation.jsonl", [{**row, "heuristic": "overlap", "subcase": f"c{n}"} for n, row in enumerate(rows)])
    data = Hans().load_challenge()
    assert (data.columns, data.label_names, data.subsets) == (
        ("premise", "hypothesis"),
        ("entailment", "non-entailment"),
        ("heuristic", "subcase"),
    )
    first = data.splits["test"][0]
    assert (first.texts, first.label, first.subsets) == (("p 0", "h 0"), 1, ("overlap", "c0"))
    jsonl(copies / "hans" / "validation.jsonl", rows)
    assert Hans(train_share=0.5).load_challenge().subsets == ()


def test_label_numbers_of_paws_become_names(copies: Path) -> None:
    for file, labels in (("train", [0]), ("dev_and_test", [1, 0, 0])):
        (copies / "paws_qqp").mkdir(exist_ok=True)
        lines = "".join(f"{n}\ta {n}\tb {n}\t{labels[n % len(labels)]}\n" for n in range(6))
        (copies / "paws_qqp" / f"{file}.tsv").write_text("id\tsentence1\tsentence2\tlabel\n" + lines)
    data = PawsQqp().load_challenge()
    assert data.label_names == ("not_paraphrase", "paraphrase")
    assert [example.label for example in data.splits["test"]] == [1, 0, 0, 1, 0, 0]
    assert [example.label for example in data.splits["train"]] == [0] * 6


@pytest.mark.parametrize("challenge", [True, False], ids=["as a challenge set", "as a task"])
def test_both_forms_of_fever_symmetric_are_read(copies: Path, challenge: bool) -> None:
    jsonl(copies / "fever_symmetric_v1.jsonl", labelled(4, ["REFUTES", "SUPPORTS"], claim="c", evidence_sentence="e"))
    second = labelled(4, ["REFUTES", "SUPPORTS"], label="gold_label", claim="c", evidence="e", sentence1="e", sentence2="c")
    jsonl(copies / "fever_symmetric_v2" / "test.jsonl", second)
    for task in (FeverSymmetricV1(), FeverSymmetricV2()):
        data = task.load_challenge() if challenge else task.load()
        assert (data.columns, data.label_names) == (("claim", "evidence"), ("SUPPORTS", "REFUTES"))
        assert [(example.texts, example.label) for example in data.splits["test"][:2]] == [(("c 0", "e 0"), 1), (("c 1", "e 1"), 0)]
        assert not data.splits["train"]


def test_fever_without_the_text_of_its_evidence_is_rejected(copies: Path) -> None:
    jsonl(copies / "fever.jsonl", [{"claim": "c", "label": "SUPPORTS", "evidence": [[[1, 2, "Page", 3]]]}])
    with pytest.raises(DataError, match=r"fever.jsonl row 1: a text must be a string, not a list"):
        Fever().load()


def hub_split(names: list[str] | None, labels: list[Any], **columns: list[str]) -> datasets.Dataset:
    kind = datasets.ClassLabel(names=names) if names else datasets.Value("int64" if isinstance(labels[0], int) else "string")
    features = datasets.Features({name: datasets.Value("string") for name in columns} | {"label": kind})
    return datasets.Dataset.from_dict({**columns, "label": labels}, features=features)


@pytest.mark.parametrize(
    ("names", "labels"), [(["0", "1"], [0, 1, -1, 1]), (None, [0, 1, -1, 1]), (["not_paraphrase", "paraphrase"], [0, 1, -1, 1])]
)
def test_paws_on_the_hub(monkeypatch: pytest.MonkeyPatch, names: list[str] | None, labels: list[int]) -> None:
    requests = []

    def load_dataset(place: str, config: str, *, split: str) -> datasets.Dataset:
        requests.append((place, config, split))
        texts = [f"{split} {n}" for n in range(4)]
        return hub_split(names, labels, sentence1=texts, sentence2=texts)

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    data = PawsWiki().load()
    assert requests == [("google-research-datasets/paws", "labeled_final", split) for split in ("train", "validation", "test")]
    assert data.label_names == ("not_paraphrase", "paraphrase")
    assert [(example.id, example.label) for example in data.splits["test"]] == [("test-0", 0), ("test-1", 1), ("test-3", 1)]
    assert data.splits["dev"][0].id == "validation-0"
    assert data.dropped == {"unlabelled": 3}


def test_hans_on_the_hub_is_read_from_its_parquet_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_dataset(place: str, config: None, *, split: str, revision: str) -> datasets.Dataset:
        assert (place, config, revision) == ("jhu-cogsci/hans", None, "refs/convert/parquet")
        texts = [f"{split} {n}" for n in range(20)]
        parts = ["overlap", "subsequence"] * 10
        columns = {"premise": texts, "hypothesis": texts, "heuristic": parts, "subcase": parts, "template": texts}
        return hub_split(["entailment", "non-entailment"], [0, 1] * 10, **columns)

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    data = Hans().load_challenge()
    assert data.subsets == ("heuristic", "subcase")
    assert [len(data.splits[split]) for split in ("train", "dev", "test")] == [20, 0, 20]
    assert data.splits["test"][1].subsets == ("subsequence", "subsequence")


def test_other_label_names_on_the_hub_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "load_dataset", lambda *place, split: hub_split(["bad", "good"], [0, 1], sentence=["x", "y"]))
    with pytest.raises(DataError, match="no longer has the label names negative, positive; pass a local copy"):
        Sst2().load()


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (Mnli(), ["task `mnli`: cannot read nyu-mll/glue/mnli from the hub", "--task PATH", "$TICKETLAB_DATA/mnli"]),
        (Hans(), ["task `hans`: cannot read jhu-cogsci/hans from the hub", "$TICKETLAB_DATA/hans"]),
        (PawsQqp(), ["https://github.com/google-research-datasets/paws", "dev_and_test.tsv", "not_paraphrase or paraphrase"]),
        (Fever(), ["https://fever.ai/dataset/fever.html", "columns claim, evidence and label", "NOT ENOUGH INFO"]),
        (FeverSymmetricV1(), ["https://github.com/TalSchuster/FeverSymmetric", "symmetric_v0.1/fever_symmetric_generated.jsonl"]),
        (FeverSymmetricV2(), ["https://github.com/TalSchuster/FeverSymmetric", "symmetric_v0.2/fever_symmetric_test.jsonl"]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
@pytest.mark.parametrize("folder", [True, False], ids=["nothing in the folder", "no folder"])
def test_unavailable_data_sets_are_described_with_their_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, task: Any, words: list[str], folder: bool
) -> None:
    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    monkeypatch.setenv("TICKETLAB_DATA", str(tmp_path) if folder else "")
    with pytest.raises(DataError) as caught:
        task.load()
    message = str(caught.value)
    assert [word for word in [*words, "TICKETLAB_DATA"] if word not in message] == []
    assert "\n" not in message


def test_a_copy_with_a_similar_name_is_suggested(copies: Path) -> None:
    jsonl(copies / "fever_symmetric" / "test.jsonl", labelled(4, ["REFUTES", "SUPPORTS"], claim="c", evidence="e"))
    with pytest.raises(DataError, match="did you mean `fever_symmetric`"):
        FeverSymmetricV1().load_challenge()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"hans.jsonl": [{"premise": "p", "label": "entailment"}]},
            "task `hans` needs a column `hypothesis` or `sentence2`; the columns are",
        ),
        ({"hans.jsonl": [{"premise": "p", "hypothesis": "h"}]}, "task `hans` needs a column `label` or `gold_label`; the columns are"),
        ({"hans.jsonl": labelled(4, ["yes", "no"], premise="p", hypothesis="h")}, "the label `no` is not one of the declared labels"),
        ({"hans.jsonl": labelled(4, [-1], premise="p", hypothesis="h")}, "no usable rows are left for the test split, 4 unlabelled"),
        ({"hans.jsonl": [], "hans.csv": []}, "there are hans.csv and hans.jsonl; keep one copy of `hans`"),
    ],
    ids=["a text", "the label", "other labels", "no labels", "two copies"],
)
def test_an_unsuitable_copy_is_rejected(copies: Path, files: dict[str, Any], message: str) -> None:
    for name, rows in files.items():
        jsonl(copies / name, rows)
    with pytest.raises(DataError) as caught:
        Hans().load_challenge()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_folder_of_copies_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TICKETLAB_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"TICKETLAB_DATA=.*nowhere: there is no such folder"):
        Sst2().load()


def test_train_share_is_rejected_for_a_data_set_with_a_training_split(copies: Path) -> None:
    jsonl(copies / "sst2" / "train.jsonl", labelled(40, ["positive", "negative"], sentence="s"))
    jsonl(copies / "sst2" / "validation.jsonl", labelled(6, [1, 0], sentence="v"))
    with pytest.raises(DataError, match=r"task `sst2` at .*: train_share: the set already has a training split"):
        Sst2(train_share=0.5).load_challenge()


def test_two_splits_without_a_training_split_are_a_challenge_set_only(copies: Path) -> None:
    for split in ("validation", "test"):
        jsonl(copies / "fever_symmetric_v2" / f"{split}.jsonl", labelled(4, ["REFUTES", "SUPPORTS"], claim="c", evidence="e"))
    data = FeverSymmetricV2().load_challenge()
    assert [example.id for example in data.splits["test"]] == [f"test-{n}" for n in range(4)]
    with pytest.raises(DataError, match="there is no training split, only test and validation"):
        FeverSymmetricV2().load()


def test_real_data_sets_are_read_by_name(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TICKETLAB_DATA", str(real_data))
    data = find_task("hans").load_challenge()
    assert (len(data.splits["test"]), data.label_names, data.subsets) == (6000, ("entailment", "non-entailment"), ("heuristic", "subcase"))
    news = find_task("ag_news").load()
    assert news.label_names == ("World", "Sports", "Business", "Sci/Tech")
