"""Data sets of the papers that are not on the hub in a readable form and must be downloaded manually from their authors."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import ClassVar, NoReturn

from attrs import frozen

from ticketlab.core.errors import Unavailable
from ticketlab.tasks.datasets.hub import labels_by_number
from ticketlab.tasks.datasets.named import FOLDER, NamedDataset, suggest_copy
from ticketlab.tasks.reading.columns import Columns

CLAIMS = Columns(("claim", "evidence"), "label")
OF_CLAIMS: Mapping[str, Sequence[str]] = {"evidence": ("evidence_sentence",), "label": ("gold_label",)}


@frozen
class ManualDataset(NamedDataset):
    """A data set that must be downloaded manually: what it is, its address, and where to put its files."""

    about: ClassVar[str]
    url: ClassVar[str]
    layout: ClassVar[str]

    def published(self) -> NoReturn:
        """Explain how to get a copy; see :meth:`NamedDataset.published`.

        :raises Unavailable: always.
        """
        labels = " or ".join(self.label_names)
        place = f"${FOLDER}/{self.name}" if os.environ.get(FOLDER) else f"FOLDER/{self.name}, with {FOLDER}=FOLDER"
        raise Unavailable(
            f"task `{self.name}`: {self.about}; it is not on the hub in a readable form: download it from {self.url} and put it at {place} "
            f"({self.layout}; columns {', '.join(self.columns.texts)} and label, with the values {labels}){suggest_copy(self.name)}"
        )


@frozen
class PawsQqp(ManualDataset):
    """PAWS-QQP (Zhang et al., 2019): questions with the same words; the paper evaluates on the 677 pairs of development and test."""

    name: ClassVar[str] = "paws_qqp"
    summary: ClassVar[str] = "are questions of the same words paraphrases, two classes (PAWS-QQP)"
    columns: ClassVar[Columns] = Columns(("sentence1", "sentence2"), "label")
    label_names = ("not_paraphrase", "paraphrase")
    codes = labels_by_number(label_names)
    positive_label = "paraphrase"
    lone_split = "test"
    about = "pairs of questions with the same words, made from Quora Question Pairs by the scripts of PAWS"
    url = "https://github.com/google-research-datasets/paws"
    layout = "train.tsv and dev_and_test.tsv as the scripts write them; the second is the test split"


@frozen
class Fever(ManualDataset):
    """FEVER (Thorne et al., 2018) with the text of the evidence: three classes."""

    name: ClassVar[str] = "fever"
    summary: ClassVar[str] = "does the evidence support or refute the claim, three classes (FEVER)"
    columns: ClassVar[Columns] = CLAIMS
    label_names = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
    also = OF_CLAIMS
    about = "claims about Wikipedia, each with the text of its evidence sentences, which the published files refer to by number"
    url = "https://fever.ai/dataset/fever.html"
    layout = "train.jsonl and validation.jsonl"


@frozen
class FeverSymmetricV1(ManualDataset):
    """FEVER-Symmetric 0.1 (Schuster et al., 2019): 717 pairs in which the claim alone says nothing about the label."""

    name: ClassVar[str] = "fever_symmetric_v1"
    summary: ClassVar[str] = "FEVER where the claim alone says nothing about the label, two classes (Symmetric v0.1)"
    columns: ClassVar[Columns] = CLAIMS
    label_names = ("SUPPORTS", "REFUTES")
    also = OF_CLAIMS
    lone_split = "test"
    about = "claims with evidence, constructed so that a claim alone says nothing about its label"
    url = "https://github.com/TalSchuster/FeverSymmetric"
    layout = "symmetric_v0.1/fever_symmetric_generated.jsonl as test.jsonl"


@frozen
class FeverSymmetricV2(FeverSymmetricV1):
    """FEVER-Symmetric 0.2 (Schuster et al., 2019): 712 test pairs and 708 development pairs."""

    name: ClassVar[str] = "fever_symmetric_v2"
    summary: ClassVar[str] = "FEVER where the claim alone says nothing about the label, two classes (Symmetric v0.2)"
    layout = "symmetric_v0.2/fever_symmetric_test.jsonl as test.jsonl; fever_symmetric_dev.jsonl as train.jsonl, to be mixed in"
