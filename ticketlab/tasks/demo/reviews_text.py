"""Generates review sentences with a known sentiment that single words do not reveal.

A review is one of a few frames (plain, contrast, concession, expectation, hearsay) filled with clauses. A clause may express its opinion
by negating a word of the opposite one, so every opinion word occurs in positive and negative reviews.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from attrs import frozen

from ticketlab.tasks.demo.reviews_words import (
    ADJECTIVES,
    HEDGES,
    INTENSIFIERS,
    NEGATIONS,
    NOUNS,
    OTHERS,
    SUBJECTS,
    VERBS,
    Subject,
)

SHORTEST, LONGEST = 8, 30
NEGATED = 0.12


@frozen
class Writer:
    """Writes about one subject. In every method, ``opinion`` is 1 (positive) or 0, and texts have no final punctuation."""

    random: random.Random
    subject: Subject
    noun: str

    def pick(self, options: tuple[str, ...]) -> str:
        """Return a random option."""
        return self.random.choice(options)

    def judgement(self, opinion: int) -> str:
        """Return a predicate for an aspect: ``is really splendid``, ``falls flat``, ``is anything but dull``."""
        drawn = self.random.random()
        if drawn < NEGATED:
            return self.pick(NEGATIONS).format(self.pick(ADJECTIVES[1 - opinion]))
        if drawn < NEGATED + 0.24:
            return self.pick(VERBS[opinion])
        return f"is {self.pick(INTENSIFIERS)}{self.pick(ADJECTIVES[opinion])}"

    def clauses(self, *opinions: int) -> list[str]:
        """Return a clause for each opinion, each about a different aspect."""
        aspects = self.random.sample(self.subject.aspects, len(opinions))
        return [f"the {aspect} {self.judgement(opinion)}" for aspect, opinion in zip(aspects, opinions, strict=True)]

    def verdict(self, opinion: int) -> str:
        """Return a summarising noun phrase: ``a charming little wonder``."""
        return article(f"{self.pick(ADJECTIVES[opinion])} {self.pick(NOUNS[opinion])}")

    def aside(self) -> str:
        """Return a neutral opening with a comma, or an empty string."""
        drawn = self.random.random()
        if drawn < 0.25:
            return f"{self.pick(HEDGES)}, "
        return f"{self.pick(self.subject.details)}, and " if drawn < 0.4 else ""


def article(phrase: str) -> str:
    """Put ``a`` or ``an`` before a phrase."""
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def plain(writer: Writer, opinion: int) -> str:
    """Two clauses with the same opinion."""
    first, second = writer.clauses(opinion, opinion)
    return f"{writer.aside()}{first} and {second}"


def detail(writer: Writer, opinion: int) -> str:
    """A neutral sentence and a clause with the opinion."""
    (clause,) = writer.clauses(opinion)
    return writer.pick((f"{writer.pick(writer.subject.details)}. {clause}", f"{clause}. {writer.pick(writer.subject.details)}"))


def summed_up(writer: Writer, opinion: int) -> str:
    """A verdict and a clause with the same opinion."""
    (clause,) = writer.clauses(opinion)
    return f"{writer.aside()}this {writer.noun} is {writer.verdict(opinion)}, and {clause}"


def contrast(writer: Writer, opinion: int) -> str:
    """Two opposite clauses; the second one counts."""
    first, second = writer.clauses(1 - opinion, opinion)
    joint = writer.pick((", but ", ", but in the end ", ", yet ", ". However, ", ". Still, what counts is that "))
    return f"{writer.aside()}{first}{joint}{second}"


def concession(writer: Writer, opinion: int) -> str:
    """A main clause and a concession; the main clause counts, in either position."""
    granted, main = writer.clauses(1 - opinion, opinion)
    word = writer.pick(("although", "even though", "while"))
    if writer.random.random() < 0.6:
        return f"{word} {granted}, {main}"
    return f"{main}, even if {granted}"


def expectation(writer: Writer, opinion: int) -> str:
    """The outcome, in contrast to the expectation."""
    feared, got = writer.verdict(1 - opinion), writer.verdict(opinion)
    return writer.pick(
        (
            f"{writer.aside()}I expected {feared} and got {got}",
            f"instead of {feared} this {writer.noun} turned out to be {got}",
            f"{writer.aside()}this {writer.noun} is not {feared}, it is {got}",
        )
    )


def not_what_they_say(writer: Writer, opinion: int) -> str:
    """A denial that only uses words of the opposite opinion."""
    denied = f"{writer.pick(ADJECTIVES[1 - opinion])} {writer.pick(NOUNS[1 - opinion])}"
    return writer.pick(
        (
            f"{writer.aside()}this {writer.noun} is not the {denied} that {writer.pick(OTHERS)} had described",
            f"{writer.pick(OTHERS)} had announced {article(denied)}, and this {writer.noun} is nothing of the kind",
            f"{writer.aside()}nobody who stays to the end could call this {writer.noun} {article(denied)}",
        )
    )


def hearsay(writer: Writer, opinion: int) -> str:
    """The writer's opinion, in contrast to that of someone else."""
    theirs, mine = writer.pick(ADJECTIVES[1 - opinion]), writer.pick(ADJECTIVES[opinion])
    (clause,) = writer.clauses(opinion)
    strongly = writer.pick(INTENSIFIERS)
    return writer.pick(
        (
            f"{writer.pick(OTHERS)} called the {writer.noun} {theirs}, but I found it {strongly}{mine}",
            f"{writer.pick(OTHERS)} thinks this {writer.noun} is {theirs}. I disagree, because {clause}",
            f"I found the {writer.noun} {strongly}{mine}, whatever {writer.pick(OTHERS)} says about {article(theirs)} day",
        )
    )


FRAMES: tuple[tuple[Callable[[Writer, int], str], int], ...] = (
    (plain, 28),
    (detail, 18),
    (summed_up, 21),
    (contrast, 11),
    (concession, 7),
    (expectation, 5),
    (not_what_they_say, 4),
    (hearsay, 6),
)
_BAG = tuple(frame for frame, weight in FRAMES for _ in range(weight))


def review(source: random.Random, opinion: int) -> str:
    """Generate a review of 8 to 30 words with this opinion (1 is positive)."""
    while True:
        subject = source.choice(SUBJECTS)
        text = sentences(source.choice(_BAG)(Writer(source, subject, source.choice(subject.nouns)), opinion))
        if SHORTEST <= len(text.split()) <= LONGEST:
            return text


def sentences(text: str) -> str:
    """Capitalise every sentence and end the last one with a full stop."""
    return ". ".join(part[0].upper() + part[1:] for part in text.split(". ")) + "."
