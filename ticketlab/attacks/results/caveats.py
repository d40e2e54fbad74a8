"""Caveats: reasons why the numbers of an attack may be misleading, found in its records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ticketlab.attacks.components.words import words_of
from ticketlab.attacks.results.metrics import Fraction, measure
from ticketlab.attacks.results.one_class import warning_of_one_class
from ticketlab.attacks.results.record import Record
from ticketlab.core.formatting import counted, verb
from ticketlab.resources.stop_words import english_stop_words

FEW_CANDIDATES = 0.5
"""If an attack had candidates for a smaller fraction of the words or examples, it says little about robustness."""
MANY_TRUNCATED = 0.1
MANY_UNDIVIDED = 0.1
UNDIVIDED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff]{2}")
"""Thai, Lao, Burmese, Khmer and kana: scripts without spaces between words, which are not segmented here."""
FEW_ENGLISH = 0.15
"""Texts with a smaller share of stop words (pronouns, prepositions, ...) are probably not English, where it is 0.3 to 0.5."""
ENOUGH_WORDS = 50
FEW_OF_A_CLASS = 5
ENOUGH = 10
"""The minimum number of examples for comparing an accuracy with that of the most frequent label."""


def caveats_of(
    attack: str, records: Sequence[Record], label_names: Sequence[str], *, query_budget: int | None = None, uses_resources: bool = False
) -> list[str]:
    """Return the warnings about the records of one attack, one sentence each; docs/reference/metrics.md lists the limits.

    ``label_names`` are those of the task; ``uses_resources``: the attack takes its words from resources, which are English by default.
    """
    return [
        *_of_errors(records),
        *_of_timeouts(records),
        *_of_sample(records, label_names),
        *_of_victim(records),
        *_of_script(records),
        *(_of_language(attack, records) if uses_resources else ()),
        *_of_wordless(records),
        *_of_candidates(attack, records),
        *_of_budget(attack, records, query_budget),
        *_of_length(records),
    ]


def _of_errors(records: Sequence[Record]) -> Iterator[str]:
    """Tell how many examples ended in an error, and in which: the most frequent one."""
    messages = Counter(record.message for record in records if record.status == "error")
    if messages:
        ((message, number), *others) = messages.most_common()
        more = f"; {counted(len(others), 'other message')} in the records" if others else ""
        yield f"{messages.total()} of {counted(len(records), 'example')} ended in an error, {number} of them in: {message}{more}"


def _of_timeouts(records: Sequence[Record]) -> Iterator[str]:
    """Warn that examples without a result for lack of time are not a random part of the sample."""
    late = sum(record.status == "timeout" for record in records)
    if late:
        yield (
            f"{late} of {counted(len(records), 'example')} ran out of time and {verb(late)} in no number: only examples that the model "
            "classifies correctly are attacked, and take time, so Clean is probably too low, and Aua and Suc are of the faster attacks"
        )


def _of_sample(records: Sequence[Record], label_names: Sequence[str]) -> Iterator[str]:
    """Warn of classes that are missing, or too small for meaningful numbers."""
    counts = Counter(record.label for record in records)
    missing = [name for name in label_names if not counts[name]]
    few = [name for name in label_names if 0 < counts[name] < FEW_OF_A_CLASS]
    sizes = ", ".join(f"{counts[name]} {name}" for name in label_names)
    if not records:
        yield "there is no example to attack"
    elif missing:
        yield f"no example of {_named(missing)} is in the sample ({sizes}): the numbers are about the other labels only"
    elif few and len(records) >= FEW_OF_A_CLASS * len(label_names):
        yield f"few examples of {_named(few)} are in the sample ({sizes}): the numbers are mostly about the other labels"


def _of_victim(records: Sequence[Record]) -> Iterator[str]:
    """Warn of a model that is no better than predicting the most frequent label, or that left nothing to attack."""
    known = [record for record in records if record.status in ("success", "failed", "skipped")]
    labels = Counter(record.label for record in known)
    predictions = {record.predicted_before for record in known if record.predicted_before is not None}
    right = sum(record.status != "skipped" for record in known)
    commonest, most = max(labels.items(), key=lambda pair: pair[1], default=("", 0))
    if known and not right:
        without = len(records) - len(known)
        if without:
            yield f"no attack has a result: {counted(len(known), 'example')} misclassified before the attack, {without} without a result"
        else:
            yield f"nothing was attacked: the model misclassified the whole sample before the attack ({counted(len(known), 'example')})"
    elif len(labels) > 1 and len(predictions) == 1:
        yield warning_of_one_class(predictions.pop())
    elif len(labels) > 1 and len(known) >= ENOUGH and right <= most:
        yield f"before the attack {right} of {len(known)} predictions are correct, no more than if all were `{commonest}` ({most})"


def _of_script(records: Sequence[Record]) -> Iterator[str]:
    """Warn of scripts in which what counts as a word is a phrase."""
    undivided = sum(any(map(UNDIVIDED.search, record.original)) for record in records)
    if undivided and undivided >= MANY_UNDIVIDED * len(records):
        yield (
            f"{undivided} of {counted(len(records), 'example')} are in a script without spaces (Thai, Lao, Burmese, Khmer, kana): text up "
            "to the next space or punctuation mark counts as one word, so the attack has few words to change, and Words % refers to these"
        )


def _of_language(attack: str, records: Sequence[Record]) -> Iterator[str]:
    """Warn that the texts are probably not English, although the attack has replacements for their words."""
    attacked = [record for record in records if record.status in ("success", "failed")]
    words = [word.lower() for record in attacked for text in record.original for word in words_of(text)]
    known = sum(word in english_stop_words() for word in words)
    if len(words) >= ENOUGH_WORDS and known < FEW_ENGLISH * len(words):
        yield (
            f"only {known} of {counted(len(words), 'word')} are English stop words: unless {attack} has resources for the language of "
            f"the texts, its changes do not keep the meaning, and the numbers do not measure robustness; {_languages(attack)}"
        )


def _of_wordless(records: Sequence[Record]) -> Iterator[str]:
    """Warn that some examples, but not all, have no words, such as those of emoji only."""
    attacked = [record for record in records if record.status in ("success", "failed")]
    wordless = sum(not record.words_total for record in attacked)
    if 0 < wordless < len(attacked):
        yield f"{wordless} of {counted(len(attacked), 'attacked example')} have no word to change, and count in Aua as failed attacks"


def _of_candidates(attack: str, records: Sequence[Record]) -> Iterator[str]:
    """Warn that the attack could change little, so that its failures do not show robustness."""
    metrics = measure(records)
    examples, words, allowed = metrics.replaceable_examples, metrics.replaceable_words, metrics.allowed_examples
    languages = _languages(attack)
    if not examples.total:
        return
    if not examples.count:
        none = f"{attack} had no candidate for any word of {counted(examples.total, 'attacked example')}"
        yield f"{none}, so Aua says nothing about robustness; {languages}"
    elif _is_low(examples) or _is_low(words):
        some = f"{attack} had a candidate in {_of(examples, 'attacked example')}, for {_of(words, 'word')}"
        yield f"{some}: Aua overstates robustness; {languages}"
    elif _is_low(allowed):
        let = f"the constraints of {attack} accepted a candidate in {_of(allowed, 'attacked example')}"
        yield f"{let}: Aua overstates robustness; {languages}"


def _of_budget(attack: str, records: Sequence[Record], query_budget: int | None) -> Iterator[str]:
    if query_budget is None:
        return
    held = [record for record in records if record.status == "failed"]
    given_up = [record for record in held if record.queries >= query_budget]
    if len(given_up) > len(held) / 2:
        budget = counted(query_budget, "query", "queries")
        several = f"{len(given_up)} of the {len(held)} examples that count for Aua, after {budget} each"
        yield f"{attack} gave up on {several if len(held) > 1 else f'the only example that counts for Aua, after {budget}'}"


def _of_length(records: Sequence[Record]) -> Iterator[str]:
    truncated = sum(record.truncated for record in records)
    if not truncated or truncated < MANY_TRUNCATED * len(records):
        return
    unseen = measure(records).unseen_words
    words = f": {_of(unseen, 'word')} are beyond that and not attacked" if unseen.count else ""
    unknown = sum(record.truncated and record.words_unseen is None for record in records)
    if unknown:
        words = "; its tokenizer does not report where they are cut, so the attack may change words that the model does not see"
    yield f"{truncated} of {counted(len(records), 'example')} are longer than the model's input{words}"


def _languages(attack: str) -> str:
    return f"`ticketlab show attack {attack}` says which languages it is meant for"


def _is_low(fraction: Fraction) -> bool:
    return fraction.value is not None and fraction.value < FEW_CANDIDATES


def _of(fraction: Fraction, what: str) -> str:
    return f"{fraction.count} of {counted(fraction.total, what)}"


def _named(names: Sequence[Any]) -> str:
    return ", ".join(f"`{name}`" for name in names)
