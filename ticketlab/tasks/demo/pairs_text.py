"""Generates sentence pairs whose label depends on the verb of the premise and not on the wording of the hypothesis.

A premise reports an event that somebody knew of, or only hoped for. The hypothesis states the event as a fact, in the words of the premise
or in more general words ("Somebody acquired a vehicle."). A known event is entailed and a hoped-for one is not, in either wording.
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
        """Whether the event is in the quarter of all events reserved for the challenge set; both parts contain every word."""
        return (self.person + self.deed + self.thing) % KEPT_APART == 0

    def in_particular(self, manner: str = "") -> str:
        """Return a clause with the specific words."""
        return f"the {PEOPLE[self.person]} {manner}{_DEEDS[self.deed]} the {_THINGS[self.thing]}"

    def in_general(self, someone: str) -> str:
        """Return a clause that follows from :meth:`in_particular` and shares no content word with it."""
        return f"{someone} {DEEDS[_DEEDS[self.deed]]} {THINGS[_THINGS[self.thing]]}"


def pair(source: random.Random, entailed: bool, contained: bool, apart: bool) -> tuple[str, str]:
    """Generate a premise and a hypothesis.

    ``contained`` is whether all words of the hypothesis occur in the premise; ``apart`` is whether the event is one reserved for the
    challenge set.
    """
    event = _event(source, apart)
    witness = source.choice([person for index, person in enumerate(PEOPLE) if index != event.person])
    manner = f"{source.choice(MANNERS)} " if source.random() < WITH_MANNER else ""
    premise = f"the {witness} {source.choice(FACTIVE if entailed else OPEN)} that {event.in_particular(manner)}"
    if source.random() < WITH_TIME:
        time = source.choice(TIMES)
        premise = f"{time} {premise}" if source.random() < 0.5 else f"{premise} {time}"
    hypothesis = event.in_particular() if contained else event.in_general(source.choice(SOMEONE))
    return sentences(premise), sentences(hypothesis)


def _event(source: random.Random, apart: bool) -> Event:
    while True:
        event = Event(source.randrange(len(PEOPLE)), source.randrange(len(DEEDS)), source.randrange(len(THINGS)))
        if event.apart == apart:
            return event
