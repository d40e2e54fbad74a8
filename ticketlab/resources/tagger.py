"""Part-of-speech taggers with the universal tag set: textblob's lexicon and rules, included in its package, or NLTK's perceptron."""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.metadata
import json
from collections.abc import Callable, Sequence
from typing import Any

from ticketlab.core import packages
from ticketlab.core.errors import ResourceError, SettingError
from ticketlab.resources import nltk_data

Tagger = Callable[[Sequence[str]], list[str]]
"""Maps a sequence of words to their universal tags; a pure function."""

TAGGERS = ("textblob", "nltk", "none")
DEFAULT = "textblob"
GET_NLTK = (
    "python -m nltk.downloader averaged_perceptron_tagger_eng (then `--set attack.attacks.ATTACK.tagger=nltk`; for another folder, "
    "`nltk:FOLDER`, or NLTK_DATA=FOLDER in the environment)"
)
NOT_USED = "not used"

_PERCEPTRON = "averaged_perceptron_tagger_eng"
_PARTS = tuple(f"{_PERCEPTRON}.{part}.json" for part in ("weights", "tagdict", "classes"))
_KEPT = 2**15

_UNIVERSAL = {
    **dict.fromkeys(("CC",), "CONJ"),
    **dict.fromkeys(("CD",), "NUM"),
    **dict.fromkeys(("DT", "EX", "PDT", "WDT"), "DET"),
    **dict.fromkeys(("IN",), "ADP"),
    **dict.fromkeys(("JJ", "JJR", "JJS"), "ADJ"),
    **dict.fromkeys(("MD", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ"), "VERB"),
    **dict.fromkeys(("NN", "NNS", "NNP", "NNPS"), "NOUN"),
    **dict.fromkeys(("PRP", "PRP$", "WP", "WP$"), "PRON"),
    **dict.fromkeys(("POS", "RP", "TO"), "PRT"),
    **dict.fromkeys(("RB", "RBR", "RBS", "WRB"), "ADV"),
    **dict.fromkeys((".", ",", ":", "(", ")", "''", "``", "#", "$"), "."),
}


def known(name: Any) -> Any:
    """Return ``name`` unchanged if it is the name of a tagger.

    :raises SettingError: it is not.
    """
    base, colon, folder = str(name).partition(":")
    if base not in TAGGERS or (colon and (base != "nltk" or not folder)):
        raise SettingError(f"{name!r} is not a tagger: write {', '.join(TAGGERS[:-1])}, nltk:FOLDER or {TAGGERS[-1]}")
    return name


def find(name: str) -> str | None:
    """Return the path of a tagger's code or data, or None. Imports nothing."""
    base, _, folder = name.partition(":")
    if base == "none":
        return NOT_USED
    if base == "textblob":
        return packages.folder("textblob")
    return nltk_data.find(f"taggers/{_PERCEPTRON}", folder or None, file=_PARTS[0]) if packages.folder("nltk") else None


def identity(place: str) -> str:
    """Return what identifies the tagger at ``place``, the result of :func:`find`."""
    if place == NOT_USED:
        return place
    if place == packages.folder("textblob"):
        return f"sha256:{hashlib.sha256(importlib.metadata.version('textblob').encode()).hexdigest()}"
    return nltk_data.digest(place, _PARTS)


@functools.lru_cache(maxsize=2)
def load(place: str) -> Tagger:
    """Return the tagger at ``place``, loaded once per process.

    :raises ResourceError: its data cannot be read.
    """
    if place == packages.folder("textblob"):
        tags(("a", "zyzzying"))  # its first call reads four files; interrupted later, it would keep only some of them
        return tags
    return cached(_perceptron(place))


def universal(penn: str) -> str:
    """Return the universal tag of a Penn Treebank tag, ``X`` if unknown. ``NNP-PERS`` counts as ``NNP``."""
    return _UNIVERSAL.get(penn.partition("-")[0] or penn, "X")


def cached(tag: Callable[[tuple[str, ...]], Sequence[str]]) -> Tagger:
    """Return a tagger that caches its most recent results."""
    remembered = functools.lru_cache(maxsize=_KEPT)(lambda words: tuple(tag(words)))
    return lambda words: list(remembered(tuple(words)))


def _textblob(words: tuple[str, ...]) -> Sequence[str]:
    from textblob.en import parser, tag

    if any(space in word for word in words for space in " \n"):  # textblob would split it, so tag each word without context
        return [universal(tag(word, tokenize=False)[0][1]) for word in words]
    return [universal(penn) for _, penn in parser.find_tags(list(words))]  # as `tag` does, without writing the tags into a text first


tags = cached(_textblob)
"""textblob's tagger."""


def _perceptron(place: str) -> Callable[[tuple[str, ...]], Sequence[str]]:
    """Return NLTK's perceptron with the weights at ``place``.

    The JSON files are read here, because NLTK reads them only from its data path, and not from folders that other users can write to.
    """
    perceptron = importlib.import_module("nltk.tag.perceptron").PerceptronTagger(load=False)
    try:
        weights, tagdict, classes = (json.loads(nltk_data.read(place, part)) for part in _PARTS)
        perceptron.model.weights, perceptron.tagdict = dict(weights), dict(tagdict)
        perceptron.classes = perceptron.model.classes = set(classes)
        perceptron.tag(["word"])
    except (OSError, KeyError, ValueError, TypeError, AttributeError, RecursionError) as problem:
        raise ResourceError(f"part-of-speech tagger {place}: not the data of NLTK's {_PERCEPTRON} ({problem})") from problem
    return lambda words: [universal(penn) for _, penn in perceptron.tag(list(words))]
