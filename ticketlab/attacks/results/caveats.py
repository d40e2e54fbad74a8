"""What makes the numbers of an attack mean less than they seem to, as far as its records show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ticketlab.attacks.components.words import words_of
from ticketlab.attacks.results.metrics import Part, measure
from ticketlab.attacks.results.record import Record
from ticketlab.core.formatting import counted
from ticketlab.resources import stop_words

FEW_CANDIDATES = 0.5
"""An attack that had a candidate for fewer of the words, or in fewer of the examples, says little about robustness."""
MANY_TRUNCATED = 0.1
MANY_UNDIVIDED = 0.1
UNDIVIDED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff]{2}")
"""Thai, Lao, Burmese, Khmer and kana: no spaces between words, and nothing here that divides them."""
FEW_ENGLISH = 0.15
"""The share of stop words (pronouns, prepositions and the like) below which texts are hardly English, where it is 0.3 to 0.5."""
ENOUGH_WORDS = 50
FEW_OF_A_CLASS = 5
ENOUGH = 10
"""Examples from which on an accuracy is compared with that of the commonest label."""


def caveats_of(
    attack: str, records: Sequence[Record], label_names: Sequence[str], *, query_budget: int | None = None, uses_resources: bool = False
) -> list[str]:
    """Return the warnings about the records of one attack, a sentence each; docs/reference/metrics.md has the limits.

    ``label_names`` are those of the task; ``uses_resources`` says that the attack takes its words from resources, which are English where
    no others were given.
    """
    return [
        *_of_sample(records, label_names),
        *_of_victim(records),
        *_of_script(records),
        *(_of_language(attack, records) if uses_resources else ()),
        *_of_wordless(records),
        *_of_candidates(attack, records),
        *_of_budget(attack, records, query_budget),
        *_of_length(records),
    ]


def _of_sample(records: Sequence[Record], label_names: Sequence[str]) -> Iterator[str]:
    """Say which classes are missing, or too few for a number to say anything about them."""
    found = Counter(record.label for record in records)
    missing = [name for name in label_names if not found[name]]
    few = [name for name in label_names if 0 < found[name] < FEW_OF_A_CLASS]
    sizes = ", ".join(f"{found[name]} {name}" for name in label_names)
    if not records:
        yield "there is no example to attack"
    elif missing:
        yield f"no example of {_named(missing)} is in the sample ({sizes}): the numbers are about the other labels alone"
    elif few and len(records) >= FEW_OF_A_CLASS * len(label_names):
        yield f"few examples of {_named(few)} are in the sample ({sizes}): the numbers are mostly about the other labels"


def _of_victim(records: Sequence[Record]) -> Iterator[str]:
    """Say that the model knows no more than the commonest label, or that nothing was left to attack."""
    known = [record for record in records if record.status in ("success", "failed", "skipped")]
    labels = Counter(record.label for record in known)
    said = {record.predicted_before for record in known if record.predicted_before is not None}
    right = sum(record.status != "skipped" for record in known)
    commonest, most = max(labels.items(), key=lambda pair: pair[1], default=("", 0))
    if known and not right:
        yield f"nothing was attacked: the model misclassified the whole sample before ({counted(len(known), 'example')})"
    elif len(labels) > 1 and len(said) == 1:
        yield f"the model says `{said.pop()}` to every example of the sample; it may have learnt nothing"
    elif len(labels) > 1 and len(known) >= ENOUGH and right <= most:
        yield f"before the attack {right} of {len(known)} answers are right, no more than if each were `{commonest}` ({most})"


def _of_script(records: Sequence[Record]) -> Iterator[str]:
    """Say that what counts as a word is a phrase."""
    undivided = sum(any(map(UNDIVIDED.search, record.original)) for record in records)
    if undivided and undivided >= MANY_UNDIVIDED * len(records):
        yield (
            f"{undivided} of {counted(len(records), 'example')} are in a script without spaces (Thai, Lao, Burmese, Khmer, kana): all up "
            "to the next space or sign counts as one word, so the attack has few words to change, and Words % is of these"
        )


def _of_language(attack: str, records: Sequence[Record]) -> Iterator[str]:
    """Warn that the texts are probably not English, although the attack finds replacements for their spellings."""
    attacked = [record for record in records if record.status in ("success", "failed")]
    words = [word.lower() for record in attacked for text in record.original for word in words_of(text)]
    known = sum(word in stop_words.english() for word in words)
    if len(words) >= ENOUGH_WORDS and known < FEW_ENGLISH * len(words):
        yield (
            f"only {known} of {counted(len(words), 'word')} are English stop words: unless {attack} has resources of the language of "
            f"the texts, its changes do not keep the meaning, and no number says how robust the model is; {_languages(attack)}"
        )


def _of_wordless(records: Sequence[Record]) -> Iterator[str]:
    """Say that some examples have nothing that could be changed, such as those of emoji alone, although others have."""
    attacked = [record for record in records if record.status in ("success", "failed")]
    wordless = sum(not record.words_total for record in attacked)
    if 0 < wordless < len(attacked):
        yield f"{wordless} of {counted(len(attacked), 'attacked example')} have no word to change, and count in Aua as withstood"


def _of_candidates(attack: str, records: Sequence[Record]) -> Iterator[str]:
    """Say that the attack could change little: what it left alone is not what the model withstood."""
    found = measure(records)
    examples, words, allowed = found.replaceable_examples, found.replaceable_words, found.allowed_examples
    languages = _languages(attack)
    if not examples.total:
        return
    if not examples.count:
        none = f"{attack} had no candidate for any word of {counted(examples.total, 'attacked example')}"
        yield f"{none}, so Aua says nothing about robustness; {languages}"
    elif _under(examples) or _under(words):
        some = f"{attack} had a candidate in {_of(examples, 'attacked example')}, for {_of(words, 'word')}"
        yield f"{some}: Aua overstates robustness; {languages}"
    elif _under(allowed):
        let = f"the constraints of {attack} let a candidate through in {_of(allowed, 'attacked example')}"
        yield f"{let}: Aua overstates robustness; {languages}"


def _of_budget(attack: str, records: Sequence[Record], query_budget: int | None) -> Iterator[str]:
    if query_budget is None:
        return
    held = [record for record in records if record.status == "failed"]
    given_up = [record for record in held if record.queries >= query_budget]
    if len(given_up) > len(held) / 2:
        budget = counted(query_budget, "query", "queries")
        yield f"{attack} gave up on {len(given_up)} of the {counted(len(held), 'example')} that count for Aua, after {budget} each"


def _of_length(records: Sequence[Record]) -> Iterator[str]:
    truncated = sum(record.truncated for record in records)
    if not truncated or truncated < MANY_TRUNCATED * len(records):
        return
    unseen = measure(records).unseen_words
    words = f": {_of(unseen, 'word')} are beyond that, and are not attacked" if unseen.count else ""
    unknown = sum(record.truncated and record.words_unseen is None for record in records)
    if unknown:
        words = ", and its tokenizer does not say where, so that words are attacked that it does not see"
    yield f"{truncated} of {counted(len(records), 'example')} are longer than what the model sees{words}"


def _languages(attack: str) -> str:
    return f"`ticketlab show attack {attack}` says for which languages it is meant"


def _under(part: Part) -> bool:
    return part.value is not None and part.value < FEW_CANDIDATES


def _of(part: Part, what: str) -> str:
    return f"{part.count} of {counted(part.total, what)}"


def _named(names: Sequence[Any]) -> str:
    return ", ".join(f"`{name}`" for name in names)
