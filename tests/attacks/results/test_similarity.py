from __future__ import annotations

import math

import pytest
import torch

from ticketlab.attacks.results import similarity
from ticketlab.attacks.results.record import Record
from ticketlab.attacks.results.similarity import find_encoder, with_similarity
from ticketlab.core.errors import ResourceError
from ticketlab.resources.sentence_encoder import SentenceEncoder


def record(number: int, status: str, original, perturbed) -> Record:
    return Record(id=str(number), status=status, original=original, label="a", perturbed=perturbed)


class Angles:
    """Embeds a text as a vector whose angle is the number in the text; records the texts."""

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked.append(list(texts))
        angles = [math.radians(sum(float(part) for part in text.split("\n"))) for text in texts]
        return torch.tensor([[3 * math.cos(angle), 3 * math.sin(angle)] for angle in angles])


ROWS = [
    record(0, "success", ["0"], ["60"]),
    record(1, "failed", ["0"], ["90"]),
    record(2, "success", ["10", "20"], ["10", "20"]),
    record(3, "skipped", ["0"], ["0"]),
    record(4, "success", ["0", "0"], ["0", "180"]),
    record(5, "error", ["0"], []),
]


def test_only_successes_are_compared_in_one_batch():
    encoder = Angles()
    found = with_similarity(ROWS, encoder)
    assert [record.id for record in found] == [record.id for record in ROWS]
    cosines = [record.similarity for record in found]
    assert [cosines[1], cosines[3], cosines[5]] == [None] * 3
    assert cosines[::2] == pytest.approx([0.5, 1.0, -1.0], abs=1e-6)
    assert encoder.asked == [["0", "60", "10\n20", "10\n20", "0\n0", "0\n180"]]


def test_the_encoder_is_not_called_without_a_success():
    encoder = Angles()
    assert with_similarity(ROWS[1:2], encoder) == ROWS[1:2]
    assert encoder.asked == []


def test_a_similarity_depends_on_its_texts_alone(tiny_encoder_folder):
    encoder = SentenceEncoder.load(tiny_encoder_folder)
    rows = [record(number, "success", [f"the film was {'very ' * number}good"], ["a dull song"]) for number in range(5)]
    together = [record.similarity for record in with_similarity(rows, encoder)]
    assert together == [with_similarity([row], encoder)[0].similarity for row in rows]
    assert len(set(together)) == 5
    assert all(-1 <= value <= 1 for value in together)


def test_no_encoder_is_used_for_none_and_the_available_one_for_auto(monkeypatch, tiny_encoder_folder):
    assert find_encoder(None) is None
    named = find_encoder(tiny_encoder_folder)
    assert named is not None
    assert named.where("encoder") == tiny_encoder_folder
    monkeypatch.setattr("ticketlab.core.packages.find", lambda *_: None)
    assert find_encoder(similarity.AUTO) is None
    with pytest.raises(ResourceError, match="nowhere"):
        find_encoder("nowhere")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["the film was good"], ""),
        (
            ["the film was good", "\u4e00\u4e01 good"],
            "the sentence encoder knows only 71.4 % of the tokens of these texts: Similarity says little about them",
        ),
    ],
    ids=["its language", "another"],
)
def test_an_encoder_that_does_not_know_the_language_gives_a_warning(tiny_encoder_folder, texts, said):
    rows = [record(number, "success", [text], ["good"]) for number, text in enumerate(texts)]
    assert (
        similarity.language_warning([*rows, record(9, "failed", ["\u4e00"], ["\u4e00"])], SentenceEncoder.load(tiny_encoder_folder)) == said
    )
