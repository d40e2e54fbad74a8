from collections import Counter

import datasets
import pytest

from ticketlab.core.errors import DataError
from ticketlab.tasks.datasets.hub import AgNews, Cola, Imdb, Mnli, Mrpc, NamedHubDataset, Qnli, Qqp, Rte, Sst2, Wnli

GLUE = "nyu-mll/glue"


def split(columns: tuple[str, ...], names: list[str], size: int, unlabelled: bool = False) -> datasets.Dataset:
    text = {column: datasets.Value("string") for column in columns}
    features = datasets.Features({**text, "label": datasets.ClassLabel(names=names), "idx": datasets.Value("int32")})
    values = {column: [f"{column} {n}" for n in range(size)] for column in columns}
    labels = [-1 if unlabelled else n % len(names) for n in range(size)]
    return datasets.Dataset.from_dict({**values, "label": labels, "idx": list(range(size))}, features=features)


@pytest.mark.parametrize(
    ("task", "place", "columns", "names", "test"),
    [
        (Sst2(), (GLUE, "sst2"), ("sentence",), ["negative", "positive"], "validation"),
        (Imdb(), ("stanfordnlp/imdb", None), ("text",), ["neg", "pos"], "test"),
        (AgNews(), ("fancyzhx/ag_news", None), ("text",), ["World", "Sports", "Business", "Sci/Tech"], "test"),
        (Qnli(), (GLUE, "qnli"), ("question", "sentence"), ["entailment", "not_entailment"], "validation"),
        (Qqp(), (GLUE, "qqp"), ("question1", "question2"), ["not_duplicate", "duplicate"], "validation"),
        (Mrpc(), (GLUE, "mrpc"), ("sentence1", "sentence2"), ["not_equivalent", "equivalent"], "validation"),
        (Cola(), (GLUE, "cola"), ("sentence",), ["unacceptable", "acceptable"], "validation"),
        (Rte(), (GLUE, "rte"), ("sentence1", "sentence2"), ["entailment", "not_entailment"], "validation"),
        (Wnli(), (GLUE, "wnli"), ("sentence1", "sentence2"), ["not_entailment", "entailment"], "validation"),
        (Mnli(), (GLUE, "mnli"), ("premise", "hypothesis"), ["entailment", "neutral", "contradiction"], "validation_matched"),
    ],
    ids=["sst2", "imdb", "ag_news", "qnli", "qqp", "mrpc", "cola", "rte", "wnli", "mnli"],
)
def test_a_named_data_set_has_the_columns_labels_and_splits_of_the_papers(monkeypatch, task: NamedHubDataset, place, columns, names, test):
    hub = datasets.DatasetDict({"train": split(columns, names, 40), test: split(columns, names, 8)})
    requests = []

    def load_dataset(path, config=None, *, split):
        requests.append((path, config))
        return hub[split]

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    data = task.load()
    assert set(requests) == {place}
    assert (data.name, data.columns, data.label_names) == (task.name, columns, tuple(names))
    # GLUE: https://gluebenchmark.com/tasks
    assert (data.positive_label, data.measures) == {
        "qqp": ("duplicate", ("binary_f1",)), "mrpc": ("equivalent", ("binary_f1",)), "cola": (None, ("matthews",))
    }.get(task.name, (None, ()))  # fmt: skip
    assert {name: len(examples) for name, examples in data.splits.items()} == {"train": 36, "dev": 4, "test": 8}
    assert all(example.label == int(example.id.split("-")[1]) % len(names) for example in data.splits["train"])
    assert [example.id for example in data.splits["test"][:2]] == [f"{test}-0", f"{test}-1"]


def test_rows_without_a_label_are_dropped_and_counted(monkeypatch):
    parts = [split(("sentence",), ["negative", "positive"], 20), split(("sentence",), ["negative", "positive"], 3, unlabelled=True)]
    mixed = datasets.concatenate_datasets(parts)
    monkeypatch.setattr(datasets, "load_dataset", lambda *place, split: mixed)
    data = Sst2().load()
    assert data.dropped == {"unlabelled": 6}
    assert Counter(example.label for example in data.splits["test"]) == {0: 10, 1: 10}


def test_an_unreachable_hub_is_reported_in_one_line_with_a_solution(monkeypatch):
    def unreachable(*place, split):
        raise ConnectionError("Couldn't reach the Hub\n(offline)")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(DataError) as caught:
        Qnli().load()
    message = str(caught.value)
    assert "task `qnli`: cannot read nyu-mll/glue/qnli from the hub" in message
    assert "--task PATH" in message
    assert "\n" not in message


def test_a_local_folder_named_like_an_unavailable_task_is_suggested(monkeypatch, tmp_path):
    def unreachable(*place, split):
        raise ConnectionError("offline")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    monkeypatch.chdir(tmp_path)
    suggestion = "; `./sst2` is the local file or folder of this name"
    with pytest.raises(DataError) as caught:
        Sst2().load()
    assert suggestion not in str(caught.value)
    (tmp_path / "sst2").mkdir()
    with pytest.raises(DataError) as caught:
        Sst2().load()
    assert str(caught.value).endswith(suggestion)
