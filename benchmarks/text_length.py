"""Measures what a query of an attack costs outside the models, for texts of several lengths, by part.

The models are replaced by functions that return at once: the victim never changes its label, and every sentence is similar. The rest is
real: tokenizer, word vectors, tagger, WordNet, search. Times are CPU time of this process. With ``--with-models``, victim and sentence
encoder are the demo encoder, and the last column is their share.

``python benchmarks/text_length.py --words 50 500 5000 --attacks textfooler pwws``
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from attrs import define, evolve, field
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from ticketlab.attacks.base import Attack
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.backbone.device import pick_precision
from ticketlab.core import registry
from ticketlab.inference.batch_invariant import BatchInvariantModel
from ticketlab.inference.victim import Victim
from ticketlab.resources.resources import Resources
from ticketlab.resources.sentence_encoder import SentenceEncoder
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.tasks.base import Example

LABELS = ("negative", "positive")
COMMON = (
    "the a of and to in it was is that film movie story plot actor director scene music good great bad terrible boring wonderful slow fast "
    "long short funny sad beautiful ugly old young never always often really quite very not but because although while people world life "
    "time character performance audience camera dialogue script ending beginning moment feeling looks makes takes gives turns finds keeps"
)
WORDS = COMMON.split()
MARKS = (" ", " ", " ", " ", " ", ", ", ". ", " -- ", "'s ", "; ")
PARTS = ("candidates", "constraints", "tokens", "rest", "models")


def text_of(words: int, seed: int = 0) -> str:
    """Return a text of this many words with punctuation marks; one word in eight is capitalized or unknown to the tokenizer as a whole."""
    generator = random.Random(f"{words} {seed}")
    pieces = []
    for _ in range(words):
        word = generator.choice(WORDS)
        if not generator.randrange(8):
            word = generator.choice([word.capitalize(), f"{word}{generator.randrange(100)}", f"un{word}ish", f"na\u00efve{word}"])
        pieces += [word, generator.choice(MARKS)]
    return "".join(pieces).strip()


@define
class Clock:
    """CPU seconds by part; time in a part that another one calls counts for the inner one."""

    seconds: dict[str, float] = field(factory=lambda: dict.fromkeys(PARTS, 0.0))
    _open: list[str] = field(factory=lambda: ["rest"])
    _since: float = field(factory=time.process_time)

    def turn(self, enter: str | None = None) -> None:
        """Enter a part, or leave the current one."""
        now = time.process_time()
        self.seconds[self._open[-1]] += now - self._since
        self._since = now
        if enter is None:
            self._open.pop()
        else:
            self._open.append(enter)

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def wrapped(*arguments: Any, **options: Any) -> Any:
            self.turn(part)
            try:
                return call(*arguments, **options)
            finally:
                self.turn()

        return wrapped


@contextlib.contextmanager
def parts_timed(clock: Clock) -> Iterator[None]:
    """Attribute the time of the attack's parts during the block."""
    from textattack import Attack as TextAttack

    places = [
        (TextAttack, "_get_transformations_uncached", "candidates"),
        (TextAttack, "filter_transformations", "constraints"),
        (Victim, "encode", "tokens"),
        (SentenceEncoder, "encode", "tokens"),
    ]
    with contextlib.ExitStack() as stack:
        for owner, name, part in places:
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, clock.timed(part, getattr(owner, name)))
        yield


def without_computing(model: BatchInvariantModel, result: Callable[[Sequence[int]], Any], clock: Clock) -> None:
    """Make a model return ``result(ids)`` for each row."""

    def run_batch(rows: Sequence[Any]) -> list[Any]:
        model.rows += len(rows)
        return [result(row["input_ids"]) for row in rows]

    model.group = lambda row: None  # type: ignore[method-assign]
    model.run_batch = clock.timed("models", run_batch)  # type: ignore[method-assign]


def demo_victim(folder: str, max_length: int, clock: Clock) -> Victim:
    """Return the demo encoder with a random head that always predicts the first label."""
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        model.classifier.bias.copy_(torch.tensor([20.0, 0.0]))
    victim = Victim(model, AutoTokenizer.from_pretrained(folder), LABELS, max_length=max_length, precision=pick_precision("auto"))
    time_model(victim.batch_invariant_model, clock)
    return victim


def time_model(model: BatchInvariantModel, clock: Clock) -> None:
    model.run_batch = clock.timed("models", model.run_batch)  # type: ignore[method-assign]


def victim_without_model(tokenizer: Any, max_length: int, clock: Clock) -> Victim:
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    model = BertForSequenceClassification(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=max_length, **sizes)).eval()
    tokenizer.model_max_length = max_length
    victim = Victim(model, tokenizer, LABELS, max_length=max_length)

    def logits(ids: Sequence[int]) -> torch.Tensor:
        return torch.tensor([2.0 + (ids[len(ids) // 2] % 97) / 97, 0.0])

    without_computing(victim.batch_invariant_model, logits, clock)
    return victim


def cost(attack: Attack, victim: Victim, text: str, clock: Clock, resources: Resources) -> tuple[int, dict[str, float]]:
    """Return the number of queries of one example, and the seconds of each part."""
    clock.turn("rest")
    before = dict(clock.seconds)
    with parts_timed(clock):
        (record,) = run_attack(
            attack, victim, [Example("one", (text,), 0)], columns=("text",), label_names=LABELS, records=RecordFile(None, "c"), seed=0,
            resources=resources,
        )  # fmt: skip
    clock.turn()
    assert record.status == "failed", record.message
    return record.queries, {part: clock.seconds[part] - before[part] for part in PARTS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, nargs="+", default=[50, 500, 5000])
    parser.add_argument("--attacks", nargs="+", default=["textfooler"])
    parser.add_argument("--max-length", type=int, default=16384, help="tokens that the victim sees; by default all of 5,000 words")
    parser.add_argument("--queries-per-word", type=float, help="end an attack after this many queries; by default it examines every word")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--with-models", action="store_true")
    given = parser.parse_args()
    import_textattack()
    clock = Clock()
    resources = Resources(precision=pick_precision("auto"))
    folder = resources.where("encoder")
    assert folder is not None
    encoder = resources.load_encoder("cpu")
    if given.with_models:
        victim = demo_victim(folder, min(given.max_length, 512), clock)
        time_model(encoder.batch_invariant_model, clock)
    else:
        victim = victim_without_model(AutoTokenizer.from_pretrained(folder), given.max_length, clock)
        without_computing(encoder.batch_invariant_model, lambda ids: torch.ones(4), clock)
    print("attack, words, queries, ms per query:", *PARTS[:-1], "outside the models", "models", "share outside", sep="\t")
    for name, words in itertools.product(given.attacks, given.words):
        attack = registry.current().get("attack", name)()
        if given.queries_per_word:
            attack = evolve(attack, query_budget=int(words * given.queries_per_word))
        measured = [cost(attack, victim, text_of(words), clock, resources) for _ in range(given.repeats + (words <= 50))]
        queries, seconds = min(measured, key=lambda found: sum(found[1].values()) - found[1]["models"])
        *outside, models = (seconds[part] / queries * 1000 for part in PARTS)
        numbers = [*outside, sum(outside), models, sum(outside) / (sum(outside) + models)]
        print(name, words, queries, *(f"{number:.3f}" for number in numbers), sep="\t", flush=True)


if __name__ == "__main__":
    main()
