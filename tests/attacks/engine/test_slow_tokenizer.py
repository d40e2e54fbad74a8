"""The time limit holds while a slow tokenizer works, and the number of processes is limited by the work."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.engine import run
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.inference import tokenization
from ticketlab.inference.victim import Victim
from ticketlab.resources.sentence_encoder import SentenceEncoder
from ticketlab.resources.textattack_import import import_textattack, installed
from ticketlab.tasks.base import Example

needs_textattack = pytest.mark.skipif(not installed(), reason="textattack is not installed")
NAMES = ("negative", "positive")


class Slow:
    """A tokenizer that takes its time for each character, in code that no signal can interrupt."""

    def __init__(self, tokenizer: Any, rounds: int) -> None:
        self.tokenizer, self.rounds = tokenizer, rounds
        self.calls: list[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tokenizer, name)

    def __call__(self, texts: Any, *more: Any, **settings: Any) -> Any:
        if isinstance(texts, list):
            self.calls.append(texts)
            hashlib.pbkdf2_hmac("sha256", b"", b"", 1 + self.rounds * sum(map(len, texts)))
        return self.tokenizer(texts, *more, **settings)


def attack(victim: Victim, *texts: str, **more: Any) -> list[Any]:
    rows = [Example(f"{number}", (text,), int(victim([text]).argmax())) for number, text in enumerate(texts)]
    return run_attack(DeepWordBug(), victim, rows, columns=("text",), label_names=NAMES, records=RecordFile(None, "c"), seed=0, **more)


@needs_textattack
def test_the_time_limit_interrupts_the_tokenizing_of_candidates(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    import_textattack()
    text = "good film " * 2000
    monkeypatch.setattr(victim, "tokenizer", slow := Slow(victim.tokenizer, rounds=10))  # 6 seconds or more for all candidates
    (record,) = attack(victim, text, timeout=0.3)
    assert record.status == "timeout"
    sizes = [sum(map(len, call)) for call in slow.calls]
    assert max(sizes) <= tokenization.CHARACTERS  # the longest that cannot be interrupted
    assert sum(sizes) < 40 * len(text)  # of the 62 words that the model sees


def test_tokenizing_in_chunks_gives_the_same_inputs(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["good film", "", "a very dull plot " * 30, "x", "music, and good music"]
    pairs = [(text, "the film") for text in texts]
    at_once = victim.encode(texts), victim.encode(pairs)
    monkeypatch.setattr(tokenization, "CHARACTERS", 12)
    monkeypatch.setattr(victim, "tokenizer", slow := Slow(victim.tokenizer, rounds=1))
    assert (victim.encode(texts), victim.encode(pairs)) == at_once
    assert [len(call) for call in slow.calls[:4]] == [2, 1, 1, 1]
    assert victim.encode([]) == []


def test_sentences_are_embedded_in_chunks(tiny_encoder_folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = SentenceEncoder.load(tiny_encoder_folder)
    texts = ["good film", "a dull plot", "good film", "music"]
    at_once = SentenceEncoder.load(tiny_encoder_folder).encode(texts)  # the encoder itself would keep the embeddings
    monkeypatch.setattr(tokenization, "CHARACTERS", 10)
    monkeypatch.setattr(encoder, "tokenizer", slow := Slow(encoder.tokenizer, rounds=1))
    assert encoder.encode(texts).equal(at_once)
    assert len(slow.calls) == 3


@pytest.mark.parametrize(
    ("wanted", "examples", "cores", "number"),
    [(150, 3, 2, 3), (150, 500, 2, 8), (4, 500, 2, 4), (1, 500, 2, 1), (150, 0, 2, 1), (2, 1, 64, 1), (None, 500, 2, 2), (None, 9, 2, 1)],
)
def test_the_number_of_processes_is_limited_by_the_work(
    victim: Victim,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    wanted: int | None,
    examples: int,
    cores: int,
    number: int,
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
    assert run._processes(victim, examples, wanted) == number
    said = capsys.readouterr().err
    assert bool(said) is bool(wanted and examples and wanted > number)
    assert not said or f"started, not {wanted}: there " in said


@needs_textattack
def test_three_examples_take_three_processes(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(run, "run_in_workers", lambda siege, left, workers: asked.append(workers) or siege.run(left))
    found = attack(victim, "good film", "dull plot", "great music", workers=150)
    assert asked == [3]
    assert len(found) == 3
