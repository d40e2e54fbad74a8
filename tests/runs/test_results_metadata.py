"""The metadata of data sets in ``results.json``."""

from ticketlab.runs.results_metadata import data_metadata
from ticketlab.tasks.assembly.assemble import assemble
from ticketlab.tasks.demo.pairs import DemoPairsOOD
from ticketlab.tasks.reading.rows import LabelledRow


def test_the_classes_of_tasks_and_challenge_sets_are_counted_in_every_split():
    labels = {"train": "aabbbcb", "validation": "aab", "test": "cab"}
    rows = {
        split: [LabelledRow(f"{split}-{number}", (f"{split} text {number}",), label) for number, label in enumerate(own)]
        for split, own in labels.items()
    }
    task = assemble("letters", ("text",), rows, declared=("a", "b", "c", "d"))
    found = data_metadata({"letters": task}, [DemoPairsOOD(test_rows=8).load_challenge()])
    assert found["letters"]["classes"] == {
        "train": {"a": 2, "b": 4, "c": 1, "d": 0},
        "dev": {"a": 2, "b": 1, "c": 0, "d": 0},
        "test": {"a": 1, "b": 1, "c": 1, "d": 0},
    }
    assert found["demo_nli_ood"]["classes"]["test"] == {"entailment": 4, "non-entailment": 4}
    assert sum(found["demo_nli_ood"]["classes"]["train"].values()) == 0
