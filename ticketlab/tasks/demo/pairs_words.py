"""The vocabulary of the demo pair tasks: events in specific and general words, and verbs that present them as facts or not.

Everything here was written for ticketlab.
"""

from __future__ import annotations

PEOPLE = (
    "doctor", "lawyer", "teacher", "thief", "author", "cook", "sailor", "tourist", "shopkeeper", "actor", "priest", "soldier", "farmer",
    "reporter", "neighbour", "nurse", "baker", "pilot",
)  # fmt: skip
SOMEONE = ("someone", "somebody", "a person")

DEEDS = {
    "bought": "acquired",
    "purchased": "acquired",
    "stole": "took away",
    "borrowed": "took away",
    "sold": "parted with",
    "lost": "parted with",
    "painted": "made a picture of",
    "photographed": "made a picture of",
    "found": "came across",
    "spotted": "came across",
}
"""Verbs, and their generalisations."""

THINGS = {
    "car": "a vehicle",
    "bicycle": "a vehicle",
    "boat": "a vehicle",
    "truck": "a vehicle",
    "wagon": "a vehicle",
    "coat": "a garment",
    "shirt": "a garment",
    "dress": "a garment",
    "scarf": "a garment",
    "skirt": "a garment",
    "horse": "an animal",
    "goat": "an animal",
    "parrot": "an animal",
    "hen": "an animal",
    "donkey": "an animal",
    "sofa": "a piece of furniture",
    "table": "a piece of furniture",
    "wardrobe": "a piece of furniture",
    "desk": "a piece of furniture",
    "chair": "a piece of furniture",
    "guitar": "a musical instrument",
    "violin": "a musical instrument",
    "trumpet": "a musical instrument",
    "flute": "a musical instrument",
    "piano": "a musical instrument",
}
"""Objects, and their generalisations."""

FACTIVE = (
    "knew", "realised", "noticed", "saw", "remembered", "learnt", "regretted", "proved", "discovered", "recalled", "understood",
    "observed", "forgot", "established", "confirmed", "revealed", "admitted", "acknowledged", "verified", "perceived", "resented",
    "recognised", "demonstrated", "ascertained",
)  # fmt: skip
"""Verbs whose complement is true."""

OPEN = (
    "hoped", "claimed", "feared", "dreamt", "believed", "guessed", "denied", "doubted", "imagined", "expected", "pretended", "suspected",
    "thought", "assumed", "supposed", "argued", "alleged", "insisted", "suggested", "presumed", "reckoned", "swore", "speculated",
    "hinted",
)  # fmt: skip
"""Verbs whose complement may be true or false."""

MANNERS = ("quietly", "quickly", "finally", "suddenly", "gladly")
TIMES = ("yesterday", "last week", "in the morning", "at noon", "on Sunday", "in the spring")
