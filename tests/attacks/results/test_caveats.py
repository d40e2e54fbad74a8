"""Caveats name the reasons why the numbers of an attack may be misleading, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from ticketlab.attacks.results import caveats
from ticketlab.attacks.results.metrics import measure
from ticketlab.attacks.results.record import Record

LABELS = ("negative", "positive")


def rows(count: int, status: str = "failed", label: str = "negative", said: str | None = None, **more: Any) -> list[Record]:
    other = "positive" if label == "negative" else "negative"
    before = said or (other if status == "skipped" else label)
    words = {"words_total": 10, "words_unseen": 0, "words_tried": 8, "words_replaceable": 7, "words_allowed": 5}
    if status == "skipped":
        words = {"words_total": 10, "words_unseen": 0}
    known = {} if status in ("error", "timeout") else {"predicted_before": before}
    made = {"status": status, "original": ["x"], "perturbed": ["y"], "label": label, **known, **words, **more}
    return [Record(id=f"{label}-{status}-{more}-{number}", **made) for number in range(count)]


def sound() -> list[Record]:
    return [*rows(9), *rows(6, "success"), *rows(14, label="positive"), *rows(1, "skipped", label="positive")]


SAID = {
    "nothing of a sound attack": (sound(), []),
    "no candidates": (
        [*rows(10, words_replaceable=0, words_allowed=0), *rows(5, label="positive", words_replaceable=0, words_allowed=0)],
        ["pwws had no candidate for any word of 15 attacked examples, so Aua says nothing about robustness"],
    ),
    "candidates in few examples": (
        [*rows(4), *rows(7, words_replaceable=0, words_allowed=0), *rows(14, label="positive", words_replaceable=0, words_allowed=0)],
        ["pwws had a candidate in 4 of 25 attacked examples, for 28 of 200 words: Aua overstates robustness"],
    ),
    "candidates for few words": (
        [*rows(10, words_replaceable=3, words_allowed=3), *rows(10, label="positive", words_replaceable=4, words_allowed=1)],
        ["pwws had a candidate in 20 of 20 attacked examples, for 70 of 160 words: Aua overstates robustness"],
    ),
    "no words in some": (
        [*rows(10), *rows(4, words_total=0, words_tried=0, words_replaceable=0, words_allowed=0), *rows(10, label="positive")],
        ["4 of 24 attacked examples have no word to change, and count in Aua as failed attacks"],
    ),
    "half of the words is enough": (
        [*rows(10, words_replaceable=4, words_allowed=4), *rows(10, label="positive", words_replaceable=4, words_allowed=4)],
        [],
    ),
    "constraints that refuse all": (
        [*rows(10, words_allowed=0), *rows(10, label="positive", words_allowed=0)],
        ["the constraints of pwws accepted a candidate in 0 of 20 attacked examples: Aua overstates robustness"],
    ),
    "unknown counts": ([*rows(10, words_tried=None, words_replaceable=None, words_allowed=None), *rows(10, label="positive")], []),
    "all misclassified": (
        [*rows(8, "skipped"), *rows(7, "skipped", label="positive")],
        ["nothing was attacked: the model misclassified the whole sample before the attack (15 examples)"],
    ),
    "one answer": (
        [*rows(10), *rows(10, "skipped", label="positive", said="negative")],
        ["the model predicts `negative` for every example of the sample; it may have learned nothing"],
    ),
    "no better than the majority": (
        [*rows(8), *rows(2, "skipped"), *rows(2, label="positive"), *rows(8, "skipped", label="positive")],
        ["before the attack 10 of 20 predictions are correct, no more than if all were `negative` (10)"],
    ),
    "too few to compare with the majority": ([*rows(2), *rows(2, "skipped"), *rows(2, "skipped", label="positive", said="positive")], []),
    "a class that lacks": (
        rows(20),
        ["no example of `positive` is in the sample (20 negative, 0 positive): the numbers are about the other labels only"],
    ),
    "few of a class": (
        [*rows(97), *rows(2, "skipped"), *rows(1, label="positive")],
        [
            "few examples of `positive` are in the sample (99 negative, 1 positive): the numbers are mostly about the other labels",
            "before the attack 98 of 100 predictions are correct, no more than if all were `negative` (99)",
        ],
    ),
    "a small sample of each class": ([*rows(2), *rows(2, label="positive")], []),
    "texts that are cut": (
        [*rows(9, truncated=True, words_unseen=6), *rows(11, label="positive")],
        ["9 of 20 examples are longer than the model's input: 54 of 200 words are beyond that and not attacked"],
    ),
    "a few texts that are cut": ([*rows(1, truncated=True, words_unseen=6), *rows(9), *rows(11, label="positive")], []),
    "texts cut somewhere": (
        [*rows(9, truncated=True, words_unseen=None), *rows(11, label="positive")],
        ["9 of 20 examples are longer than the model's input; its tokenizer does not report where they are cut, so the attack may"],
    ),
    "scripts without spaces": (
        [*sound(), *rows(6, original=["หนังดีมาก"]), *rows(2, original=["面白かった"]), *rows(1, original=["好看"])],
        ["8 of 39 examples are in a script without spaces (Thai, Lao, Burmese, Khmer, kana): text up to the next space or"],
    ),
    "nothing": ([], ["there is no example to attack"]),
    "errors alone": (
        [*rows(10, "error", message="too long"), *rows(10, "timeout", label="positive")],
        [
            "10 of 20 examples ended in an error, 10 of them in: too long",
            "10 of 20 examples ran out of time and are in no number: only examples that the model classifies correctly are attacked",
        ],
    ),
    "no result but those of wrong predictions": (
        [*rows(10, "skipped"), *rows(5, "timeout", label="positive")],
        [
            "5 of 15 examples ran out of time and are in no number",
            "no attack has a result: 10 examples misclassified before the attack, 5 without a result",
        ],
    ),
}


@pytest.mark.parametrize(("records", "said"), SAID.values(), ids=SAID)
def test_caveats_of_records(records: list[Record], said: list[str]) -> None:
    found = caveats.caveats_of("pwws", records, LABELS)
    assert [line[: len(start)] for line, start in zip(found, said, strict=True)] == said
    assert all("\n" not in line for line in found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("it was the best film that I have seen in a long time", False),
        ("der film war toll und die geschichte so spannend wie nie zuvor", True),
        ("film muhteşemdi oyunculuk harika kesinlikle tavsiye ederim", True),
    ],
    ids=["English", "German", "Turkish"],
)
def test_an_english_attack_on_another_language_gives_a_caveat(text: str, said: bool) -> None:
    records = [*rows(10, original=[text]), *rows(10, "success", label="positive", original=[text])]
    found = caveats.caveats_of("pwws", records, LABELS, uses_resources=True)
    assert ["are English stop words: unless" in line for line in found] == [True] * said
    assert not caveats.caveats_of("deepwordbug", records, LABELS)


def test_a_query_budget_that_ends_most_attacks_gives_a_caveat(capsys: pytest.CaptureFixture[str]) -> None:
    records = [*rows(6, queries=40), *rows(5, label="positive", queries=12), *rows(3, "success", label="positive", queries=40)]
    assert caveats.caveats_of("pwws", records, LABELS, query_budget=40) == [
        "pwws gave up on 6 of the 11 examples that count for Aua, after 40 queries each"
    ]
    found = caveats.caveats_of("pwws", rows(1, queries=40), LABELS, query_budget=40)
    assert "pwws gave up on the only example that counts for Aua, after 40 queries" in found
    assert caveats.caveats_of("pwws", records, LABELS, query_budget=41) == []
    assert caveats.caveats_of("pwws", records, LABELS) == []


def test_the_metrics_count_words_and_examples_with_candidates() -> None:
    lost = rows(3, "error")
    found = measure(
        [
            *sound(),
            *rows(2, words_replaceable=0, words_allowed=0),
            *rows(1, words_tried=None, words_replaceable=None, words_allowed=None),
            *lost,
        ]
    )
    table = found.to_table()
    assert table["replaceable_examples"] == 29 / 31
    assert table["replaceable_examples_of"] == {"count": 29, "total": 31}
    assert table["replaceable_words_of"] == {"count": 29 * 7, "total": 31 * 8}
    assert table["allowed_examples_of"] == {"count": 29, "total": 31}
    assert table["allowed_words_of"] == {"count": 29 * 5, "total": 31 * 8}
    assert table["unseen_words_of"] == {"count": 0, "total": 10 * (30 + 3 + 3)}
    empty = measure([]).to_table()
    assert (empty["replaceable_words"], empty["replaceable_words_of"]) == (None, {"count": 0, "total": 0})
