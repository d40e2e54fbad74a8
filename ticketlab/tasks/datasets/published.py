"""The papers' data sets that the hub does not have in a form that can be read: copies of what their authors publish."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import ClassVar, NoReturn

from attrs import frozen

from ticketlab.core.errors import Unavailable
from ticketlab.tasks.datasets.hub import numbered
from ticketlab.tasks.datasets.named import FOLDER, Named, nearest
from ticketlab.tasks.reading.columns import Columns

CLAIMS = Columns(("claim", "evidence"), "label")
OF_CLAIMS: Mapping[str, Sequence[str]] = {"evidence": ("evidence_sentence",), "label": ("gold_label",)}


@frozen
class Published(Named):
    """A data set that has to be fetched by hand: what it is, where, and which file goes where."""

    about: ClassVar[str]
    url: ClassVar[str]
    layout: ClassVar[str]

    def published(self) -> NoReturn:
        """Say how to come by a copy; see :meth:`Named.published`.

        :raises Unavailable: always.
        """
        labels = " or ".join(self.label_names)
        place = f"${FOLDER}/{self.name}" if os.environ.get(FOLDER) else f"FOLDER/{self.name}, with {FOLDER}=FOLDER"
        raise Unavailable(
            f"task `{self.name}`: {self.about}; not on the hub in a form that can be read: get it from {self.url} and put it at {place} "
            f"({self.layout}; columns {', '.join(self.columns.texts)} and label, which is {labels}){nearest(self.name)}"
        )


@frozen
class PawsQqp(Published):
    """PAWS-QQP (Zhang et al., 2019): questions with the same words; the paper evaluates on its 677 pairs of development and test."""

    name: ClassVar[str] = "paws_qqp"
    summary: ClassVar[str] = "are questions of the same words paraphrases, two classes (PAWS-QQP)"
    columns: ClassVar[Columns] = Columns(("sentence1", "sentence2"), "label")
    label_names = ("not_paraphrase", "paraphrase")
    codes = numbered(label_names)
    positive_label = "paraphrase"
    lone_split = "test"
    about = "pairs of questions with the same words, made from Quora Question Pairs by the scripts of PAWS"
    url = "https://github.com/google-research-datasets/paws"
    layout = "train.tsv and dev_and_test.tsv as the scripts write them, the second being the test"


@frozen
class Fever(Published):
    """FEVER (Thorne et al., 2018) with the text of the evidence: three classes."""

    name: ClassVar[str] = "fever"
    summary: ClassVar[str] = "does the evidence support or refute the claim, three classes (FEVER)"
    columns: ClassVar[Columns] = CLAIMS
    label_names = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
    also = OF_CLAIMS
    about = "claims about Wikipedia, each beside the text of its evidence sentences, which the published files point to by number"
    url = "https://fever.ai/dataset/fever.html"
    layout = "train.jsonl and validation.jsonl"


@frozen
class FeverSymmetricV1(Published):
    """FEVER-Symmetric 0.1 (Schuster et al., 2019): 717 pairs in which the claim alone says nothing of the label."""

    name: ClassVar[str] = "fever_symmetric_v1"
    summary: ClassVar[str] = "FEVER where the claim alone tells nothing, two classes (Symmetric v0.1)"
    columns: ClassVar[Columns] = CLAIMS
    label_names = ("SUPPORTS", "REFUTES")
    also = OF_CLAIMS
    lone_split = "test"
    about = "claims beside evidence, made so that a claim alone does not tell its label"
    url = "https://github.com/TalSchuster/FeverSymmetric"
    layout = "symmetric_v0.1/fever_symmetric_generated.jsonl as test.jsonl"


@frozen
class FeverSymmetricV2(FeverSymmetricV1):
    """FEVER-Symmetric 0.2 (Schuster et al., 2019): 712 pairs for the test, 708 for development."""

    name: ClassVar[str] = "fever_symmetric_v2"
    summary: ClassVar[str] = "FEVER where the claim alone tells nothing, two classes (Symmetric v0.2)"
    layout = "symmetric_v0.2/fever_symmetric_test.jsonl as test.jsonl; fever_symmetric_dev.jsonl as train.jsonl, to be mixed in"
