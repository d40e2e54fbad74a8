"""The papers' data sets, read from the Hugging Face hub, with the papers' splits.

GLUE's test labels are not public: its validation split is the test, and a tenth of its training split is dev. So it is for data sets that
have a test but no validation split.
"""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any, ClassVar

from attrs import frozen

from ticketlab.errors import DataError
from ticketlab.tasks.assemble import assemble
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.columns import Columns
from ticketlab.tasks.rows import Row, usable
from ticketlab.tasks.tables import Table


def fetch(dataset: str, config: str | None, split: str | None, *, who: str, instead: str) -> Any:
    """Return a split of a data set of the hub, or of the cache of the ``datasets`` library; all splits by name where ``split`` is None.

    ``who`` wants it and ``instead`` is what to pass if it fails, for messages.

    :raises DataError: it is neither in the cache nor reachable.
    """
    datasets: Any = importlib.import_module("datasets")
    place = "/".join(part for part in (dataset, config) if part)
    try:
        return datasets.load_dataset(dataset, config, split=split)
    except Exception as problem:  # the hub's client fails in as many ways as it has releases
        reason = " ".join(str(problem).split())[:200]
        raise DataError(
            f"{who}: cannot read {place} from the hub: {type(problem).__name__}: {reason}; "
            f"pass {instead} (a file, or a folder with train and validation files)"
        ) from problem


@frozen
class Hub(Task):
    """A data set of the hub: where it is, its columns, and the split that is the test."""

    dataset: ClassVar[str]
    config: ClassVar[str | None] = None
    columns: ClassVar[Columns]
    test_split: ClassVar[str]

    def load(self) -> TaskData:
        """Read the data set from the hub, or from the cache of the ``datasets`` library.

        :raises DataError: it is neither there nor reachable, or not as it was when this was written.
        """
        dropped: Counter[str] = Counter()
        train, names = self._split("train", dropped)
        test, _ = self._split(self.test_split, dropped)
        splits = {"train": train, "test": test}
        return assemble(self.label, self.columns.texts, splits, declared=names, train_rows=self.train_rows, dropped=dropped)

    def _split(self, split: str, dropped: Counter[str]) -> tuple[list[Row], tuple[str, ...]]:
        place = "/".join(part for part in (self.dataset, self.config) if part)
        data = fetch(self.dataset, self.config, split, who=f"task `{self.name}`", instead="a local copy with `--task PATH`")
        label = self.columns.label
        names = tuple(getattr(data.features.get(label), "names", ()))
        if not names:
            raise DataError(f"task `{self.name}`: {place} has no label names any more; pass a local copy with `--task PATH`")
        rows = [{**row, label: names[row[label]] if 0 <= row[label] < len(names) else None} for row in data]
        return usable(Table(f"{place} {split}", tuple(data.column_names), rows), self.columns, split, dropped), names


@frozen
class Sst2(Hub):
    """Stanford Sentiment Treebank as in GLUE."""

    name: ClassVar[str] = "sst2"
    summary: ClassVar[str] = "movie reviews, two classes (GLUE)"
    dataset, config, test_split = "nyu-mll/glue", "sst2", "validation"
    columns: ClassVar[Columns] = Columns(("sentence",), "label")


@frozen
class Imdb(Hub):
    """IMDB reviews (Maas et al., 2011)."""

    name: ClassVar[str] = "imdb"
    summary: ClassVar[str] = "long movie reviews, two classes"
    dataset, test_split = "stanfordnlp/imdb", "test"
    columns: ClassVar[Columns] = Columns(("text",), "label")


@frozen
class AgNews(Hub):
    """AG News (Zhang et al., 2015)."""

    name: ClassVar[str] = "ag_news"
    summary: ClassVar[str] = "news, four classes"
    dataset, test_split = "fancyzhx/ag_news", "test"
    columns: ClassVar[Columns] = Columns(("text",), "label")


@frozen
class Qnli(Hub):
    """Question-answering NLI as in GLUE."""

    name: ClassVar[str] = "qnli"
    summary: ClassVar[str] = "does the sentence answer the question (GLUE)"
    dataset, config, test_split = "nyu-mll/glue", "qnli", "validation"
    columns: ClassVar[Columns] = Columns(("question", "sentence"), "label")


@frozen
class Qqp(Hub):
    """Quora Question Pairs as in GLUE."""

    name: ClassVar[str] = "qqp"
    summary: ClassVar[str] = "are two questions the same (GLUE)"
    dataset, config, test_split = "nyu-mll/glue", "qqp", "validation"
    columns: ClassVar[Columns] = Columns(("question1", "question2"), "label")


@frozen
class Mnli(Hub):
    """Multi-genre NLI as in GLUE; the test is the matched validation split."""

    name: ClassVar[str] = "mnli"
    summary: ClassVar[str] = "entailment between two sentences, three classes (GLUE)"
    dataset, config, test_split = "nyu-mll/glue", "mnli", "validation_matched"
    columns: ClassVar[Columns] = Columns(("premise", "hypothesis"), "label")
