"""The vocabulary of the demo task: the subjects of reviews, and words of opinion.

Everything here was written for ticketlab. Opinion words are in two lists, negative (index 0) and positive (index 1), like the labels.
"""

from __future__ import annotations

from attrs import frozen


@frozen
class Subject:
    """A kind of thing that is reviewed. All aspects are singular, so that one verb form fits all of them."""

    nouns: tuple[str, ...]
    aspects: tuple[str, ...]
    details: tuple[str, ...]


SUBJECTS = (
    Subject(
        ("film", "movie", "picture"),
        ("acting", "script", "camera work", "soundtrack", "dialogue", "lead performance", "final act", "editing", "opening scene"),
        (
            "we watched it on a Tuesday with four other people in the room",
            "it runs a little over two hours",
            "my brother had bought the tickets weeks ago",
            "I saw it at the small cinema by the station",
        ),
    ),
    Subject(
        ("book", "novel", "story"),
        ("plot", "prose", "main character", "first chapter", "ending", "translation", "narrator", "central idea", "pacing"),
        (
            "I read it on the train to my parents",
            "it has nearly four hundred pages",
            "a colleague lent me her copy in March",
            "it is the second volume of three",
        ),
    ),
    Subject(
        ("restaurant", "bistro", "place"),
        ("food", "service", "wine list", "dessert", "dining room", "bread", "lunch menu", "soup", "tasting menu"),
        (
            "we were there on a Thursday with my parents",
            "they have a few tables outside in summer",
            "we had booked for half past seven",
            "it stands on the corner across from the library",
        ),
    ),
    Subject(
        ("hotel", "guest house", "inn"),
        ("room", "breakfast", "staff", "garden", "view", "bathroom", "location", "pool", "bar downstairs"),
        (
            "we stayed three nights in early October",
            "our room was on the fourth floor",
            "we had come by train from the coast",
            "they were painting the hallway that week",
        ),
    ),
    Subject(
        ("concert", "show", "performance"),
        ("sound", "singer", "opening number", "lighting", "venue", "band", "orchestra", "second half", "choice of songs"),
        (
            "we stood near the back on the left",
            "it started ten minutes after eight",
            "my neighbour had a spare ticket",
            "it was the last night of the tour",
        ),
    ),
    Subject(
        ("game", "adventure", "sequel"),
        ("combat", "story mode", "artwork", "music", "level design", "tutorial", "interface", "voice acting", "last level"),
        (
            "I played it over two weekends in winter",
            "it came out for the older console first",
            "my cousin gave it to me for my birthday",
            "I finished it in about twenty hours",
        ),
    ),
)

ADJECTIVES = (
    (
        "dull", "tedious", "awful", "clumsy", "lifeless", "forgettable", "mediocre", "disappointing", "dreary", "terrible", "bland",
        "shoddy", "irritating", "sloppy", "tiresome", "dreadful", "joyless", "lousy", "uninspired", "annoying", "poor", "miserable",
    ),
    (
        "superb", "delightful", "wonderful", "splendid", "charming", "brilliant", "impressive", "lovely", "terrific", "marvellous",
        "excellent", "memorable", "magnificent", "outstanding", "satisfying", "refreshing", "enchanting", "inspired", "pleasant",
        "fantastic", "great", "beautiful",
    ),
)  # fmt: skip

NOUNS = (
    ("mess", "bore", "chore", "letdown", "failure", "disaster", "ordeal", "waste of time"),
    ("gem", "treat", "delight", "triumph", "pleasure", "joy", "success", "little wonder"),
)

VERBS = (
    (
        "falls flat", "wore me out", "falls apart", "lets everything else down", "leaves a bad taste", "spoils the mood",
        "gets on my nerves", "ruins a good idea",
    ),
    (
        "works beautifully", "won me over", "comes alive", "lifts everything else", "leaves a warm glow", "makes up for a lot",
        "puts a smile on my face", "shines from start to finish",
    ),
)  # fmt: skip

NEGATIONS = (
    "is anything but {}",
    "is far from {}",
    "is not {} at all",
    "is never {}",
    "is hardly {}",
    "is by no means {}",
    "is not in the least {}",
)
INTENSIFIERS = (
    "really ",
    "truly ",
    "very ",
    "remarkably ",
    "quite ",
    "thoroughly ",
    "consistently ",
    "surprisingly ",
    "",
    "",
    "",
    "",
    "",
    "",
)
HEDGES = (
    "to be honest",
    "I have to say",
    "in my view",
    "I suppose",
    "frankly",
    "all things considered",
    "for what it is worth",
    "as far as I can tell",
)
OTHERS = (
    "my sister",
    "the critic in the paper",
    "my neighbour",
    "an old friend",
    "everyone at work",
    "the couple beside us",
    "my flatmate",
)
