"""Pairs of sentences where a verb of the premise decides, and how the hypothesis is worded does not.

A premise reports an event: somebody knew of it, or only hoped for it. The hypothesis tells the event as a fact, in the premise's words or
in general ones ("Somebody acquired a vehicle."). What is known is entailed and what is hoped for is not, in whatever words.
"""

from __future__ import annotations

import random

from attrs import frozen

from ticketlab.tasks.demo.pairs_words import DEEDS, FACTIVE, MANNERS, OPEN, PEOPLE, SOMEONE, THINGS, TIMES
from ticketlab.tasks.demo.reviews_text import sentences

WITH_MANNER, WITH_TIME = 0.25, 0.6
KEPT_APART = 4
_DEEDS, _THINGS = tuple(DEEDS), tuple(THINGS)


@frozen
class Event:
    """Somebody did something to a thing, as indices of the vocabulary."""

    person: int
    deed: int
    thing: int

    @property
    def apart(self) -> bool:
        """Whether it is one of the quarter of all events that is kept for the challenge set; every word is in some of either part."""
        return (self.person + self.deed + self.thing) % KEPT_APART == 0

    def told(self, manner: str = "") -> str:
        """Return a clause with the particular words."""
        return f"the {PEOPLE[self.person]} {manner}{_DEEDS[self.deed]} the {_THINGS[self.thing]}"

    def in_general(self, someone: str) -> str:
        """Return a clause that follows from :meth:`told` and shares no word with it."""
        return f"{someone} {DEEDS[_DEEDS[self.deed]]} {THINGS[_THINGS[self.thing]]}"


def pair(source: random.Random, entailed: bool, contained: bool, apart: bool) -> tuple[str, str]:
    """Write a premise and a hypothesis.

    ``contained`` says whether all words of the hypothesis are the premise's; ``apart`` whether the event is one kept for the challenge set.
    """
    event = _event(source, apart)
    witness = source.choice([person for index, person in enumerate(PEOPLE) if index != event.person])
    manner = f"{source.choice(MANNERS)} " if source.random() < WITH_MANNER else ""
    premise = f"the {witness} {source.choice(FACTIVE if entailed else OPEN)} that {event.told(manner)}"
    if source.random() < WITH_TIME:
        time = source.choice(TIMES)
        premise = f"{time} {premise}" if source.random() < 0.5 else f"{premise} {time}"
    hypothesis = event.told() if contained else event.in_general(source.choice(SOMEONE))
    return sentences(premise), sentences(hypothesis)


def _event(source: random.Random, apart: bool) -> Event:
    while True:
        event = Event(source.randrange(len(PEOPLE)), source.randrange(len(DEEDS)), source.randrange(len(THINGS)))
        if event.apart == apart:
            return event
