"""Challenge sets on the hub: HANS and PAWS-Wiki."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from ticketlab.tasks.datasets.hub import Mnli, NamedHubDataset, labels_by_number
from ticketlab.tasks.reading.columns import Columns


@frozen
class PawsWiki(NamedHubDataset):
    """PAWS-Wiki (Zhang et al., 2019): pairs with the same words, fewer than half of which are paraphrases."""

    name: ClassVar[str] = "paws_wiki"
    summary: ClassVar[str] = "are sentences of the same words paraphrases, two classes (PAWS-Wiki)"
    dataset, config, dev_split, test_split = "google-research-datasets/paws", "labeled_final", "validation", "test"
    columns: ClassVar[Columns] = Columns(("sentence1", "sentence2"), "label")
    label_names = ("not_paraphrase", "paraphrase")
    codes = labels_by_number(label_names)
    positive_label = "paraphrase"


@frozen
class Hans(NamedHubDataset):
    """HANS (McCoy et al., 2019): template-generated pairs in which three heuristics are right in one half and wrong in the other."""

    name: ClassVar[str] = "hans"
    summary: ClassVar[str] = "entailment where three shallow heuristics fail, two classes (HANS)"
    dataset, test_split = "jhu-cogsci/hans", "validation"
    revision: ClassVar[str | None] = "refs/convert/parquet"  # the main branch needs a script, which is never run
    columns: ClassVar[Columns] = Columns(("premise", "hypothesis"), "label", subsets=("heuristic", "subcase"))
    label_names = ("entailment", "non-entailment")
    codes = labels_by_number(label_names)
    also = Mnli.also
