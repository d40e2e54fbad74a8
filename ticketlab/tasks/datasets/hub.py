"""The papers' data sets, read from the Hugging Face hub, with the papers' splits.

GLUE's test labels are not public: its validation split is used as the test split, and a tenth of its training split as the dev split. A
dev split is also made for data sets that have a test split but no validation split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from attrs import frozen

from ticketlab.core.errors import DataError
from ticketlab.tasks.datasets.hub_fetch import fetch
from ticketlab.tasks.datasets.named import FOLDER, NamedDataset
from ticketlab.tasks.reading.columns import Columns
from ticketlab.tasks.reading.tables import Table


def labels_by_number(names: Sequence[str]) -> dict[str, str]:
    """Return the label names by their numbers on the hub, for copies that contain numbers only."""
    return {str(number): name for number, name in enumerate(names)}


@frozen
class NamedHubDataset(NamedDataset):
    """A named data set on the hub: its location, its columns, and the split that is used as the test split."""

    dataset: ClassVar[str]
    config: ClassVar[str | None] = None
    revision: ClassVar[str | None] = None
    test_split: ClassVar[str]
    dev_split: ClassVar[str | None] = None

    def published(self) -> Mapping[str, Table]:
        """Load the splits from the hub, or from the cache of the ``datasets`` library; see :meth:`NamedDataset.published`."""
        splits = {"train": "train", "validation": self.dev_split, "test": self.test_split}
        return {split: self._split(name) for split, name in splits.items() if name}

    def published_name(self, split: str) -> str:
        """Return the name of a split on the hub."""
        return {"test": self.test_split, "validation": self.dev_split or split}.get(split, split)

    def _split(self, split: str) -> Table:
        place = "/".join(part for part in (self.dataset, self.config) if part)
        copy = f"a local copy with `--task PATH`, or put one at ${FOLDER}/{self.name}"
        data = fetch(self.dataset, self.config, split, source=f"task `{self.name}`", alternative=copy, revision=self.revision)
        label = self.columns.label
        names = tuple(getattr(data.features.get(label), "names", None) or ())
        known = {self.codes.get(name, name) for name in names} == set(self.label_names)
        if not known and (names or not self.codes):
            raise DataError(f"task `{self.name}`: {place} no longer has the label names {', '.join(self.label_names)}; pass {copy}")
        rows = list(data)
        if names:
            rows = [{**row, label: names[row[label]] if row[label] in range(len(names)) else None} for row in rows]
        return Table(f"{place} {split}", tuple(data.column_names), rows)


@frozen
class Sst2(NamedHubDataset):
    """Stanford Sentiment Treebank as in GLUE."""

    name: ClassVar[str] = "sst2"
    summary: ClassVar[str] = "movie reviews, two classes (GLUE)"
    dataset, config, test_split = "nyu-mll/glue", "sst2", "validation"
    columns: ClassVar[Columns] = Columns(("sentence",), "label")
    label_names = ("negative", "positive")
    codes = labels_by_number(label_names)


@frozen
class Imdb(NamedHubDataset):
    """IMDB reviews (Maas et al., 2011)."""

    name: ClassVar[str] = "imdb"
    summary: ClassVar[str] = "long movie reviews, two classes"
    dataset, test_split = "stanfordnlp/imdb", "test"
    columns: ClassVar[Columns] = Columns(("text",), "label")
    label_names = ("neg", "pos")
    codes = labels_by_number(label_names)


@frozen
class AgNews(NamedHubDataset):
    """AG News (Zhang et al., 2015)."""

    name: ClassVar[str] = "ag_news"
    summary: ClassVar[str] = "news, four classes"
    dataset, test_split = "fancyzhx/ag_news", "test"
    columns: ClassVar[Columns] = Columns(("text",), "label")
    label_names = ("World", "Sports", "Business", "Sci/Tech")
    codes = labels_by_number(label_names)


@frozen
class Qnli(NamedHubDataset):
    """Question-answering NLI as in GLUE."""

    name: ClassVar[str] = "qnli"
    summary: ClassVar[str] = "does the sentence answer the question (GLUE)"
    dataset, config, test_split = "nyu-mll/glue", "qnli", "validation"
    columns: ClassVar[Columns] = Columns(("question", "sentence"), "label")
    label_names = ("entailment", "not_entailment")
    codes = labels_by_number(label_names)


@frozen
class Qqp(NamedHubDataset):
    """Quora Question Pairs as in GLUE, which reports the accuracy and the F1 of `duplicate`."""

    name: ClassVar[str] = "qqp"
    summary: ClassVar[str] = "do two questions ask the same thing (GLUE)"
    dataset, config, test_split = "nyu-mll/glue", "qqp", "validation"
    columns: ClassVar[Columns] = Columns(("question1", "question2"), "label")
    label_names = ("not_duplicate", "duplicate")
    codes = labels_by_number(label_names)
    positive_label = "duplicate"
    measures = ("binary_f1",)
    also: ClassVar[Mapping[str, Sequence[str]]] = {"label": ("is_duplicate",)}


@frozen
class Mrpc(NamedHubDataset):
    """Microsoft Research Paraphrase Corpus as in GLUE, which reports the accuracy and the F1 of `equivalent`.

    Two thirds of the pairs are paraphrases: always predicting `equivalent` has an accuracy of 68 % and an F1 of 81 %.
    """

    name: ClassVar[str] = "mrpc"
    summary: ClassVar[str] = "do two sentences mean the same (GLUE)"
    dataset, config, test_split = "nyu-mll/glue", "mrpc", "validation"
    columns: ClassVar[Columns] = Columns(("sentence1", "sentence2"), "label")
    label_names = ("not_equivalent", "equivalent")
    codes = labels_by_number(label_names)
    positive_label = "equivalent"
    measures = ("binary_f1",)


@frozen
class Cola(NamedHubDataset):
    """Corpus of Linguistic Acceptability as in GLUE, which reports the Matthews correlation.

    Seven tenths of the sentences are acceptable: always predicting `acceptable` has that accuracy and a correlation of 0.
    """

    name: ClassVar[str] = "cola"
    summary: ClassVar[str] = "is the sentence grammatical (GLUE)"
    dataset, config, test_split = "nyu-mll/glue", "cola", "validation"
    columns: ClassVar[Columns] = Columns(("sentence",), "label")
    label_names = ("unacceptable", "acceptable")
    codes = labels_by_number(label_names)
    measures = ("matthews",)


@frozen
class Rte(NamedHubDataset):
    """Recognizing Textual Entailment (RTE 1, 2, 3 and 5) as in GLUE."""

    name: ClassVar[str] = "rte"
    summary: ClassVar[str] = "does the second sentence follow from the first, two classes (GLUE)"
    dataset, config, test_split = "nyu-mll/glue", "rte", "validation"
    columns: ClassVar[Columns] = Columns(("sentence1", "sentence2"), "label")
    label_names = ("entailment", "not_entailment")
    codes = labels_by_number(label_names)


@frozen
class Wnli(NamedHubDataset):
    """Winograd NLI as in GLUE: whether a sentence entails its copy in which a pronoun is replaced by a possible referent.

    Its validation split, which is the test split here, is adversarial to its training split: many sentences are in both, mostly with the
    other label, so that a model that memorises the 635 training examples ends up below the majority class (GLUE's paper and FAQ). An
    accuracy under 50 % therefore does not mean that a run failed, and most published models simply predict `not_entailment`.
    """

    name: ClassVar[str] = "wnli"
    summary: ClassVar[str] = "does the second sentence, with the pronoun replaced, follow from the first, two classes; adversarial (GLUE)"
    dataset, config, test_split = "nyu-mll/glue", "wnli", "validation"
    columns: ClassVar[Columns] = Columns(("sentence1", "sentence2"), "label")
    label_names = ("not_entailment", "entailment")
    codes = labels_by_number(label_names)


@frozen
class Mnli(NamedHubDataset):
    """Multi-genre NLI as in GLUE; the test split is the matched validation split."""

    name: ClassVar[str] = "mnli"
    summary: ClassVar[str] = "entailment between two sentences, three classes (GLUE)"
    dataset, config, test_split = "nyu-mll/glue", "mnli", "validation_matched"
    columns: ClassVar[Columns] = Columns(("premise", "hypothesis"), "label")
    label_names = ("entailment", "neutral", "contradiction")
    codes = labels_by_number(label_names)
    also: ClassVar[Mapping[str, Sequence[str]]] = {
        "premise": ("sentence1",),
        "hypothesis": ("sentence2",),
        "label": ("gold_label",),
    }
